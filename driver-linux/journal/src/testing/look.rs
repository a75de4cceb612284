//! What stands where in a journal, so that a test knows what a damaged byte should cost.

use std::ops::Range;

use super::MemStore;
use crate::checkpoint;
use crate::entry::Entry;
use crate::halt::Halt;
use crate::options::Options;
use crate::scan::{Scanner, Step};
use crate::seal::Mask;
use crate::segment::{self, ENTRIES_AT};
use crate::store::{Store, StoreFile};

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It holds records of this stream, the journal's count of it, from this number on.
    Chunk {
        /// Whose.
        stream: u32,
        /// The first record's number.
        number: u64,
    },
    /// Anything else.
    Other,
}

/// The entries of segment `id`, which is whole, and their places.
///
/// # Panics
/// There is no such segment, or no whole checkpoint.
#[must_use]
pub fn entries(store: &MemStore, id: u64) -> Vec<(Range<u64>, Kind)> {
    let loaded = checkpoint::load(store, Options::MOST_EPOCHS, &Halt::default()).expect("readable");
    let (_, summary, _) = loaded.newest.expect("a checkpoint");
    let file = store.open(&segment::name(id), false).expect("the segment");
    let size = file.size().expect("its size");
    let mut scanner = Scanner::new(file, Mask::new(summary.journal, id), ENTRIES_AT, size);
    let mut found = Vec::new();
    while let Step::Entry { at, entry } = scanner.next().expect("readable") {
        let kind = match entry {
            Entry::Chunk(chunk) => Kind::Chunk { stream: chunk.stream, number: chunk.from.number },
            _ => Kind::Other,
        };
        found.push((at..scanner.at(), kind));
    }
    found
}
