//! The bounded byte queue from the network thread to the journal's writer.
//!
//! It has two lanes, so that a stream that sends little does not wait behind one that sends as much as it can:
//!
//! ```text
//! a stream with little in the queue ──> quick ──┐  quick first, in the long run
//!                                               ├───────────────────────────────> writer
//! everyone else ──────────────────────> bulk ───┘  not more than bulk
//! ```
//!
//! - A stream's items go through the quick lane until [`QUICK_BYTES`] of them wait there, then through the other; they
//!   come back to the quick lane when none of them waits any more. So each stream has a share of the quick lane, as large
//!   as the first credit, and what one fast stream has ahead of the disk delays only others of its kind.
//! - The order of a stream holds: each item of the bulk lane says up to where the quick lane must have been taken before it.
//! - When the quick lane is full, its streams use the bulk lane; when that is full, it is answered so.

mod ring;
mod trails;

use tallylink_core::{Epoch, Full, Position};

use trails::{Taken, Trails};

/// What waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A stream of which nothing was put before; its name follows.
    Stream { peer: [u8; 8] },
    /// Records; their bytes follow.
    Chunk { epoch: Epoch, from: Position, to: Position, first_start: u32, starts: u32, arrival_us: u64 },
    /// Records that will never come.
    Gap { epoch: Epoch, below: u64, reason: u8, arrival_us: u64 },
    /// What was put before this, since the journal failed, is void.
    Resume,
}

/// So many bytes of a stream may wait in the quick lane, heads included.
const QUICK_BYTES: u32 = 16 << 10;
/// This part of the queue is the quick lane: an eighth.
const QUICK_PART: u32 = 3;
/// But not more: what is said of it in 32 bits must be clear.
const QUICK_MOST: usize = 64 << 20;
/// The quick lane goes first until it is so many bytes ahead of the bulk lane.
const QUICK_AHEAD: usize = 256 << 10;

/// The network thread's end.
#[derive(Debug)]
pub(super) struct Put {
    quick: ring::Put,
    bulk: ring::Put,
    /// Items that were ever put into the bulk lane; wraps.
    bulk_items: u32,
    /// What had ever been put into the quick lane with the last [`Item::Resume`].
    resumed: u64,
    /// As of the last [look](Self::look).
    taken: Taken,
    trails: Trails,
}

/// The writer's end.
#[derive(Debug)]
pub(super) struct Take {
    quick: ring::Take,
    bulk: ring::Take,
    /// Bytes that were ever taken from the quick lane, and items from the bulk lane; both wrap.
    quick_taken: u32,
    bulk_items: u32,
    /// Bytes taken from the quick lane while the bulk lane waited, less those taken from that since.
    ahead: usize,
}

/// A queue of so many bytes.
pub(super) fn queue(bytes: usize) -> (Put, Take) {
    let quick = (bytes >> QUICK_PART).min(QUICK_MOST);
    let ((put_quick, take_quick), (put_bulk, take_bulk)) = (ring::ring(quick), ring::ring(bytes - quick));
    (
        Put {
            quick: put_quick,
            bulk: put_bulk,
            bulk_items: 0,
            resumed: 0,
            taken: Taken::default(),
            trails: Trails::new(),
        },
        Take { quick: take_quick, bulk: take_bulk, quick_taken: 0, bulk_items: 0, ahead: 0 },
    )
}

impl Put {
    /// Puts one item of a stream behind its last.
    ///
    /// # Errors
    /// [`Full`]; nothing was put.
    #[inline]
    pub(super) fn put(&mut self, stream: u32, item: &Item, body: &[u8]) -> Result<(), Full> {
        let trail = self.trails.of(stream, self.taken);
        if !trail.in_bulk && trail.quick_bytes < QUICK_BYTES && self.quick.put(stream, 0, item, body).is_ok() {
            trail.quick_bytes += ring::size(body) as u32;
            trail.end = self.quick.put_ever();
            return Ok(());
        }
        let own = if trail.in_bulk { 0 } else { trail.end };
        let behind = own.max(self.resumed).max(self.taken.quick);
        self.bulk.put(stream, behind as u32, item, body)?;
        self.bulk_items = self.bulk_items.wrapping_add(1);
        (trail.in_bulk, trail.end) = (true, self.bulk.put_ever());
        Ok(())
    }

    /// Puts [`Item::Resume`]: it is taken after all that was put before it, and before all that is put later.
    ///
    /// # Errors
    /// [`Full`]; nothing was put.
    pub(super) fn put_resume(&mut self) -> Result<(), Full> {
        self.quick.put(0, self.bulk_items, &Item::Resume, &[])?;
        self.resumed = self.quick.put_ever();
        Ok(())
    }

    /// Looks how far the writer is. Once a turn: it is news from another processor.
    pub(super) fn look(&mut self) {
        self.taken = Taken { quick: self.quick.taken_ever(), bulk: self.bulk.taken_ever() };
    }

    /// Whether the writer is gone.
    pub(super) fn is_abandoned(&self) -> bool {
        self.bulk.is_abandoned()
    }

    /// Bytes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.quick.waiting() + self.bulk.waiting()
    }

    /// Bytes that may wait.
    pub(super) fn capacity(&self) -> usize {
        self.quick.capacity() + self.bulk.capacity()
    }
}

impl Take {
    /// Takes the next item, if there is one.
    #[inline]
    pub(super) fn take<T>(&mut self, with: impl FnOnce(u32, Item, &[u8]) -> T) -> Option<T> {
        // In this order: what the bulk lane's next item is behind is seen.
        let bulk = self.bulk.next();
        let quick = self.quick.next();
        let from_bulk = match (quick, bulk) {
            (Some(quick), _) if quick.is_resume && is_above(quick.stamp, self.bulk_items) => true,
            (Some(_), Some(bulk)) => self.ahead >= QUICK_AHEAD && !is_above(bulk.stamp, self.quick_taken),
            (None, bulk) => bulk.is_some(),
            (Some(_), None) => false,
        };
        if from_bulk {
            let (size, taken) = self.bulk.take(with)?;
            self.bulk_items = self.bulk_items.wrapping_add(1);
            self.ahead = self.ahead.saturating_sub(size);
            return Some(taken);
        }
        let (size, taken) = self.quick.take(with)?;
        self.quick_taken = self.quick_taken.wrapping_add(size as u32);
        if bulk.is_some() {
            self.ahead += size;
        }
        Some(taken)
    }

    /// Whether nothing more will come: the other end is gone, and all it put was taken.
    pub(super) fn is_over(&self) -> bool {
        self.quick.is_over() && self.bulk.is_over()
    }
}

/// Of two counts that wrap, and are not far from each other.
fn is_above(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() > 0
}

#[cfg(test)]
mod tests;
