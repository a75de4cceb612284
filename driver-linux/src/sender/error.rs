//! What a sender tells its program.

/// A record was not taken. Nothing of it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    /// There is no room now; it returns when records are STORED.
    #[error("there is no room now; it returns when records are stored")]
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
    /// The sender's thread has died.
    #[error("the sender has stopped")]
    Closed,
}

/// Not everything was STORED.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlushError {
    /// The time was over.
    #[error("{stored} of {pushed} records are stored after the time that was given")]
    Timeout {
        /// How many records of the stream are STORED.
        stored: u64,
        /// How many were pushed.
        pushed: u64,
    },
    /// The sender's thread has died.
    #[error("the sender has stopped")]
    Closed,
}

/// A stream was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Its name is empty or longer than 64 bytes.
    #[error("a stream's name has 1 to 64 bytes")]
    Name,
    /// The name is taken, or there is no room.
    #[error(transparent)]
    Network(#[from] crate::network::OpenError),
    /// The system gives no more threads.
    #[error("the system gives no more threads: {0}")]
    Thread(std::io::ErrorKind),
    /// The sender's thread has died.
    #[error("the sender has stopped")]
    Closed,
}
