//! A stream whose records are on disk before they are sent: the part of the thread that pushes.

mod error;
mod handover;
mod keeper;
mod outlet;
mod queue;
mod shared;

pub use error::{DurableError, OpenDurableError};
pub use shared::Progress;

pub(super) use keeper::Keeper;
pub(super) use outlet::DurableOutlet;
pub(super) use shared::Shared;

use super::{Sender, clock};
use crate::network::Gone;
use crate::outbox::{PIECE_BYTES, Run, first_stored};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tallylink_core::wire::varint;
use tallylink_core::{OutIx, Priority};

/// A stream of records that outlive the program.
///
/// A push copies the record into memory and returns its number; a thread of the stream's own makes what was pushed durable,
/// many records with one fdatasync, and only then do they leave. Numbers count the records of this opening.
pub struct DurableStream {
    sender: Sender,
    at: OutIx,
    shared: Arc<Shared>,
    next: u64,
    max_record: u32,
    /// Memory for a batch's division, empty between calls.
    runs: Vec<Run>,
}

impl DurableStream {
    pub(super) fn new(sender: Sender, at: OutIx, shared: Arc<Shared>) -> Self {
        let max_record = sender.inner.max_record;
        Self { sender, at, shared, next: 0, max_record, runs: Vec::new() }
    }

    /// Says whether this stream goes before others of its sender, or leaves them the first place. Each begins as
    /// [`Priority::Live`].
    ///
    /// # Errors
    /// [`Gone`]: the sender's thread has died.
    pub fn set_priority(&self, priority: Priority) -> Result<(), Gone> {
        self.sender.set_priority(self.at, priority)
    }

    /// Pushes one record and returns its number. Waits while there is no room in memory, which is as long as the disk takes.
    ///
    /// # Errors
    /// [`DurableError::TooLarge`], [`DurableError::Closed`], or [`DurableError::Outbox`] while the disk fails. Nothing was taken.
    pub fn push(&mut self, record: &[u8]) -> Result<u64, DurableError> {
        self.push_within(record, None)
    }

    /// Pushes one record and returns its number, if there is room within `timeout`.
    ///
    /// # Errors
    /// [`DurableError`]; nothing was taken.
    pub fn push_timeout(&mut self, record: &[u8], timeout: Duration) -> Result<u64, DurableError> {
        self.push_within(record, clock::deadline(timeout))
    }

    /// Pushes one record and returns its number, if there is room now.
    ///
    /// # Errors
    /// [`DurableError`]; nothing was taken.
    #[inline]
    pub fn try_push(&mut self, record: &[u8]) -> Result<u64, DurableError> {
        self.check_size(record.len() as u64)?;
        let stored = varint::len(record.len() as u64) + record.len();
        self.shared.push(|group, room| u64::from(stored <= room && group.push(record)))?;
        let number = self.next;
        self.next += 1;
        Ok(number)
    }

    fn push_within(&mut self, record: &[u8], deadline: Option<Instant>) -> Result<u64, DurableError> {
        loop {
            match self.try_push(record) {
                Err(DurableError::Full) if self.shared.wait_for_room(record.len() + 8, deadline) => {}
                other => return other,
            }
        }
    }

    /// Pushes a run of packed records, `[size varint][bytes]…`, and returns their numbers. Waits while there is no room.
    ///
    /// # Errors
    /// [`DurableError::NotPacked`] or [`DurableError::TooLarge`]: nothing was taken. [`DurableError::Closed`] or
    /// [`DurableError::Outbox`]: those below [`DurableStream::next`] were.
    pub fn push_batch(&mut self, packed: &[u8]) -> Result<Range<u64>, DurableError> {
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

    /// Waits until everything that was pushed so far is durable here: it outlives the program and the power.
    ///
    /// # Errors
    /// [`DurableError::Timeout`], [`DurableError::Closed`], or [`DurableError::Outbox`] when the disk fails.
    pub fn flush_durable(&self, timeout: Duration) -> Result<(), DurableError> {
        self.shared.flush_durable(clock::deadline(timeout))
    }

    /// Waits until everything is STORED: what was pushed so far, and what earlier openings left.
    ///
    /// # Errors
    /// As [`DurableStream::flush_durable`].
    pub fn flush(&self, timeout: Duration) -> Result<(), DurableError> {
        self.shared.flush(clock::deadline(timeout))
    }

    /// Number of the next record.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// How many records the outbox had ever made durable before this opening, delivered or not.
    ///
    /// A program that was killed and reads the same input again goes on behind so many records of it.
    #[must_use]
    pub fn history(&self) -> u64 {
        self.shared.history()
    }

    /// How far the stream has come, for this and other threads.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress::new(Arc::clone(&self.shared))
    }

    /// The sender that it belongs to.
    #[must_use]
    pub fn sender(&self) -> &Sender {
        &self.sender
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

impl fmt::Debug for DurableStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DurableStream").field("next", &self.next).field("shared", &self.shared).finish_non_exhaustive()
    }
}
