//! What callers hand over and get back: positions, chunks, ids.

/// A place in a stream: inside or before one record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The record's number within its epoch, at most 2^62 − 1.
    pub number: u64,
    /// Bytes into the record's stored bytes, size varint included; 0 is the record's beginning.
    pub offset: u32,
}

impl Position {
    /// The beginning of record `number`.
    #[must_use]
    pub const fn start_of(number: u64) -> Self {
        Self { number, offset: 0 }
    }
}

/// A stream of this journal, valid as long as the [`Journal`](crate::Journal) that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub(crate) u32);

impl StreamId {
    /// No stream's: every call refuses it.
    pub const NONE: Self = Self(u32::MAX);

    /// Ids are given one after the other, from 0 on.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Bytes between two positions of one stream, as they came in one packet.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// Whose they are.
    pub stream: StreamId,
    /// The numbering they are counted in.
    pub epoch: [u8; 8],
    /// Where they begin.
    pub from: Position,
    /// Where the next chunk would begin.
    pub to: Position,
    /// Bytes before the first record start: 0 if `from.offset` is 0, the length of `bytes` if no record starts.
    pub first_record: u32,
    /// How many records start in `bytes`.
    pub records: u32,
    /// `[size varint][bytes]…`, not empty, at most [`MAX_BODY`](crate::MAX_BODY).
    pub bytes: &'a [u8],
}

/// What became durable of one stream and epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The stream.
    pub stream: StreamId,
    /// The epoch.
    pub epoch: [u8; 8],
    /// Number of the first record that is not stored.
    pub below: u64,
}

/// What the journal remembers of one epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochState {
    /// Number of the first record that is not stored.
    pub stored_below: u64,
    /// Where the next chunk must begin.
    pub next: Position,
    /// What is added to a number to get its index; known once something was appended.
    pub base: u64,
    /// Number of the first record that its owner still needs, see [`Journal::freed`](crate::Journal::freed).
    pub freed_below: u64,
}
