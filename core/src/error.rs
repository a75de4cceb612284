//! What a caller did wrong.

use core::fmt;

/// A call that cannot be carried out. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The index lies beyond the array that the driver lent.
    NoSuchIndex,
    /// The slot is taken.
    Taken,
    /// The slot holds no peer or stream.
    Empty,
    /// This end is the gateway of that peer: only the device end starts sessions.
    NotDevice,
    /// The stream's name is open already.
    NameTaken,
    /// The part of the ring is empty, too large, or not within `Parts::ring`.
    BadRing,
    /// No more streams are allowed.
    TooManyStreams,
    /// The ring holds records that are not STORED yet.
    NotStored,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSuchIndex => "the index lies beyond the array that the driver lent",
            Self::Taken => "the slot is taken",
            Self::Empty => "the slot holds no peer or stream",
            Self::NotDevice => "only the device end starts sessions",
            Self::NameTaken => "a stream of that name is open already",
            Self::BadRing => "the part of the ring is empty, too large, or not within the ring",
            Self::TooManyStreams => "no more streams are allowed",
            Self::NotStored => "the ring holds records that are not STORED yet",
        })
    }
}

impl core::error::Error for Error {}

/// A record was not taken. Nothing of it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushError {
    /// The ring is full now; room returns when records are STORED.
    Full,
    /// The record can never be sent: it is above `max_record`, or above the ring, or the epoch's numbers are used up.
    TooLarge,
    /// What was pushed as packed records is not a run of whole records.
    NotPacked,
    /// The stream does not exist.
    NoStream,
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the ring is full; room returns when records are stored",
            Self::TooLarge => "the record is larger than this stream can ever send",
            Self::NotPacked => "the bytes are not a run of whole packed records",
            Self::NoStream => "the stream does not exist",
        })
    }
}

impl core::error::Error for PushError {}
