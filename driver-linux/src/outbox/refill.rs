//! Reading back what is durable and not on its way yet.

use super::epochs::Epochs;
use tallylink_core::Epoch;
use tallylink_core::wire::{Previous, varint};
use tallylink_journal::{Error, Packed, Reader, Store};

/// Records are handed on when so many bytes of them are together.
const BLOCK_BYTES: usize = 64 << 10;

/// Something that goes to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// The epoch it belongs to.
    pub epoch: Epoch,
    /// The epoch before that.
    pub previous: Option<Previous>,
    /// What it is.
    pub what: What,
}

/// What goes to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The records in the block.
    Records {
        /// The first one's number.
        first: u64,
        /// How many.
        count: u64,
    },
    /// Damage on the disk took the records up to `below`: they are a gap.
    Lost {
        /// Number of the first that is not lost.
        below: u64,
    },
}

/// A place in the journal from which records are taken.
pub(super) struct Refill<S: Store> {
    store: S,
    reader: Option<Reader<S>>,
    /// What is handed on next.
    epoch: Epoch,
    next: u64,
    /// Read and not handed on.
    held: Option<Held>,
    spare: Vec<u8>,
    /// Damage was met behind the last record.
    damaged: bool,
}

#[derive(Debug)]
struct Held {
    epoch: Epoch,
    first: u64,
    count: u64,
    bytes: Vec<u8>,
}

impl<S: Store + Clone> Refill<S> {
    pub(super) fn new(store: S) -> Self {
        Self { store, reader: None, epoch: Epoch::default(), next: 0, held: None, spare: Vec::new(), damaged: false }
    }

    /// `published` tells that readers see all that is durable.
    pub(super) fn next(
        &mut self,
        epochs: &Epochs,
        published: bool,
        block: &mut Vec<u8>,
    ) -> Result<Option<Next>, Error> {
        let Some((row, previous)) = epochs.sendable() else { return Ok(None) };
        if self.epoch != row.epoch {
            (self.epoch, self.next) = (row.epoch, row.freed);
        }
        // The receiver may have more than was handed on: it knows the epoch from before.
        self.next = self.next.max(row.freed);
        if self.next >= row.end {
            return Ok(None);
        }
        let next = |what| Some(Next { epoch: row.epoch, previous, what });
        loop {
            if self.held.is_none() && !self.read()? {
                if !(self.damaged && published) {
                    return Ok(None);
                }
                (self.damaged, self.next) = (false, row.end);
                return Ok(next(What::Lost { below: row.end }));
            }
            let Some(held) = self.held.take() else { continue };
            let end = held.first + held.count;
            if epochs.precedes(held.epoch, row.epoch) || (held.epoch == row.epoch && end <= self.next) {
                self.spare = held.bytes;
                continue;
            }
            self.damaged = false;
            if held.epoch != row.epoch || held.first > self.next {
                let below = if held.epoch == row.epoch { held.first } else { row.end };
                self.held = Some(held);
                self.next = below;
                return Ok(next(What::Lost { below }));
            }
            let first = self.next;
            block.clear();
            block.extend_from_slice(behind(&held.bytes, first - held.first));
            self.spare = held.bytes;
            self.next = end;
            self.fill(block);
            return Ok(next(What::Records { first, count: self.next - first }));
        }
    }

    /// Adds what follows directly. An error is met again by the next call, which has nothing to lose.
    fn fill(&mut self, block: &mut Vec<u8>) {
        while block.len() < BLOCK_BYTES && self.held.is_none() && matches!(self.read(), Ok(true)) {
            let Some(held) = self.held.take_if(|held| held.epoch == self.epoch && held.first == self.next) else {
                break;
            };
            block.extend_from_slice(&held.bytes);
            self.next += held.count;
            self.spare = held.bytes;
        }
    }

    /// Reads one run of records. False at the end of what is durable.
    fn read(&mut self) -> Result<bool, Error> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            None => self.reader.insert(Reader::open(self.store.clone())?),
        };
        loop {
            match reader.next_batch()? {
                None => return Ok(false),
                Some(Packed::Damage(_)) => self.damaged = true,
                // The numbers of what comes next tell the same.
                Some(Packed::Gap(_)) => {}
                Some(Packed::Batch(batch)) => {
                    let mut bytes = std::mem::take(&mut self.spare);
                    bytes.clear();
                    bytes.extend_from_slice(batch.bytes);
                    let (epoch, first, count) = (Epoch(batch.epoch), batch.number, batch.count);
                    self.held = Some(Held { epoch, first, count, bytes });
                    return Ok(true);
                }
            }
        }
    }
}

/// Packed records without the first `records`.
pub(crate) fn behind(packed: &[u8], records: u64) -> &[u8] {
    let mut rest = packed;
    for _ in 0..records {
        let Ok((size, head)) = varint::decode(rest) else { return &[] };
        rest = rest.get(head + size as usize..).unwrap_or(&[]);
    }
    rest
}
