//! The two halves of a stream: what its sender and what its receiver keep.

use crate::ids::{Epoch, InIx, Name, OutIx, PeerIx, Position};
use crate::recovery::sent::List;
use crate::time::Instant;
use crate::wire::Previous;

/// Where a stream's numbering comes from (wire-format §7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochSource {
    /// The outbox on disk made it, and numbers in it name one content for ever.
    Stored {
        /// The epoch.
        epoch: Epoch,
        /// The epoch before it.
        previous: Option<Previous>,
    },
    /// There is no storage: the epoch comes from the nonces of this boot's first session.
    FirstSession,
}

/// Which streams of a peer go first (wire-format §8.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Before any backlog. Streams with the same priority take turns.
    #[default]
    Live,
    /// Whatever live streams leave, and a sixteenth of the packets in any case. The last eighth of the credit window is left
    /// to live streams.
    Backlog,
}

/// How far OPEN has come in this session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Opening {
    /// OPEN goes with each packet until it is answered.
    #[default]
    Asked,
    /// OPENED has come.
    Open,
    /// REFUSED has come; OPEN is sent again then.
    Refused(Instant),
}

/// A stream that is sent. The driver lends an array of these; what is inside is the core's.
#[derive(Debug)]
pub struct OutStream {
    /// The peer, or `NONE` for a free slot.
    pub(crate) peer: PeerIx,
    pub(crate) next_of_peer: OutIx,
    pub(crate) priority: Priority,
    pub(crate) name: Option<Name>,
    /// The epoch, as soon as it is known.
    pub(crate) epoch: Option<Epoch>,
    pub(crate) previous: Option<Previous>,

    // The ring: offsets count from `ring_start`.
    pub(crate) ring_start: u32,
    pub(crate) ring_len: u32,
    pub(crate) head_at: u32,
    /// Bytes in the ring.
    pub(crate) used: u32,
    /// Number of the oldest record in the ring.
    pub(crate) head: u64,
    /// Number of the next record that is pushed.
    pub(crate) next: u64,

    // This session
    pub(crate) wire: u32,
    pub(crate) opening: Opening,
    /// `first` of this session's OPEN, which must not change.
    pub(crate) open_first: u64,
    /// What is sent next, where it lies, and how many bytes from the head lie before it.
    pub(crate) cursor: Position,
    pub(crate) cursor_at: u32,
    pub(crate) sent: u32,
    /// What is still to be sent of the record that the cursor is in.
    pub(crate) rest: u32,
    /// Chunks that are not acknowledged, in stream order.
    pub(crate) unacked: List,
    /// SKIP is not acknowledged yet, and why it is sent.
    pub(crate) skip: Option<u8>,
    /// A SKIP with the head as it is now is on its way.
    pub(crate) skip_out: bool,
    /// The low bytes of the number of the packet that carried it.
    pub(crate) skip_packet: u32,
    pub(crate) queued: bool,
    pub(crate) next_queued: OutIx,

    // Events
    pub(crate) received: u64,
    pub(crate) news: OutNews,
    pub(crate) next_dirty: OutIx,
}

/// What has happened since the application last looked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutNews {
    pub(crate) listed: bool,
    pub(crate) received: bool,
    pub(crate) stored: bool,
    pub(crate) refused: Option<u8>,
    pub(crate) ahead: Option<u64>,
}

impl Default for OutStream {
    fn default() -> Self {
        Self {
            peer: PeerIx::NONE,
            next_of_peer: OutIx::NONE,
            priority: Priority::Live,
            name: None,
            epoch: None,
            previous: None,
            ring_start: 0,
            ring_len: 0,
            head_at: 0,
            used: 0,
            head: 0,
            next: 0,
            wire: 0,
            opening: Opening::Asked,
            open_first: 0,
            cursor: Position::default(),
            cursor_at: 0,
            sent: 0,
            rest: 0,
            unacked: List::default(),
            skip: None,
            skip_out: false,
            skip_packet: 0,
            queued: false,
            next_queued: OutIx::NONE,
            received: 0,
            news: OutNews::default(),
            next_dirty: OutIx::NONE,
        }
    }
}

impl OutStream {
    /// Number of the oldest record that is not STORED.
    #[must_use]
    pub fn stored_below(&self) -> u64 {
        self.head
    }

    /// Number of the oldest record that is not RECEIVED.
    #[must_use]
    pub fn received_below(&self) -> u64 {
        self.received
    }

    /// Number of the next record that is pushed.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Free bytes of the ring.
    #[must_use]
    pub fn room(&self) -> u32 {
        self.ring_len.saturating_sub(self.used)
    }

    /// Why records below [`OutStream::stored_below`] were given up, while the receiver does not know of it.
    #[must_use]
    pub fn gives_up(&self) -> Option<u8> {
        self.skip
    }

