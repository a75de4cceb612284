//! Sending: packets for one path gather in one buffer and leave in one call.
//!
//! Nothing here waits, and nothing here loses what the system would still take: a batch that the socket has no room for is
//! kept until it has. Whatever else the system says of a batch is dealt with inside the same call.

#[cfg(test)]
mod tests;

use super::counters::SocketCounters;
use super::io::Datagrams;
use super::offload::Offload;
use rustix::io::Errno;
use std::io;
use tallylink_core::{Ecn, Envelope, Instant, Path, PeerIx, SendFault};
use tracing::warn;

/// The most bytes that a segmented send may have: an IPv4 datagram's payload.
const BATCH_BYTES: usize = 65_507;
/// The most segments that it may have (the kernel's UDP_MAX_SEGMENTS).
const BATCH_SEGMENTS: usize = 64;

/// Packets that are to leave in one call.
#[derive(Debug)]
pub(crate) struct Outgoing {
    buffer: Box<[u8]>,
    len: usize,
    /// How much of it has left already.
    done: usize,
    packets: usize,
    /// Length of every packet but the last.
    segment: usize,
    peer: PeerIx,
    path: Path,
    ecn: Ecn,
    /// Segments of this batch leave one by one.
    singly: bool,
    /// The send that is under way was repeated.
    repeated: bool,
    offload: Offload,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Flushed {
    /// It has left.
    Sent,
    /// The socket is full: the batch waits.
    Blocked,
    /// It is gone, but not all of it was taken.
    Failed(PeerIx, SendFault),
}

impl Outgoing {
    pub(crate) fn new(io: &dyn Datagrams) -> Self {
        Self {
            buffer: vec![0; BATCH_BYTES].into(),
            len: 0,
            done: 0,
            packets: 0,
            segment: 0,
            peer: PeerIx::default(),
            path: super::io::Arrived::NOTHING.path,
            ecn: Ecn::NotEct,
            singly: false,
            repeated: false,
            offload: Offload::new(io.max_segments() > 1),
        }
    }

    /// True when nothing waits to leave.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where the packet of this envelope is to be sealed, if it may join the batch; otherwise the batch must leave first.
    #[inline]
    pub(crate) fn place(&mut self, e: &Envelope) -> Option<&mut [u8]> {
        let len = usize::from(e.len);
        let joins = self.len == 0
            || (self.packets < BATCH_SEGMENTS
                // A short packet ends a batch.
                && self.len == self.packets.saturating_mul(self.segment)
                && len <= self.segment
                && self.peer == e.peer
                && self.ecn == e.ecn
                && self.path == e.path);
        if !joins {
            return None;
        }
        self.buffer.get_mut(self.len..self.len.saturating_add(len))
    }

    /// The packet of this envelope was sealed in its place.
    #[inline]
    pub(crate) fn placed(&mut self, e: &Envelope) {
        let len = usize::from(e.len);
        if self.len == 0 {
            (self.segment, self.peer, self.path, self.ecn) = (len, e.peer, e.path, e.ecn);
        }
        self.len = self.len.saturating_add(len);
        self.packets = self.packets.saturating_add(1);
    }

    /// Sends the batch.
    pub(crate) fn flush(&mut self, io: &dyn Datagrams, now: Instant, counters: &mut SocketCounters) -> Flushed {
        let mut failed = None;
        while self.done < self.len {
            let rest = self.buffer.get(self.done..self.len).unwrap_or(&[]);
            let segmented =
                rest.len() > self.segment && !self.singly && self.offload.allows(now, self.peer, self.segment);
            let bytes = match rest.split_at_checked(self.segment) {
                Some((first, _)) if !segmented => first,
                _ => rest,
            };
            let mut path = self.path;
            if self.repeated {
                // The address that the peer was last heard at may be ours no longer.
                path.local = None;
            }
            counters.send_calls += 1;
            let outcome = io.send(&path, self.ecn, bytes, segmented.then_some(self.segment));
            let (len, datagrams) = (bytes.len(), bytes.len().div_ceil(self.segment) as u64);
            match outcome.map_err(|e| Refusal::of(&e, segmented)) {
                Ok(()) => {
                    counters.datagrams_sent += datagrams;
                    counters.bytes_sent += len as u64;
                }
                Err(Refusal::Blocked) => {
                    counters.send_blocked += 1;
                    return Flushed::Blocked;
                }
                Err(Refusal::OffloadBroken) => {
                    counters.offload_broken += 1;
                    self.singly = true;
                    if self.offload.broke() {
                        warn!("this device does not do segmented sends; packets leave one by one from now on");
                    }
                    continue;
                }
                Err(Refusal::OffloadRefused) => {
                    counters.offload_refused += 1;
                    self.singly = true;
                    self.offload.refuse(now, self.peer, self.segment);
                    continue;
                }
                Err(Refusal::TooBig) => {
                    counters.datagrams_too_big += datagrams;
                    failed = Some(SendFault::TooBig);
                }
                Err(Refusal::NoBuffers) => {
                    counters.datagrams_no_buffers += datagrams;
                    failed = failed.or(Some(SendFault::Lost));
                }
                Err(Refusal::Other) if !self.repeated => {
                    counters.sends_repeated += 1;
                    self.repeated = true;
                    continue;
                }
                Err(Refusal::Other) => {
                    counters.datagrams_send_failed += datagrams;
                    failed = failed.or(Some(SendFault::Lost));
                }
            }
            self.repeated = false;
            self.done = self.done.saturating_add(len);
        }
        (self.len, self.done, self.packets, self.singly) = (0, 0, 0, false);
        match failed {
            None => Flushed::Sent,
            Some(why) => Flushed::Failed(self.peer, why),
        }
    }

    /// Sends an answer back where its trigger came from. An answer is never worth waiting for.
    pub(crate) fn reply(io: &dyn Datagrams, path: &Path, bytes: &[u8], counters: &mut SocketCounters) {
        counters.send_calls += 1;
        match io.send(path, Ecn::NotEct, bytes, None) {
            Ok(()) => {
                counters.datagrams_sent += 1;
                counters.bytes_sent += bytes.len() as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => counters.replies_dropped += 1,
            Err(_) => counters.datagrams_send_failed += 1,
        }
    }
}

/// What an error of a send means.
enum Refusal {
    /// Wait until there is room.
    Blocked,
    /// The device cannot do segmented sends: F01.
    OffloadBroken,
    /// This route does not take segments of this size: F02.
    OffloadRefused,
    /// This route does not take a datagram of this size.
    TooBig,
    /// A queue below the socket is full. The socket itself has room, so that waiting for room would spin: F04.
    NoBuffers,
    /// Something that may be about an earlier datagram, to another peer: F07.
    Other,
}

impl Refusal {
    fn of(e: &io::Error, segmented: bool) -> Self {
        match Errno::from_io_error(e) {
            Some(Errno::AGAIN) => Self::Blocked,
            Some(Errno::IO) if segmented => Self::OffloadBroken,
            // Older kernels say EINVAL for a segment above the route's MTU.
            Some(Errno::MSGSIZE | Errno::INVAL) if segmented => Self::OffloadRefused,
            Some(Errno::MSGSIZE) => Self::TooBig,
            Some(Errno::NOBUFS) => Self::NoBuffers,
            _ => Self::Other,
        }
    }
}
