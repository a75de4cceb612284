//! An outbox on disk: what is saved, what is not yet, and which epochs it holds.

use super::{Bug, Epochs};
use crate::rules::Predecessor;

/// One epoch's records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Epoch {
    id: u8,
    previous: Predecessor,
    /// Contents by number.
    contents: Vec<u8>,
    /// Records below this are saved.
    saved: u8,
    /// The oldest record not STORED.
    head: u8,
    /// The head as it is saved.
    head_saved: u8,
}

impl Epoch {
    fn end(&self) -> u8 {
        self.contents.len() as u8
    }
}

/// An outbox, on disk and in the memory of the program that has it open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Outbox {
    epochs: Vec<Epoch>,
    open: bool,
    /// Whether this opening made its epoch.
    made: bool,
}

/// What the outbox offers next: an OPEN and the records it may send.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) epoch: u8,
    pub(super) previous: Predecessor,
    /// OPEN's first: the head.
    pub(super) first: u8,
    /// Contents by number up to what may be sent.
    pub(super) contents: Vec<u8>,
}

impl Outbox {
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn open(&mut self) {
        self.open = true;
    }

    pub(super) fn last_epoch(&self) -> u8 {
        self.epochs.last().map_or(0, |epoch| epoch.id)
    }

    /// The end of an epoch as saved, for a gateway that may know more.
    pub(super) fn saved_end(&self, id: u8) -> u8 {
        self.epochs.iter().find(|epoch| epoch.id == id).map_or(0, |epoch| epoch.saved)
    }

    /// Each epoch's id and the number below which its records were confirmed.
    pub(super) fn confirmed(&self) -> impl Iterator<Item = (u8, u8)> {
        self.epochs.iter().map(|epoch| (epoch.id, epoch.head))
    }

    pub(super) fn has_unsaved(&self) -> bool {
        self.epochs.iter().any(|epoch| epoch.saved < epoch.end() || epoch.head_saved < epoch.head)
    }

    pub(super) fn is_drained(&self) -> bool {
        self.epochs.iter().all(|epoch| epoch.head >= epoch.end())
    }

    pub(super) fn save(&mut self) {
        for epoch in &mut self.epochs {
            epoch.saved = epoch.end();
            epoch.head_saved = epoch.head;
        }
    }

    /// What is left of it when its program is cut off: an epoch without a saved record never was.
    pub(super) fn on_disk(&self) -> Self {
        let mut epochs = self.epochs.clone();
        for epoch in &mut epochs {
            epoch.contents.truncate(usize::from(epoch.saved));
            epoch.head = epoch.head_saved;
        }
        epochs.retain(|epoch| epoch.saved > 0);
        Self { epochs, open: false, made: false }
    }

    pub(super) fn push(&mut self, content: u8, epoch: u8, model: &Epochs) {
        let continues = self.made || model.has(Bug::EpochReused);
        if let Some(last) = self.epochs.last_mut().filter(|_| continues) {
            last.contents.push(content);
        } else {
            let previous = self.epochs.last().map(|last| (last.id, last.end()));
            let contents = vec![content];
            self.epochs.push(Epoch { id: epoch, previous, contents, saved: 0, head: 0, head_saved: 0 });
        }
        self.made = true;
    }

    /// The oldest epoch with records, unless an earlier one is not saved as drained.
    pub(super) fn deliverable(&self, model: &Epochs) -> Option<Offer> {
        for epoch in &self.epochs {
            let sendable = if model.has(Bug::SentBeforeSaved) { epoch.end() } else { epoch.saved };
            if epoch.head < sendable {
                return Some(Offer {
                    epoch: epoch.id,
                    previous: epoch.previous,
                    first: epoch.head,
                    contents: epoch.contents[..usize::from(sendable)].to_vec(),
                });
            }
            let drained = if model.has(Bug::DrainedNotSaved) { epoch.head } else { epoch.head_saved };
            if drained < epoch.end() {
                return None;
            }
        }
        None
    }

    pub(super) fn free(&mut self, id: u8, below: u8) {
        for epoch in self.epochs.iter_mut().filter(|epoch| epoch.id == id) {
            epoch.head = epoch.head.max(below.min(epoch.end()));
        }
    }
}
