//! A sender's disk: epochs of records, each either synced or not, and how far each is known to be STORED.

use crate::rng::Rng;
use tallylink_core::{Epoch, Previous};

/// One epoch in an outbox. Its records' bytes are the ledger's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    /// Its name.
    pub(crate) epoch: Epoch,
    /// The ledger's numbering.
    pub(crate) source: usize,
    /// The epoch before it.
    pub(crate) previous: Option<Previous>,
    /// How many records were written, and how many of them were synced.
    pub(crate) written: u64,
    /// See `written`.
    pub(crate) synced: u64,
    /// Below which number records are STORED, as written and as synced.
    pub(crate) stored: u64,
    /// See `stored`.
    pub(crate) stored_synced: u64,
}

impl Kept {
    /// Everything in it is STORED, and that is saved.
    #[must_use]
    pub(crate) fn drained(&self) -> bool {
        self.stored_synced == self.written
    }
}

/// The outbox of one stream, the oldest epoch first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    /// Its epochs.
    pub(crate) epochs: Vec<Kept>,
}

impl Outbox {
    /// A new epoch, for the first record since the outbox was opened.
    pub(crate) fn begin(&mut self, epoch: Epoch, source: usize) {
        let previous = self.epochs.last().map(|last| Previous { epoch: last.epoch, end: last.written });
        self.epochs.push(Kept { epoch, source, previous, written: 0, synced: 0, stored: 0, stored_synced: 0 });
    }

    /// A sync returned that was begun when this copy was made.
    pub(crate) fn synced(&mut self, then: &Self) {
        for (now, then) in self.epochs.iter_mut().zip(&then.epochs) {
            now.synced = now.synced.max(then.written);
            now.stored_synced = now.stored_synced.max(then.stored);
        }
    }

    /// True when there is something to sync.
    #[must_use]
    pub(crate) fn is_dirty(&self) -> bool {
        self.epochs.iter().any(|e| e.synced < e.written || e.stored_synced < e.stored)
    }

    /// The power fails: of what was not synced some beginning is left.
    pub(crate) fn power_cut(&mut self, rng: &mut Rng) {
        for kept in &mut self.epochs {
            kept.written = rng.within(kept.synced, kept.written);
            kept.stored = rng.within(kept.stored_synced, kept.stored);
        }
        self.epochs.retain(|e| e.written > 0);
    }

    /// The outbox is opened again: what is there is synced before it is sent.
    pub(crate) fn recover(&mut self) {
        self.synced(&self.clone());
    }
}
