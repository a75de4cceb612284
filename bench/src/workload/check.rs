//! The receiver's side of the workload: counts records and those that are not what they should be.
use std::sync::Arc;

use super::Workload;

/// What a receiver found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checked {
    /// Records that came to their end.
    pub(crate) records: u64,
    /// Of these, records with other bytes or another size than their number says.
    pub(crate) wrong: u64,
}

/// Takes the records of one stream in order, whole or in pieces.
pub(crate) struct Checker {
    workload: Arc<Workload>,
    next: u64,
    /// Bytes of record `next` that were taken already.
    offset: usize,
    /// Whether a piece of record `next` was wrong.
    spoilt: bool,
    wrong: u64,
}

impl Checker {
    pub(crate) fn new(workload: Arc<Workload>) -> Self {
        Self { workload, next: 0, offset: 0, spoilt: false, wrong: 0 }
    }

    /// Takes the next record, which arrived whole.
    #[inline]
    pub(crate) fn record(&mut self, bytes: &[u8]) {
        self.wrong += u64::from(!self.workload.is_record(self.next, bytes));
        self.next += 1;
    }

    /// Takes some more of the next record.
    pub(crate) fn piece(&mut self, bytes: &[u8]) {
        self.spoilt |= !self.workload.is_piece(self.next, self.offset, bytes);
        self.offset += bytes.len();
    }

    /// The record whose pieces were taken is complete.
    pub(crate) fn end(&mut self) {
        let whole = self.offset == self.workload.size();
        self.wrong += u64::from(self.spoilt || !whole);
        self.next += 1;
        self.offset = 0;
        self.spoilt = false;
    }

    pub(crate) fn finish(&self) -> Checked {
        Checked { records: self.next, wrong: self.wrong }
    }
}

/// Splits a byte stream into records, each behind its size as a little-endian u32.
pub(crate) struct LengthPrefixed {
    checker: Checker,
    prefix: [u8; 4],
    /// Bytes of the prefix that have come.
    have: usize,
    /// Bytes that the record in progress still lacks.
    need: usize,
}

impl LengthPrefixed {
    pub(crate) fn new(workload: Arc<Workload>) -> Self {
        Self { checker: Checker::new(workload), prefix: [0; 4], have: 0, need: 0 }
    }

    /// Takes the next bytes of the stream, wherever they were cut.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        let Some(mut rest) = self.continue_record(bytes) else {
            return;
        };
        while let Some((prefix, tail)) = rest.split_first_chunk::<4>() {
            let size = u32::from_le_bytes(*prefix) as usize;
            match tail.split_at_checked(size) {
                Some((record, next)) => {
                    self.checker.record(record);
                    rest = next;
                }
                None => {
                    self.need = size - tail.len();
                    self.have = prefix.len();
                    self.checker.piece(tail);
                    return;
                }
            }
        }
        self.prefix[..rest.len()].copy_from_slice(rest);
        self.have = rest.len();
    }

    /// Records that came to their end.
    pub(crate) fn records(&self) -> u64 {
        self.checker.next
    }

    /// What came to its end so far, where it is not known that the stream ends here.
    pub(crate) fn so_far(&self) -> Checked {
        self.checker.finish()
    }

    pub(crate) fn finish(&self) -> Checked {
        let mut checked = self.checker.finish();
        // Bytes after the last whole record belong to one that never ended.
        checked.wrong += u64::from(self.have > 0);
        checked
    }

    /// Completes what an earlier cut left open; returns what follows, or `None` while it stays open.
    fn continue_record<'b>(&mut self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let mut rest = bytes;
        if self.have == 0 {
            return Some(rest);
        }
        if self.have < 4 {
            let (now, later) = rest.split_at(rest.len().min(4 - self.have));
            self.prefix[self.have..self.have + now.len()].copy_from_slice(now);
            self.have += now.len();
            rest = later;
            if self.have < 4 {
                return None;
            }
            self.need = u32::from_le_bytes(self.prefix) as usize;
        }
        let (now, later) = rest.split_at(rest.len().min(self.need));
        self.checker.piece(now);
        self.need -= now.len();
        if self.need > 0 {
            return None;
        }
        self.checker.end();
        self.have = 0;
        Some(later)
    }
}
