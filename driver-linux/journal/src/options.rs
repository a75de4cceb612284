//! How a journal is kept.

/// Settings of one journal. They may differ from one opening to the next.
#[derive(Clone, Debug)]
pub struct Options {
    /// A random number, used once, when the journal is made: it becomes the journal's id, which enters every checksum,
    /// so that no record can contain bytes that pass for an entry. Later openings ignore it.
    pub salt: u64,
    /// Size of a segment in bytes, at least [`MIN_SEGMENT`](Self::MIN_SEGMENT). Where the disk has no room for one,
    /// a smaller one is made.
    pub segment_bytes: u64,
    /// Appended bytes kept in memory before they are written (not synced) ahead of the commit.
    pub buffer_bytes: usize,
    /// The most streams kept, at most 2^26.
    pub max_streams: u32,
    /// The newest epochs of a stream that are remembered whatever is deleted, at most
    /// [`MOST_EPOCHS`](Self::MOST_EPOCHS). A gateway needs 4; a sender as many as it may have openings undelivered.
    pub remembered_epochs: usize,
    /// What may be deleted.
    pub retention: Retention,
}

/// Which finished segments go. The segment being written never does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// The oldest go while all together have more bytes than this.
    pub max_bytes: Option<u64>,
    /// Those go whose newest record arrived longer ago than this.
    pub max_age_us: Option<u64>,
    /// Those go of which everything is [`freed`](crate::Journal::freed); in a journal of one stream only.
    pub freed: bool,
}

impl Options {
    /// The smallest segment size there is sense in. A longer entry gets a longer segment.
    pub const MIN_SEGMENT: u64 = 16 << 10;

    /// The most that `remembered_epochs` can be.
    pub const MOST_EPOCHS: usize = 1024;

    pub(crate) fn most_epochs(&self) -> usize {
        self.remembered_epochs.clamp(1, Self::MOST_EPOCHS)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            salt: 0,
            segment_bytes: 64 << 20,
            buffer_bytes: 1 << 20,
            max_streams: 1 << 22,
            remembered_epochs: 4,
            retention: Retention::default(),
        }
    }
}