    /// The epoch, once it is known.
    #[must_use]
    pub fn epoch(&self) -> Option<Epoch> {
        self.epoch
    }

    /// Bytes that have not been sent in this session.
    pub(crate) fn unsent(&self) -> u32 {
        self.used.saturating_sub(self.sent)
    }

    /// The stream's part of the ring.
    #[inline]
    pub(crate) fn of_ring<'r>(&self, ring: &'r [u8]) -> &'r [u8] {
        let start = self.ring_start as usize;
        ring.get(start..start.saturating_add(self.ring_len as usize)).unwrap_or(&[])
    }

    /// Forgets everything that was sent: a new session begins at the head.
    pub(crate) fn rewind(&mut self) {
        self.wire = 0;
        self.opening = Opening::Asked;
        self.open_first = self.head;
        self.cursor = Position::start_of(self.head);
        self.cursor_at = self.head_at;
        self.sent = 0;
        self.rest = 0;
        self.unacked = List::default();
        self.received = self.head;
        self.skip_out = false;
        self.queued = false;
        self.next_queued = OutIx::NONE;
    }

    /// True when there is something to send that has not been sent, or SKIP to say.
    pub(crate) fn has_something(&self) -> bool {
        self.unsent() > 0 || (self.skip.is_some() && !self.skip_out)
    }

    /// All that was sent has arrived, and is not stored.
    pub(crate) fn waits_for_stored(&self) -> bool {
        self.sent > 0 && self.unacked.is_empty()
    }

    /// The receiver has stored what lies below `below`, a gap included: SKIP has done its work when that reaches the head.
    pub(crate) fn gap_closed(&mut self, below: u64) -> bool {
        let closed = below >= self.head && self.skip.is_some();
        if closed {
            (self.skip, self.skip_out) = (None, false);
        }
        closed
    }

    /// `at` moved back by `bytes` in the ring.
    pub(crate) fn back_from(&self, at: u32, bytes: u32) -> u32 {
        match at.checked_sub(bytes) {
            Some(back) => back,
            None => at.saturating_add(self.ring_len).saturating_sub(bytes),
        }
    }

    /// Bytes from `from` on to `to` in the ring.
    pub(crate) fn distance(&self, from: u32, to: u32) -> u32 {
        match to.checked_sub(from) {
            Some(ahead) => ahead,
            None => to.saturating_add(self.ring_len).saturating_sub(from),
        }
    }

    /// `at` moved on by `bytes` in the ring.
    #[inline]
    pub(crate) fn advance(&self, at: u32, bytes: u32) -> u32 {
        let on = at.saturating_add(bytes);
        if on >= self.ring_len { on.saturating_sub(self.ring_len) } else { on }
    }
}

/// A stream that is received, for as long as its session lives. The driver lends an array of these.
#[derive(Debug)]
pub struct InStream {
    /// The peer, or `NONE` for a free slot.
    pub(crate) peer: PeerIx,
    pub(crate) next_of_peer: InIx,
    pub(crate) wire: u32,
    /// What is still to come of the record that `next` is in; unknown (0) at its start.
    pub(crate) rest: u32,
    pub(crate) epoch: Epoch,
    /// The OPEN's `first`.
    pub(crate) first: u64,
    /// What is delivered next.
    pub(crate) next: Position,
    pub(crate) stored_below: u64,
    /// Held chunks, in stream order.
    pub(crate) held_front: u32,
    pub(crate) held_back: u32,
    pub(crate) next_dirty: InIx,
    pub(crate) say_opened: bool,
    pub(crate) say_stored: bool,
    pub(crate) dirty: bool,
    /// STORED waits for a free link, and the next stream of which the same is true.
    pub(crate) waits: bool,
    pub(crate) next_waiting: InIx,
}

impl Default for InStream {
    fn default() -> Self {
        Self {
            peer: PeerIx::NONE,
            next_of_peer: InIx::NONE,
            wire: 0,
            rest: 0,
            epoch: Epoch::default(),
            first: 0,
            next: Position::default(),
            stored_below: 0,
            held_front: u32::MAX,
            held_back: u32::MAX,
            next_dirty: InIx::NONE,
            say_opened: false,
            say_stored: false,
            dirty: false,
            waits: false,
            next_waiting: InIx::NONE,
        }
    }
}

impl InStream {
    /// Empties the slot. It keeps its place in the list of those that wait.
    pub(crate) fn clear(&mut self) {
        *self = Self { waits: self.waits, next_waiting: self.next_waiting, ..Self::default() };
    }
}

/// A chunk that waits for the gap before it to close.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub(crate) next: u32,
    pub(crate) start: Position,
    pub(crate) rest: u32,
    pub(crate) len: u16,
    /// How many records start in it.
    pub(crate) starts: u16,
}

impl Default for Held {
    fn default() -> Self {
        Self { next: u32::MAX, start: Position::default(), rest: 0, len: 0, starts: 0 }
    }
}
