//! A stream whose records are on disk before they are sent: the part of the thread that pushes.

mod error;
pub mod feed;
mod handover;
mod keeper;
mod outlet;
mod pusher;
mod queue;
mod shared;

pub use error::{DurableError, OpenDurableError};
pub use shared::Progress;

pub(super) use keeper::Kept;

use super::Sender;
use crate::clock;
use crate::network::Gone;
use pusher::Pusher;
use std::fmt;
use std::ops::Range;
use std::time::Duration;
use tallylink_core::{OutIx, Priority};

/// A stream of records that outlive the program.
///
/// A push copies the record into memory and returns its number; a thread of the stream's own makes what was pushed durable,
/// many records with one fdatasync, and only then do they leave. Numbers count the records of this opening.
pub struct DurableStream {
    sender: Sender,
    at: OutIx,
    pusher: Pusher,
}

impl DurableStream {
    pub(super) fn new(sender: Sender, at: OutIx, pusher: Pusher) -> Self {
        Self { sender, at, pusher }
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
        self.pusher.push_within(record, None)
    }

    /// Pushes one record and returns its number, if there is room within `timeout`.
    ///
    /// # Errors
    /// [`DurableError`]; nothing was taken.
    pub fn push_timeout(&mut self, record: &[u8], timeout: Duration) -> Result<u64, DurableError> {
        self.pusher.push_within(record, clock::deadline(timeout))
    }

    /// Pushes one record and returns its number, if there is room now.
    ///
    /// # Errors
    /// [`DurableError`]; nothing was taken.
    #[inline]
    pub fn try_push(&mut self, record: &[u8]) -> Result<u64, DurableError> {
        self.pusher.try_push(record)
    }

    /// Pushes a run of packed records, `[size varint][bytes]…`, and returns their numbers. Waits while there is no room.
    ///
    /// # Errors
    /// [`DurableError::NotPacked`] or [`DurableError::TooLarge`]: nothing was taken. [`DurableError::Closed`] or
    /// [`DurableError::Outbox`]: those below [`DurableStream::next`] were.
    pub fn push_batch(&mut self, packed: &[u8]) -> Result<Range<u64>, DurableError> {
        self.pusher.push_batch(packed)
    }

    /// Waits until everything that was pushed so far is durable here: it outlives the program and the power.
    ///
    /// # Errors
    /// [`DurableError::Timeout`], [`DurableError::Closed`], or [`DurableError::Outbox`] when the disk fails.
    pub fn flush_durable(&self, timeout: Duration) -> Result<(), DurableError> {
        self.pusher.flush_durable(timeout)
    }

    /// Waits until everything is STORED: what was pushed so far, and what earlier openings left.
    ///
    /// # Errors
    /// As [`DurableStream::flush_durable`].
    pub fn flush(&self, timeout: Duration) -> Result<(), DurableError> {
        self.pusher.flush(timeout)
    }

    /// Number of the next record.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.pusher.next()
    }

    /// How many records the outbox had ever made durable before this opening, delivered or not.
    ///
    /// A program that was killed and reads the same input again goes on behind so many records of it.
    #[must_use]
    pub fn history(&self) -> u64 {
        self.pusher.history()
    }

    /// How far the stream has come, for this and other threads.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.pusher.progress()
    }

    /// The sender that it belongs to.
    #[must_use]
    pub fn sender(&self) -> &Sender {
        &self.sender
    }
}

impl fmt::Debug for DurableStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DurableStream").field("pusher", &self.pusher).finish_non_exhaustive()
    }
}
