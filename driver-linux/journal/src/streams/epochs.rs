//! The epochs of one stream, newest first.

use std::slice;

use crate::chunk::{EpochState, Position};

/// How many epochs more than those remembered may be begun between two commits.
const BEGUN: usize = 4;

/// One epoch.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) epoch: [u8; 8],
    pub(crate) base: u64,
    /// Number of the first record that is not stored.
    pub(crate) stored: u64,
    /// The owner needs nothing below this any more.
    pub(crate) freed: u64,
    number: u64,
    offset: u32,
    /// Something of it is stored: it outlives a restart.
    pub(crate) remembered: bool,
    /// Appended to since the last commit.
    pub(crate) dirty: bool,
    /// The epoch that the stream's definition in force names.
    pub(crate) current: bool,
}

impl Slot {
    /// A slot as a checkpoint keeps it: all of it stored.
    pub(crate) fn restored(epoch: [u8; 8], base: u64, next: Position, current: bool, freed: u64) -> Self {
        let Position { number, offset } = next;
        Self { epoch, base, stored: number, freed, number, offset, remembered: true, dirty: false, current }
    }

    /// Where the next chunk begins.
    #[inline]
    pub(crate) fn next(&self) -> Position {
        Position { number: self.number, offset: self.offset }
    }

    #[inline]
    pub(crate) fn advance(&mut self, to: Position) {
        self.number = to.number;
        self.offset = to.offset;
    }

    /// All that was appended is durable.
    pub(crate) fn prove(&mut self) {
        self.remembered |= self.number > self.stored;
        self.stored = self.number;
    }

    pub(crate) fn state(&self) -> EpochState {
        EpochState { stored_below: self.stored, next: self.next(), base: self.base, freed_below: self.freed }
    }
}

/// All epochs of a stream; most streams have one, which needs no allocation.
#[derive(Debug, Default)]
pub(crate) enum Epochs {
    #[default]
    None,
    One(Slot),
    Several(Box<[Slot]>),
}

const _: () = assert!(size_of::<Epochs>() <= 48);

impl Epochs {
    pub(crate) fn iter(&self) -> slice::Iter<'_, Slot> {
        match self {
            Self::None => [].iter(),
            Self::One(slot) => slice::from_ref(slot).iter(),
            Self::Several(slots) => slots.iter(),
        }
    }

    pub(crate) fn iter_mut(&mut self) -> slice::IterMut<'_, Slot> {
        match self {
            Self::None => [].iter_mut(),
            Self::One(slot) => slice::from_mut(slot).iter_mut(),
            Self::Several(slots) => slots.iter_mut(),
        }
    }

    pub(crate) fn find(&self, epoch: [u8; 8]) -> Option<&Slot> {
        self.iter().find(|slot| slot.epoch == epoch)
    }

    #[inline]
    pub(crate) fn find_mut(&mut self, epoch: [u8; 8]) -> Option<&mut Slot> {
        self.iter_mut().find(|slot| slot.epoch == epoch)
    }

    /// The epoch that the definition in force names.
    #[inline]
    pub(crate) fn current(&mut self) -> Option<&mut Slot> {
        self.iter_mut().find(|slot| slot.current)
    }

    /// Makes `epoch` the one that the definition in force names, counted from `base`. A record that another epoch
    /// has begun is void: nobody would join its parts across a definition.
    pub(crate) fn make_current(&mut self, epoch: [u8; 8], base: u64) {
        for slot in self.iter_mut() {
            slot.current = slot.epoch == epoch;
            if slot.current {
                slot.base = base;
            } else {
                slot.offset = 0;
            }
        }
    }

    /// No epoch is current: the next append makes a new definition with a new base.
    pub(crate) fn end_current(&mut self) {
        for slot in self.iter_mut() {
            slot.current = false;
        }
    }

    /// Adds an unknown epoch that begins at `first`, as the newest. `false` if there is no place before a commit.
    ///
    /// One that was begun before and got nothing makes room.
    pub(crate) fn begin(&mut self, epoch: [u8; 8], first: Position, most: usize) -> bool {
        if self.iter().any(|slot| !slot.remembered && !slot.dirty) {
            self.retain(|slot| slot.remembered || slot.dirty);
        }
        let fits = self.iter().len() < most + BEGUN;
        if fits {
            self.push_front(Slot { remembered: false, ..Slot::restored(epoch, 0, first, false, 0) });
        }
        fits
    }

    /// Puts `slot` before all others.
    pub(crate) fn push_front(&mut self, slot: Slot) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(slot),
            known => Self::Several(std::iter::once(slot).chain(known.iter().cloned()).collect()),
        };
    }

    /// Forgets all but the newest `most` of the epochs with stored records (`core/docs/storage.md` §7.2).
    pub(crate) fn forget_old(&mut self, most: usize) {
        if self.iter().len() <= most {
            return;
        }
        let mut remembered = 0;
        self.retain(|slot| {
            remembered += usize::from(slot.remembered);
            !slot.remembered || remembered <= most
        });
    }

    /// Goes back to what is proven: unfinished records are void, epochs without a stored record forgotten.
    pub(crate) fn settle(&mut self, most: usize) {
        if self.iter().any(|slot| !slot.remembered) {
            self.retain(|slot| slot.remembered);
        }
        for slot in self.iter_mut() {
            slot.advance(Position::start_of(slot.stored));
            slot.dirty = false;
        }
        self.forget_old(most);
    }

    fn retain(&mut self, keep: impl FnMut(&&Slot) -> bool) {
        let mut kept: Vec<_> = self.iter().filter(keep).cloned().collect();
        *self = match kept.len() {
            0 => Self::None,
            1 => kept.pop().map_or(Self::None, Self::One),
            _ => Self::Several(kept.into()),
        };
    }
}
