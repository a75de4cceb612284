//! The window of received numbers and the walks over a ring, opened to fuzzing. Nothing else is to use them, and they change
//! as they like.

use crate::ring;
use crate::window::{Seen, Window};
use crate::wire::PacketRange;

/// The window (wire-format §5.4), with its bits.
#[derive(Debug)]
pub struct AckWindow<'a> {
    window: Window,
    words: &'a mut [u64],
}

impl<'a> AckWindow<'a> {
    /// An empty window over a power of two of words.
    #[must_use]
    pub fn new(words: &'a mut [u64]) -> Self {
        words.fill(0);
        Self { window: Window::default(), words }
    }

    /// Goes on from the newest 64 bits alone, as a peer does that was without a link.
    pub fn restore(&mut self) {
        let bits = self.window.newest(self.words);
        self.window = Window::restore(self.window.next(), bits, self.words);
    }

    /// Takes a number that is new; false when it is not.
    pub fn insert(&mut self, number: u64) -> bool {
        let new = self.window.look(self.words, number) == Seen::New;
        if new {
            self.window.insert(self.words, number);
        }
        new
    }

    /// Whether a number is known to be received; `None` below the window.
    #[must_use]
    pub fn has(&self, number: u64) -> Option<bool> {
        match self.window.look(self.words, number) {
            Seen::New => Some(false),
            Seen::Duplicate => Some(true),
            Seen::TooOld => None,
        }
    }

    /// The run of received numbers around one that is received.
    #[must_use]
    pub fn run_around(&self, number: u64) -> PacketRange {
        self.window.run_around(self.words, number)
    }

    /// The next received number below, if it is near.
    #[must_use]
    pub fn received_below(&self, number: u64) -> Option<u64> {
        self.window.received_below(self.words, number)
    }
}

/// What a chunk from `at` on takes under these bounds: its length, the records that end in it, how far the unfinished one
/// goes, and what is left of that.
#[must_use]
pub fn cut(ring: &[u8], at: u32, available: u32, room: u32, credit: u64, max_stored: u64) -> (u32, u16, u32, u32) {
    let cut = ring::cut(ring, at, 0, 0, ring::Bounds { available, room, credit, max_stored });
    (cut.len, cut.ended, cut.offset, cut.rest)
}

/// Copies `bytes` to `at`, around the end if need be.
pub fn copy_in(ring: &mut [u8], at: u32, bytes: &[u8]) {
    ring::copy_in(ring, at, bytes);
}

/// How many bytes the `records` records take that start at `at`.
#[must_use]
pub fn span(ring: &[u8], at: u32, records: u64) -> u32 {
    ring::span(ring, at, records)
}

/// Records and bytes of a run of packed records that fit in `room`; `None` when it is none.
#[must_use]
pub fn measure(packed: &[u8], room: u32, max_record: u32) -> Option<(u64, u32)> {
    ring::measure(packed, room, max_record).map(|run| (run.records, run.bytes))
}
