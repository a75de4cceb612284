//! Where each stream's last items lie, of those streams that have some in the queue.

use hashbrown::HashMap;

/// So few are kept without a look at which of them are done with.
const FEW: usize = 64;

/// Trails by stream.
#[derive(Debug)]
pub(super) struct Trails {
    /// Most often the next item is of the same stream.
    last: (u32, Trail),
    others: HashMap<u32, Trail>,
    /// How many there may be before those are looked for that are done with.
    most: usize,
}

/// Where a stream's last items lie.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trail {
    pub(super) in_bulk: bool,
    /// What of the stream lies in the quick lane, as far as is known.
    pub(super) quick_bytes: u32,
    /// What had ever been put into the lane with the last of the items.
    pub(super) end: u64,
}

/// What had ever been taken from each lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    pub(super) quick: u64,
    pub(super) bulk: u64,
}

impl Trails {
    pub(super) fn new() -> Self {
        Self { last: (0, Trail::default()), others: HashMap::new(), most: FEW }
    }

    /// A stream's trail, to be changed: an empty one if nothing of it waits.
    #[inline]
    pub(super) fn of(&mut self, stream: u32, taken: Taken) -> &mut Trail {
        if self.last.0 != stream {
            let trail = self.others.remove(&stream).unwrap_or_default();
            let (before, left) = std::mem::replace(&mut self.last, (stream, trail));
            if !left.is_taken(taken) {
                self.keep(before, left, taken);
            }
        }
        let trail = &mut self.last.1;
        if trail.is_taken(taken) {
            *trail = Trail::default();
        }
        trail
    }

    fn keep(&mut self, stream: u32, trail: Trail, taken: Taken) {
        if self.others.len() >= self.most {
            self.others.retain(|_, trail| !trail.is_taken(taken));
            self.most = FEW.max(2 * self.others.len());
        }
        self.others.insert(stream, trail);
    }
}

impl Trail {
    /// Nothing of the stream waits.
    #[inline]
    fn is_taken(&self, taken: Taken) -> bool {
        self.end <= if self.in_bulk { taken.bulk } else { taken.quick }
    }
}
