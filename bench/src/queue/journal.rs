//! Looking at what was stored.
use std::path::Path;

use anyhow::Result;
use tallylink_journal::{Dir, Item, Reader};

use crate::workload::{HEAD, Workload};

/// How many records a journal holds, and how many of them are not what was sent, or not behind the one that was sent before.
pub(super) fn look(journal: &Path, workload: &Workload) -> Result<(u64, u64)> {
    let seed = workload.head(0);
    let mut reader = Reader::open(Dir::open(journal)?)?;
    let (mut stored, mut altered, mut next) = (0, 0, 0);
    while let Some(item) = reader.next()? {
        let Item::Record(record) = item else {
            altered += 1;
            continue;
        };
        stored += 1;
        let head = record.bytes.first_chunk::<HEAD>();
        match head.map(|head| u64::from_le_bytes(*head) ^ u64::from_le_bytes(seed)) {
            Some(number) if number >= next && workload.is_record(number, record.bytes) => next = number + 1,
            _ => altered += 1,
        }
    }
    Ok((stored, altered))
}
