//! Receiving: coalesced datagrams, many a call, taken apart again.

#[cfg(test)]
mod tests;

use super::counters::SocketCounters;
use super::io::{Arrived, Datagrams, RECEIVE_SLOTS};
use std::io::{self, IoSliceMut};
use tallylink_core::{Ecn, Path};

/// Under GRO the kernel fills a slot with up to this much.
const SLOT: usize = 1 << 16;
/// A slot with more than this is a run of datagrams that was coalesced.
const BULK: usize = 1 << 13;
/// So many slots of bulk stay in the processor's cache until they are taken apart.
const BULK_SLOTS: usize = 4;

/// After so many errors in a row the socket counts as empty, until the system says otherwise.
const ERRORS_MAX: u32 = 16;

/// Receive slots.
#[derive(Debug)]
pub(crate) struct Incoming {
    buffer: Box<[u8]>,
    arrived: [Arrived; RECEIVE_SLOTS],
    /// How many slots the next call offers.
    offered: usize,
    filled: usize,
    /// Where the next datagram begins.
    slot: usize,
    offset: usize,
    errors_in_a_row: u32,
}

impl Incoming {
    pub(crate) fn new() -> Self {
        Self {
            buffer: vec![0; SLOT * RECEIVE_SLOTS].into(),
            arrived: [Arrived::NOTHING; RECEIVE_SLOTS],
            offered: RECEIVE_SLOTS,
            filled: 0,
            slot: 0,
            offset: 0,
            errors_in_a_row: 0,
        }
    }

    /// Receives what there is now, at most one call's worth. Returns false when there was nothing.
    pub(crate) fn fill(&mut self, io: &dyn Datagrams, counters: &mut SocketCounters) -> bool {
        (self.filled, self.slot, self.offset) = (0, 0, 0);
        let mut slots = self.buffer.chunks_exact_mut(SLOT);
        let mut slots: [IoSliceMut<'_>; RECEIVE_SLOTS] =
            std::array::from_fn(|_| IoSliceMut::new(slots.next().unwrap_or_default()));
        let offered = self.offered.min(RECEIVE_SLOTS);
        counters.receive_calls += 1;
        let (Some(slots), Some(arrived)) = (slots.get_mut(..offered), self.arrived.get_mut(..offered)) else {
            return false;
        };
        match io.receive(slots, arrived) {
            Ok(n) => {
                self.filled = n.min(offered);
                self.errors_in_a_row = 0;
                let bytes: usize = self.arrived.iter().take(self.filled).map(|a| a.len).sum();
                counters.bytes_received += bytes as u64;
                let bulk = bytes > BULK.saturating_mul(self.filled);
                self.offered = if bulk { BULK_SLOTS } else { RECEIVE_SLOTS };
                self.filled > 0
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => false,
            Err(_) => {
                // It was about a datagram that we sent; the next call may well return one that came.
                counters.receive_errors += 1;
                self.errors_in_a_row = self.errors_in_a_row.saturating_add(1);
                self.errors_in_a_row < ERRORS_MAX
            }
        }
    }

    /// The next datagram of what the last [`Incoming::fill`] received, where it came from and how it was marked.
    ///
    /// The last of a coalesced run may be short, and a datagram may be empty.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(&Path, Ecn, &mut [u8])> {
        if self.slot >= self.filled {
            return None;
        }
        let arrived = self.arrived.get(self.slot)?;
        let (begin, end) = (self.offset, arrived.len.min(self.offset + arrived.stride.max(1)));
        let bytes = self.buffer.get_mut(self.slot * SLOT..)?.get_mut(begin..end)?;
        if end == arrived.len {
            (self.slot, self.offset) = (self.slot + 1, 0);
        } else {
            self.offset = end;
        }
        Some((&arrived.path, arrived.ecn, bytes))
    }
}
