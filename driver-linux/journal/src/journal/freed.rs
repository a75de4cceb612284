//! Which segments a sender has no more use for (`core/docs/storage.md` §8).

use super::Journal;
use crate::entry::{Entry, Identity};
use crate::scan::{Scanner, Step};
use crate::seal::Mask;
use crate::segment::{self, ENTRIES_AT};
use crate::store::Store;

/// The place in its stream where what follows the oldest segment begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begins {
    epoch: [u8; 8],
    /// Number of the first record that is not in the oldest segment, or not whole there.
    next: u64,
}

/// An answer of the disk, good while the segments stay the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct LookedUp {
    oldest: u64,
    segments: usize,
    /// `None` if records follow nowhere, or their place cannot be read: then the oldest segment just stays.
    begins: Option<Begins>,
}

impl<S: Store> Journal<S> {
    /// Whether everything in the oldest segment is freed, if the options ask for that.
    pub(super) fn oldest_is_freed(&mut self) -> bool {
        if !self.options.retention.freed || self.streams.iter().count() != 1 {
            return false;
        }
        if self.streams.iter().all(|(_, stream)| stream.epochs.iter().all(|slot| slot.freed >= slot.stored)) {
            return true;
        }
        let Some(begins) = self.looked_up() else { return false };
        let Some((_, stream)) = self.streams.iter().next() else { return false };
        // The oldest segment holds earlier epochs, and of this one what lies below.
        let Some(at) = stream.epochs.iter().position(|slot| slot.epoch == begins.epoch) else { return false };
        let this = stream.epochs.iter().nth(at).is_some_and(|slot| slot.freed >= begins.next);
        this && stream.epochs.iter().skip(at + 1).all(|slot| slot.freed >= slot.stored)
    }

    fn looked_up(&mut self) -> Option<Begins> {
        let (oldest, segments) = (self.sealed.front()?.segment, self.sealed.len());
        match self.checkpoints.looked_up {
            Some(known) if (known.oldest, known.segments) == (oldest, segments) => known.begins,
            _ => {
                let active = self.active.as_ref().filter(|active| active.proven > 0).map(|active| active.segment);
                let later = self.sealed.iter().skip(1).map(|sealed| sealed.segment).chain(active);
                let begins = later.filter_map(|segment| self.first_record(segment)).next();
                self.checkpoints.looked_up = Some(LookedUp { oldest, segments, begins });
                begins
            }
        }
    }

    /// Where the first record or gap of a segment stands in its stream. Marks do not count: they come in any order.
    fn first_record(&self, segment: u64) -> Option<Begins> {
        let file = self.store.open(&segment::name(segment), false).ok()?;
        let mut scanner = Scanner::new(file, Mask::new(self.id, segment), ENTRIES_AT, u64::MAX);
        let mut epoch = None;
        loop {
            let Step::Entry { entry, .. } = scanner.next().ok()? else { return None };
            match entry {
                Entry::Define { .. } => epoch = Some(Identity::read(scanner.body())?.epoch),
                Entry::Chunk(chunk) => return Some(Begins { epoch: epoch?, next: chunk.from.number }),
                Entry::Gap { next, .. } => return Some(Begins { epoch: epoch?, next }),
                Entry::Group { .. } | Entry::Freed { .. } | Entry::Void => {}
            }
        }
    }
}
