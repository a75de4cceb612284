//! What can go wrong with an outbox.

use tallylink_journal::Error;

/// An outbox cannot be used, or its disk failed.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    /// Another process sends from it.
    #[error("the outbox {place} is in use by another process: stop that one, or use another directory")]
    Locked {
        /// The directory.
        place: String,
    },
    /// It holds another stream's records.
    #[error("the outbox {place} holds records of {holds}, not of {wanted}: use another directory, or that peer's key")]
    Foreign {
        /// The directory.
        place: String,
        /// The peer and stream whose it is.
        holds: String,
        /// The peer and stream that it was opened for.
        wanted: String,
    },
    /// It was not opened: somebody wanted that to end.
    #[error("the outbox {place} was not opened: it was told to stop")]
    Stopped {
        /// The directory.
        place: String,
    },
    /// Records of too many openings wait.
    #[error("records of {most} openings wait in the outbox: let them be delivered before more are pushed")]
    TooManyOpenings {
        /// How many may.
        most: usize,
    },
    /// The gateway already has records of this opening that were never sent.
    #[error("the gateway has records that only a copy of this running outbox can have sent: start this program again")]
    Cloned,
    /// The disk, or what is on it.
    #[error("the outbox: {0}")]
    Journal(#[from] Error),
    /// The directory cannot be made.
    #[error("the outbox {place} cannot be made or opened: {source}; check its rights, or use another directory")]
    Directory {
        /// The directory.
        place: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is no random number for an epoch.
    #[error("the system gives no entropy: {0}")]
    Entropy(#[from] getrandom::Error),
}

impl OutboxError {
    /// A journal that cannot be opened, at `place`.
    pub(super) fn of_opening(why: Error, place: &str) -> Self {
        match why {
            Error::Locked { .. } => Self::Locked { place: place.to_owned() },
            Error::Stopped => Self::Stopped { place: place.to_owned() },
            other => Self::Journal(other),
        }
    }
}
