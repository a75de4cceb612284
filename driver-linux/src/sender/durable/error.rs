//! What a stream with an outbox tells its program.

use crate::outbox::OutboxError;
use std::sync::Arc;

/// A record was not taken, or not everything is as far as was waited for.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DurableError {
    /// There is no room in memory now; it returns as the disk takes records.
    #[error("there is no room now; it returns as the disk takes records")]
    Full,
    /// The record is larger than any that this sender takes.
    #[error("the record has {len} bytes, more than the {max} that this sender takes")]
    TooLarge {
        /// Its bytes.
        len: u64,
        /// The most that are taken.
        max: u32,
    },
    /// The bytes are not a run of whole packed records.
    #[error("the bytes are not a run of whole packed records")]
    NotPacked,
    /// The outbox takes nothing now. What it had taken before is kept and tried again; what is durable still goes out.
    #[error("{0}")]
    Outbox(Arc<OutboxError>),
    /// The time was over.
    #[error(
        "{durable} of {pushed} records are durable and {stored} stored after the time that was given; {waiting} wait"
    )]
    Timeout {
        /// How many records of this opening are durable here.
        durable: u64,
        /// How many are STORED.
        stored: u64,
        /// How many were pushed.
        pushed: u64,
        /// Durable records that are not STORED, those of earlier openings included.
        waiting: u64,
    },
    /// The sender's thread has died.
    #[error("the sender has stopped")]
    Closed,
}

/// An outbox was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenDurableError {
    /// The stream.
    #[error(transparent)]
    Stream(#[from] crate::sender::OpenError),
    /// The outbox.
    #[error(transparent)]
    Outbox(#[from] OutboxError),
}
