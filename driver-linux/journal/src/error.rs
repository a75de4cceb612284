//! What can go wrong, each with the file it concerns and what to do.

use std::io;

use crate::chunk::Position;
use crate::halt::Halted;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another process writes this journal.
    #[error("{lock} is held by another process: stop it, or use another directory")]
    Locked {
        /// The lock file.
        lock: String,
    },
    /// A file operation failed.
    #[error("{file}: cannot {action}: {source}")]
    Io {
        /// The file or directory.
        file: String,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Written by a later version of this program.
    #[error("{file} has format version {version}, which this program does not know: use a newer one")]
    Version {
        /// The file.
        file: String,
        /// The version found.
        version: u32,
    },
    /// The file belongs to another journal.
    #[error("{file} belongs to another journal: move it out of this directory")]
    Foreign {
        /// The file.
        file: String,
    },
    /// Segments are there, and no file tells which journal they belong to.
    #[error(
        "{directory} holds segments, and neither a checkpoint nor a header tells which journal they are of: put back a checkpoint file from a copy, or move the segments out of this directory to begin anew"
    )]
    Unidentified {
        /// The journal's directory.
        directory: String,
    },
    /// The caller asked for an end before the work was done.
    #[error("stopped, as asked, before the journal was open; nothing is lost")]
    Stopped,
    /// A write or sync failed before: nothing more is taken until [`Journal::rewind`](crate::Journal::rewind).
    #[error("an earlier write failed: rewind the journal before appending")]
    Failed,
    /// The chunk does not begin where its stream ends.
    #[error("the chunk begins at {got:?}, its stream goes on at {expected:?}")]
    OutOfOrder {
        /// Where the next chunk must begin.
        expected: Position,
        /// Where this one begins.
        got: Position,
    },
    /// The chunk's positions, counts and length contradict each other, or one is out of range.
    #[error("the chunk contradicts itself: {0}")]
    BadChunk(&'static str),
    /// The epoch was not begun, or is forgotten.
    #[error("the epoch is not known: begin it first")]
    UnknownEpoch,
    /// The stream's name is longer than [`MAX_NAME`](crate::MAX_NAME).
    #[error("the stream's name has {0} bytes, the most is 64")]
    NameTooLong(usize),
    /// As many streams as the options allow.
    #[error("the journal holds {0} streams, its limit: raise max_streams")]
    TooManyStreams(u32),
    /// Too many epochs of one stream were begun since the last commit.
    #[error("too many epochs begun since the last commit: commit first")]
    CommitFirst,
    /// The stream's index would leave its range.
    #[error("the stream has used up its indexes: give it another name")]
    IndexesExhausted,
    /// The segment size in the options is below the least.
    #[error("segment_bytes is {0}, the least is {least}", least = crate::Options::MIN_SEGMENT)]
    SegmentTooSmall(u64),
}

impl Error {
    /// Whether space on the disk is what is missing.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }
}

/// Gives an I/O error its file and action.
pub(crate) trait At<T> {
    fn at(self, file: impl FnOnce() -> String, action: &'static str) -> Result<T, Error>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, file: impl FnOnce() -> String, action: &'static str) -> Result<T, Error> {
        self.map_err(|source| match source.get_ref() {
            Some(inner) if inner.is::<Halted>() => Error::Stopped,
            _ => Error::Io { file: file(), action, source },
        })
    }
}
