//! Which stream of the journal is which of the network thread's, both ways: 8 bytes a stream.

use tallylink_journal::{Journal, Store, StreamId};

/// The network thread counts its streams from 0 on: a stream's place. The journal's ids differ where a peer opened a stream
/// and sent nothing.
#[derive(Debug, Default)]
pub(super) struct Places {
    ids: Vec<StreamId>,
    places: Vec<u32>,
}

/// No place.
const NOWHERE: u32 = u32::MAX;

impl Places {
    /// Those of a journal that was opened just now.
    pub(super) fn of<S: Store>(journal: &Journal<S>) -> Self {
        let mut all = Self::default();
        for (place, (id, ..)) in (0..).zip(journal.streams()) {
            all.put(place, id);
        }
        all
    }

    /// Makes room for so many more at once. What is not used takes none.
    pub(super) fn reserve(&mut self, more: usize) {
        self.ids.reserve_exact(more);
        self.places.reserve_exact(more);
    }

    pub(super) fn put(&mut self, place: u32, id: StreamId) {
        set(&mut self.ids, place as usize, id, StreamId::NONE);
        set(&mut self.places, id.index(), place, NOWHERE);
    }

    /// The journal refuses that of a place that was not put.
    #[inline]
    pub(super) fn id(&self, place: u32) -> StreamId {
        self.ids.get(place as usize).copied().unwrap_or(StreamId::NONE)
    }

    pub(super) fn place(&self, id: StreamId) -> Option<u32> {
        self.places.get(id.index()).copied().filter(|place| *place != NOWHERE)
    }
}

fn set<T: Copy>(all: &mut Vec<T>, at: usize, to: T, nothing: T) {
    if all.len() <= at {
        all.resize(at + 1, nothing);
    }
    all[at] = to;
}
