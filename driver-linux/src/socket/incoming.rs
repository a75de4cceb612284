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
    errors_in_a_row: u32,
}

impl Incoming {
    pub(crate) fn new() -> Self {
        Self {
            buffer: vec![0; SLOT * RECEIVE_SLOTS].into(),
            arrived: [Arrived::NOTHING; RECEIVE_SLOTS],
            offered: RECEIVE_SLOTS,
            filled: 0,
            errors_in_a_row: 0,
        }
    }

    /// Receives what there is now, at most one call's worth. Returns false when there was nothing.
    pub(crate) fn fill(&mut self, io: &dyn Datagrams, counters: &mut SocketCounters) -> bool {
        self.filled = 0;
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

    /// What the last [`Incoming::fill`] received: datagrams of one path and mark each.
    pub(crate) fn runs(&mut self) -> impl Iterator<Item = (&Path, Ecn, impl Iterator<Item = &mut [u8]>)> {
        self.buffer.chunks_exact_mut(SLOT).zip(self.arrived.iter()).take(self.filled).map(|(slot, arrived)| {
            let bytes = slot.get_mut(..arrived.len).unwrap_or_default();
            (&arrived.path, arrived.ecn, split(bytes, arrived.stride))
        })
    }
}

/// Takes a run apart. The last datagram may be short, and a datagram may be empty.
fn split(bytes: &mut [u8], stride: usize) -> impl Iterator<Item = &mut [u8]> {
    let empty: Option<&mut [u8]> = bytes.is_empty().then_some(&mut []);
    empty.into_iter().chain(bytes.chunks_mut(stride.max(1)))
}
