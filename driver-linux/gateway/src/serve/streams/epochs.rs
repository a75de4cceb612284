//! The epochs of one stream. Of a million streams nearly all have one, which needs no allocation.

use std::num::NonZeroU64;
use std::slice;

use tallylink_core::Epoch;

/// Epochs of a stream that are remembered (storage §7.2).
pub(in crate::serve) const REMEMBERED: usize = 4;

/// What is known of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::serve) struct Known {
    pub(in crate::serve) epoch: Epoch,
    pub(in crate::serve) stored_below: u64,
    /// One above `next`: never zero, which tells [`Epochs`] apart without a byte of its own.
    next_and_one: NonZeroU64,
}

impl Known {
    pub(in crate::serve) fn new(epoch: Epoch, stored_below: u64, next: u64) -> Self {
        Self { epoch, stored_below, next_and_one: NonZeroU64::MIN.saturating_add(next) }
    }

    /// Number of the first record that the writer was not given, or not all of.
    #[inline]
    pub(in crate::serve) fn next(&self) -> u64 {
        self.next_and_one.get() - 1
    }

    #[inline]
    pub(in crate::serve) fn set_next(&mut self, next: u64) {
        self.next_and_one = NonZeroU64::MIN.saturating_add(next);
    }
}

/// The newest last, at most [`REMEMBERED`].
#[derive(Debug)]
pub(super) enum Epochs {
    One(Known),
    /// Or none.
    Several(Box<[Known]>),
}

const _: () = assert!(size_of::<Epochs>() <= 24);

impl Default for Epochs {
    fn default() -> Self {
        Self::Several(Box::default())
    }
}

impl Epochs {
    pub(super) fn as_slice(&self) -> &[Known] {
        match self {
            Self::One(known) => slice::from_ref(known),
            Self::Several(known) => known,
        }
    }

    #[inline]
    pub(super) fn as_mut_slice(&mut self) -> &mut [Known] {
        match self {
            Self::One(known) => slice::from_mut(known),
            Self::Several(known) => known,
        }
    }

    /// Adds the newest, and forgets the oldest when they are too many.
    pub(super) fn push(&mut self, newest: Known) {
        *self = match self.as_slice() {
            [] => Self::One(newest),
            known => {
                let kept = &known[known.len().saturating_sub(REMEMBERED - 1)..];
                Self::Several(kept.iter().copied().chain([newest]).collect())
            }
        };
    }

    #[inline]
    pub(super) fn find(&mut self, epoch: Epoch) -> Option<&mut Known> {
        self.as_mut_slice().iter_mut().rev().find(|known| known.epoch == epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::{Epochs, Known, REMEMBERED};
    use tallylink_core::Epoch;

    #[test]
    fn the_newest_epochs_are_remembered_in_their_order() {
        let known = |n: u8| Known::new(Epoch([n; 8]), n.into(), n.into());
        let mut epochs = Epochs::default();
        for n in 1..=9_u8 {
            epochs.push(known(n));
            let oldest = n.saturating_sub(REMEMBERED as u8 - 1).max(1);
            let expected: Vec<_> = (oldest..=n).map(known).collect();
            assert_eq!(epochs.as_slice(), expected);
        }
        assert_eq!(epochs.find(Epoch([5; 8])), None);
        assert_eq!(epochs.find(Epoch([6; 8])).copied(), Some(known(6)));
    }
}
