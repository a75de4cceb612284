//! A receiver's disk: what was written, how much of it is proven, and what is left of it after a crash.

use crate::ledger::Ledger;
use crate::rng::Rng;
use tallylink_core::{Epoch, Position};

/// How many epochs of a stream are remembered.
const EPOCHS: usize = 4;

/// One entry of the journal.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The stream.
    pub(crate) stream: usize,
    /// Its epoch.
    pub(crate) epoch: Epoch,
    /// Where it begins.
    pub(crate) from: Position,
    /// Where it ends.
    pub(crate) to: Position,
    /// The records; nothing for a gap.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// Where an epoch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The stream.
    pub(crate) stream: usize,
    /// Its epoch.
    pub(crate) epoch: Epoch,
    /// What is appended next.
    pub(crate) next: Position,
    /// Records below this number are proven.
    pub(crate) stored_below: u64,
}

/// The disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Everything written.
    pub(crate) entries: Vec<Entry>,
    /// How many entries a sync has proven.
    pub(crate) synced: usize,
}

impl Log {
    /// The power fails: of what was not synced some beginning is left.
    pub(crate) fn power_cut(&mut self, rng: &mut Rng) {
        let unsynced = (self.entries.len() - self.synced) as u64;
        self.entries.truncate(self.synced + rng.below(unsynced + 1) as usize);
    }

    /// A sync has failed: nothing after the last good one is believed.
    pub(crate) fn distrust(&mut self) {
        self.entries.truncate(self.synced);
    }

    /// Start-up: what is there is synced before anything is told.
    pub(crate) fn recover(&mut self, ledger: &mut Ledger) {
        self.synced = self.entries.len();
        for entry in &self.entries {
            if let Some(source) = ledger.named(entry.stream, entry.epoch) {
                ledger.durable(source, entry.to.number);
            }
        }
    }

    /// The heads that the journal's index would have, all of the log being proven: the newest of each stream.
    #[must_use]
    pub(crate) fn heads(&self) -> Vec<Head> {
        let mut heads = Vec::new();
        for entry in &self.entries {
            let head = head_of(&mut heads, entry.stream, entry.epoch);
            (head.next, head.stored_below) = (entry.to, entry.to.number);
        }
        for head in &mut heads {
            // A record that is not whole is void.
            head.next = Position::start_of(head.next.number);
        }
        heads
    }

    /// Reads a stream as `query` would, and compares every record with what was pushed.
    ///
    /// # Errors
    /// The first record that is missing, repeated, out of order, or different.
    pub(crate) fn audit(&self, stream: usize, ledger: &Ledger) -> Result<(), String> {
        let mut seen: Vec<Epoch> = Vec::new();
        let (mut next, mut part) = (Position::default(), Vec::new());
        for entry in self.entries.iter().filter(|e| e.stream == stream) {
            if seen.last() != Some(&entry.epoch) {
                if seen.contains(&entry.epoch) {
                    return Err(format!("stream {stream} went back to epoch {:?}", entry.epoch));
                }
                seen.push(entry.epoch);
                (next, part) = (Position::default(), Vec::new());
            }
            if entry.from != next && entry.from != Position::start_of(next.number) {
                return Err(format!("an entry at {:?} follows {next:?}", entry.from));
            }
            if entry.from != next {
                part.clear();
            }
            let source = ledger.named(stream, entry.epoch).ok_or("an entry is of an epoch that nobody made")?;
            let from = Position::start_of(entry.from.number);
            match &entry.bytes {
                Some(bytes) => {
                    part.extend_from_slice(bytes);
                    ledger.compare(source, from, entry.to, &part)?;
                    let whole = part.len() - entry.to.offset as usize;
                    part.drain(..whole.min(part.len()));
                }
                None => part.clear(),
            }
            next = entry.to;
        }
        Ok(())
    }
}

/// The head of an epoch, made when it is new; older epochs than the newest few are forgotten.
pub(crate) fn head_of(heads: &mut Vec<Head>, stream: usize, epoch: Epoch) -> &mut Head {
    let known = heads.iter().position(|h| h.stream == stream && h.epoch == epoch);
    let at = known.unwrap_or_else(|| {
        let of_stream: Vec<usize> = (0..heads.len()).filter(|h| heads[*h].stream == stream).collect();
        if of_stream.len() >= EPOCHS {
            heads.remove(of_stream[0]);
        }
        heads.push(Head { stream, epoch, next: Position::default(), stored_below: 0 });
        heads.len() - 1
    });
    &mut heads[at]
}
