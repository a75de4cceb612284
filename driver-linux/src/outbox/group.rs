//! Records that become durable together.

use tallylink_core::wire::varint;

/// A piece is cut when it has so many bytes: damage on the disk costs a piece, and each costs a header.
pub(crate) const PIECE_BYTES: usize = 16 << 10;

/// Packed records, `[size varint][bytes]…`, with the places where they are cut into pieces.
#[derive(Clone, Debug, Default)]
pub struct Group {
    first: u64,
    bytes: Vec<u8>,
    /// Ends of pieces: bytes and records up to there.
    cuts: Vec<(usize, u64)>,
    records: u64,
}

/// Packed records that fit into one piece, or a single one that is longer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    pub(crate) bytes: usize,
    pub(crate) records: u64,
}

/// Whole records that are kept as one entry, or several if a single record is longer than one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) first: u64,
    pub(super) records: u64,
    pub(super) bytes: &'a [u8],
}

impl Group {
    /// The number of its first record.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The number behind its last record.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.first + self.records
    }

    /// Its bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it holds no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Empties it, to take the records from number `first` on.
    pub fn restart(&mut self, first: u64) {
        (self.first, self.records) = (first, 0);
        self.bytes.clear();
        self.cuts.clear();
    }

    /// Adds one record. Returns false, and adds nothing, when it is longer than any record can be.
    #[inline]
    pub fn push(&mut self, record: &[u8]) -> bool {
        let Ok(size) = varint::encode(record.len() as u64) else { return false };
        self.cut_before(0, size.as_slice().len() + record.len());
        self.bytes.extend_from_slice(size.as_slice());
        self.bytes.extend_from_slice(record);
        self.records += 1;
        true
    }

    /// Adds the first of `runs`, as many as fit into `room`; `packed` begins with their records. Back comes how many they
    /// were, and what they hold together.
    pub(crate) fn push_runs(&mut self, packed: &[u8], runs: &[Run], room: usize) -> (usize, Run) {
        let (mut count, mut all) = (0, Run::default());
        for run in runs {
            if all.bytes + run.bytes > room {
                break;
            }
            self.cut_before(all.bytes, run.bytes);
            self.records += run.records;
            all = Run { bytes: all.bytes + run.bytes, records: all.records + run.records };
            count += 1;
        }
        self.bytes.extend_from_slice(packed.get(..all.bytes).unwrap_or(&[]));
        (count, all)
    }

    /// Cuts where `stored` bytes more would make the piece too long; `ahead` bytes are yet to be added before them.
    #[inline]
    fn cut_before(&mut self, ahead: usize, stored: usize) {
        let (from, records) = self.cuts.last().copied().unwrap_or((0, 0));
        let at = self.bytes.len() + ahead;
        if at - from + stored > PIECE_BYTES && self.records > records {
            self.cuts.push((at, self.records));
        }
    }

    pub(super) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let last = (self.bytes.len(), self.records);
        let ends = self.cuts.iter().copied().chain((self.records > 0).then_some(last));
        let mut from = (0, 0);
        ends.map(move |to| {
            let piece = Piece {
                first: self.first + from.1,
                records: to.1 - from.1,
                bytes: self.bytes.get(from.0..to.0).unwrap_or(&[]),
            };
            from = to;
            piece
        })
    }
}

/// The stored length of the first record, if all of it is there.
#[inline]
pub(crate) fn first_stored(packed: &[u8]) -> Option<usize> {
    let (len, head) = varint::decode(packed).ok()?;
    let stored = head + usize::try_from(len).ok()?;
    (stored <= packed.len()).then_some(stored)
}
