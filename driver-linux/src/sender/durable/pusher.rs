//! The end of an outbox that records are pushed to.

use super::error::DurableError;
use super::shared::{Progress, Shared};
use crate::clock;
use crate::outbox::{PIECE_BYTES, Run, first_stored};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tallylink_core::wire::varint;

/// Copies records into memory, where the disk's thread fetches them.
#[derive(Debug)]
pub(crate) struct Pusher {
    shared: Arc<Shared>,
    next: u64,
    max_record: u32,
    /// Memory for a batch's division, empty between calls.
    runs: Vec<Run>,
}

impl Pusher {
    pub(crate) fn new(shared: Arc<Shared>, max_record: u32) -> Self {
        Self { shared, next: 0, max_record, runs: Vec::new() }
    }

    #[inline]
    pub(crate) fn try_push(&mut self, record: &[u8]) -> Result<u64, DurableError> {
        self.check_size(record.len() as u64)?;
        let stored = varint::len(record.len() as u64) + record.len();
        self.shared.push(|group, room| u64::from(stored <= room && group.push(record)))?;
        let number = self.next;
        self.next += 1;
        Ok(number)
    }

    pub(crate) fn push_within(&mut self, record: &[u8], deadline: Option<Instant>) -> Result<u64, DurableError> {
        loop {
            match self.try_push(record) {
                Err(DurableError::Full) if self.shared.wait_for_room(record.len() + 8, deadline) => {}
                other => return other,
            }
        }
    }

    pub(crate) fn push_batch(&mut self, packed: &[u8]) -> Result<Range<u64>, DurableError> {
        let mut runs = std::mem::take(&mut self.runs);
        let pushed = self.divide(packed, &mut runs).and_then(|()| self.push_runs(packed, &runs));
        runs.clear();
        self.runs = runs;
        pushed
    }

    /// Divides packed records into runs that are kept as a piece each.
    fn divide(&self, packed: &[u8], runs: &mut Vec<Run>) -> Result<(), DurableError> {
        // A run goes in whole: one that is larger than the memory would wait for ever.
        let most = PIECE_BYTES.min(self.shared.capacity());
        let (mut run, mut rest) = (Run::default(), packed);
        while !rest.is_empty() {
            let stored = self.stored_len(rest)?;
            if run.bytes + stored > most && run.records > 0 {
                runs.push(std::mem::take(&mut run));
            }
            run.bytes += stored;
            run.records += 1;
            rest = rest.get(stored..).unwrap_or(&[]);
        }
        if run.records > 0 {
            runs.push(run);
        }
        Ok(())
    }

    fn push_runs(&mut self, mut packed: &[u8], mut runs: &[Run]) -> Result<Range<u64>, DurableError> {
        let first = self.next;
        while let Some(next) = runs.first() {
            let mut taken = (0, Run::default());
            let pushed = self.shared.push(|group, room| {
                taken = group.push_runs(packed, runs, room);
                taken.1.records
            });
            match pushed {
                Ok(records) => {
                    self.next += records;
                    runs = runs.get(taken.0..).unwrap_or(&[]);
                    packed = packed.get(taken.1.bytes..).unwrap_or(&[]);
                }
                Err(DurableError::Full) => {
                    self.shared.wait_for_room(next.bytes, None);
                }
                Err(why) => return Err(why),
            }
        }
        Ok(first..self.next)
    }

    pub(crate) fn flush_durable(&self, timeout: Duration) -> Result<(), DurableError> {
        self.shared.flush_durable(clock::deadline(timeout))
    }

    pub(crate) fn flush(&self, timeout: Duration) -> Result<(), DurableError> {
        self.shared.flush(clock::deadline(timeout))
    }

    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn history(&self) -> u64 {
        self.shared.history()
    }

    pub(crate) fn progress(&self) -> Progress {
        Progress::new(Arc::clone(&self.shared))
    }

    #[inline]
    fn check_size(&self, len: u64) -> Result<(), DurableError> {
        let max = self.max_record;
        if len > u64::from(max) { Err(DurableError::TooLarge { len, max }) } else { Ok(()) }
    }

    /// The stored length of the first record.
    fn stored_len(&self, packed: &[u8]) -> Result<usize, DurableError> {
        let (len, _) = varint::decode(packed).map_err(|_| DurableError::NotPacked)?;
        self.check_size(len)?;
        first_stored(packed).ok_or(DurableError::NotPacked)
    }
}
