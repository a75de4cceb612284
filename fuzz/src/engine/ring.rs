//! The walks over a ring against a plain list of records (wire-format §6.4, §8.5).

use super::bytes::Bytes;
use super::model::stored;
use tallylink_core::internals::{copy_in, cut, measure, span};
use tallylink_core::wire::varint;

/// No part of a record that is shorter is worth a cut.
const MIN_PART: u32 = 64;

/// Lays records into a ring at any place, and cuts, spans and measures them. What is left of the input is measured, too.
pub fn ring(data: &[u8]) {
    let mut bytes = Bytes(data);
    let Some((at, room)) = bytes.short().zip(bytes.short()) else { return };
    let Some((credit, max_stored)) = bytes.short().zip(bytes.short()) else { return };
    let (room, credit) = (u32::from(room % 2000) + 1, u64::from(credit));
    let max_stored = u64::from(max_stored).max(63);
    let mut records = vec![];
    for _ in 0..bytes.byte().unwrap_or(0) % 32 {
        let size = bytes.byte().unwrap_or(0);
        records.push(if size < 0xe0 { usize::from(size) / 3 } else { usize::from(size - 0xdf) * 50 });
    }
    let packed: Vec<u8> = records.iter().flat_map(|size| stored(&vec![7; *size])).collect();
    let spare = usize::from(bytes.byte().unwrap_or(0));
    let len = packed.len() + spare;
    if len > 0 {
        let at = u32::from(at) % len as u32;
        let mut ring = vec![0xee; len];
        copy_in(&mut ring, at, &packed);
        let mut taken = cut(&ring, at, packed.len() as u32, room, credit, max_stored);
        if crate::planted::here() && taken.1 == 5 && at as usize + packed.len() > len {
            // Where the ring wraps, one record is counted twice.
            taken.1 += 1;
        }
        assert_eq!(taken, plain_cut(&records, room, credit, max_stored), "{records:?} at {at}");
        for count in 0..=records.len() {
            let sum: usize = records[..count].iter().map(|size| stored(&vec![7; *size]).len()).sum();
            assert_eq!(span(&ring, at, count as u64) as usize, sum, "{count} of {records:?} at {at}");
        }
    }
    let limit = u32::from(at);
    assert_eq!(measure(&packed, room, limit), plain_measure(&packed, room, limit));
    assert_eq!(measure(bytes.0, room, limit), plain_measure(bytes.0, room, limit));
}

/// Record by record: bytes, records ended, how far the unfinished one goes, and what is left of it.
fn plain_cut(records: &[usize], room: u32, credit: u64, max_stored: u64) -> (u32, u16, u32, u32) {
    let (mut len, mut ended) = (0_u32, 0_u16);
    for size in records {
        let size = stored(&vec![7; *size]).len() as u32;
        if u64::from(size) > max_stored || u64::from(len + size) > credit {
            break;
        }
        let left = room - len;
        if size > left {
            return if left >= MIN_PART { (room, ended, left, size - left) } else { (len, ended, 0, 0) };
        }
        len += size;
        ended += 1;
    }
    (len, ended, 0, 0)
}

/// Whole records one by one, while they fit.
fn plain_measure(packed: &[u8], room: u32, max_record: u32) -> Option<(u64, u32)> {
    let (mut records, mut bytes, mut rest) = (0, 0, packed);
    while !rest.is_empty() {
        let (size, length) = varint::decode(rest).ok()?;
        if size > u64::from(max_record) {
            return None;
        }
        let stored = size as usize + length;
        rest = rest.get(stored..)?;
        if bytes + stored > room as usize {
            break;
        }
        (records, bytes) = (records + 1, bytes + stored);
    }
    Some((records, bytes as u32))
}
