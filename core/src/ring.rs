//! A stream's ring: records back to back, `[size varint][bytes]`, as they travel and as they are stored (wire-format §6.4).
//!
//! Offsets count from the start of the stream's part of the ring and stay below its length. Packing a packet walks the size
//! varints of the records that go into it; nothing else is done per record.

use crate::wire::varint;

/// The smallest part of a record that is worth a cut: a shorter rest of a packet becomes padding.
pub(crate) const MIN_PART: u32 = 64;

/// The bytes from `at` on, in at most two pieces.
#[inline]
pub(crate) fn pieces(ring: &[u8], at: u32, len: u32) -> (&[u8], &[u8]) {
    let (at, len) = (at as usize, len as usize);
    let first = ring.len().saturating_sub(at).min(len);
    let front = ring.get(at..at.saturating_add(first)).unwrap_or(&[]);
    let back = ring.get(..len.saturating_sub(first)).unwrap_or(&[]);
    (front, back)
}

/// Room for `len` bytes from `at` on, in at most two pieces.
#[inline]
pub(crate) fn pieces_mut(ring: &mut [u8], at: u32, len: u32) -> (&mut [u8], &mut [u8]) {
    let (at, len) = (at as usize, len as usize);
    let Some((low, high)) = ring.split_at_mut_checked(at) else {
        return (&mut [], &mut []);
    };
    let first = high.len().min(len);
    let back = low.get_mut(..len.saturating_sub(first)).unwrap_or_default();
    (high.get_mut(..first).unwrap_or_default(), back)
}

/// Copies `bytes` to `at`.
#[inline]
pub(crate) fn copy_in(ring: &mut [u8], at: u32, bytes: &[u8]) {
    let (front, back) = pieces_mut(ring, at, bytes.len() as u32);
    if let Some((a, b)) = bytes.split_at_checked(front.len()) {
        front.copy_from_slice(a);
        if b.len() == back.len() {
            back.copy_from_slice(b);
        }
    }
}

/// The stored size of the record that starts at `at`: its varint and its bytes.
#[inline]
pub(crate) fn stored_size(ring: &[u8], at: u32) -> u32 {
    let tail = ring.get(at as usize..).unwrap_or(&[]);
    if let [a, ..] = tail
        && *a < 0x40
    {
        return u32::from(*a).saturating_add(1);
    }
    if tail.len() >= 8 {
        return size_of_front(tail);
    }
    let mut wrapped = [0; 8];
    for (to, from) in wrapped.iter_mut().zip(tail.iter().chain(ring.iter())) {
        *to = *from;
    }
    size_of_front(&wrapped)
}

#[inline]
fn size_of_front(bytes: &[u8]) -> u32 {
    match varint::decode(bytes) {
        Ok((size, length)) => (size as u32).saturating_add(length as u32),
        // Only whole records with minimal varints are ever pushed.
        Err(_) => {
            debug_assert!(false, "a ring holds whole records");
            1
        }
    }
}

/// Passes records of less than 64 bytes, whose size varint is one byte, up to `limit` bytes and `most` records in all: what
/// most sensors send, and worth a loop of its own. It ends early at a larger record and where the ring wraps; `bytes` is what
/// lies from the first record on. Returns bytes and records passed.
///
/// Records of one size in a row go by quickly, four at a time: where the next size lies does not have to be read first, only
/// checked.
#[inline]
pub(crate) fn pass_small(bytes: &[u8], limit: u32, most: u32) -> (u32, u32) {
    const AT_ONCE: u32 = 4;
    let (mut passed, mut records) = (0u32, 0u32);
    while let Some(size) = bytes.get(passed as usize).filter(|b| **b < 0x40) {
        let stride = u32::from(*size).wrapping_add(1);
        let before = records;
        let strides = stride.wrapping_mul(AT_ONCE);
        let same = |at: u32| bytes.get(at as usize) == Some(size);
        while most.wrapping_sub(records) >= AT_ONCE
            && passed.wrapping_add(strides) <= limit
            && same(passed)
            && same(passed.wrapping_add(stride))
            && same(passed.wrapping_add(stride.wrapping_mul(2)))
            && same(passed.wrapping_add(stride.wrapping_mul(3)))
        {
            passed = passed.wrapping_add(strides);
            records = records.wrapping_add(AT_ONCE);
        }
        while records < most && passed.wrapping_add(stride) <= limit && same(passed) {
            passed = passed.wrapping_add(stride);
            records = records.wrapping_add(1);
        }
        if records == before {
            break;
        }
    }
    (passed, records)
}

/// Where a packet's chunk ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Bytes of the ring in the chunk.
    pub(crate) len: u32,
    /// Records that end in it.
    pub(crate) ended: u16,
    /// Stored bytes of the record that is left unfinished which lie before the end.
    pub(crate) offset: u32,
    /// What is left of that record.
    pub(crate) rest: u32,
    /// Why nothing more went in.
    pub(crate) stop: Stop,
}

/// Why a chunk ends where it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Everything is in it.
    #[default]
    Empty,
    /// The packet is full, or what is left of it is padding.
    Packet,
    /// The next record, of this stored size, may not begin under the credit window.
    Credit(u32),
    /// The next record is above the other end's limit.
    TooLarge,
}

/// What a chunk may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Bytes in the ring from its start on.
    pub(crate) available: u32,
    /// Bytes in the packet.
    pub(crate) room: u32,
    /// Bytes of records that may be begun.
    pub(crate) credit: u64,
    /// The stored size of the largest record that the other end takes.
    pub(crate) max_stored: u64,
}

/// Cuts a chunk that starts at `at`, `offset` bytes into a record of which `rest` bytes are left (both 0 at its start).
#[inline]
pub(crate) fn cut(ring: &[u8], at: u32, offset: u32, rest: u32, bounds: Bounds) -> Cut {
    let len = ring.len() as u32;
    let Bounds { available, room, credit, max_stored } = bounds;
    let mut cut = Cut::default();
    if rest > 0 {
        cut.len = rest.min(room);
        if cut.len < rest {
            cut.offset = offset.saturating_add(cut.len);
            cut.rest = rest.saturating_sub(cut.len);
            cut.stop = Stop::Packet;
            return cut;
        }
        cut.ended = 1;
    }
    let finished = u64::from(cut.len);
    let mut place = at.saturating_add(cut.len);
    // Records that need no look at any bound but these go by quickly.
    let begun_max = u32::try_from(credit.saturating_add(finished)).unwrap_or(u32::MAX);
    let plain = available.min(room).min(begun_max).min(u32::from(u16::MAX));
    while cut.len < available {
        if place >= len {
            place = place.saturating_sub(len);
        }
        let ahead = ring.get(place as usize..).unwrap_or(&[]);
        if max_stored >= 64 && ahead.first().is_some_and(|size| *size < 0x40) {
            let (passed, records) = pass_small(ahead, plain.saturating_sub(cut.len), u32::MAX);
            cut.len = cut.len.saturating_add(passed);
            cut.ended = cut.ended.saturating_add(records as u16);
            place = place.saturating_add(passed);
            if passed > 0 {
                continue;
            }
        }
        let size = stored_size(ring, place);
        let after = cut.len.saturating_add(size);
        // Most records fit: one comparison with all bounds but the other end's limit.
        if after <= plain && u64::from(size) <= max_stored {
            cut.len = after;
            cut.ended = cut.ended.saturating_add(1);
            place = place.saturating_add(size);
            continue;
        }
        if u64::from(size) > max_stored {
            cut.stop = Stop::TooLarge;
            return cut;
        }
        let begun = u64::from(cut.len).saturating_sub(finished);
        if begun.saturating_add(u64::from(size)) > credit {
            cut.stop = Stop::Credit(size);
            return cut;
        }
        let left = room.saturating_sub(cut.len);
        if size > left || cut.ended == u16::MAX {
            cut.stop = Stop::Packet;
            if left >= MIN_PART && cut.ended < u16::MAX {
                cut.len = room;
                cut.offset = left;
                cut.rest = size.saturating_sub(left);
            }
            return cut;
        }
        cut.len = after;
        cut.ended = cut.ended.saturating_add(1);
        place = place.saturating_add(size);
    }
    cut
}

/// How many bytes the `records` records take that start at `at`.
pub(crate) fn span(ring: &[u8], at: u32, records: u64) -> u32 {
    let len = ring.len() as u32;
    let (mut place, mut bytes) = (at, 0u32);
    let mut left = records;
    while left > 0 {
        let ahead = ring.get(place as usize..).unwrap_or(&[]);
        let (passed, small) = pass_small(ahead, u32::MAX, u32::try_from(left).unwrap_or(u32::MAX));
        left = left.saturating_sub(u64::from(small));
        bytes = bytes.saturating_add(passed);
        place = place.saturating_add(passed);
        if place >= len {
            place = place.saturating_sub(len);
            continue;
        }
        if left == 0 {
            break;
        }
        left = left.saturating_sub(1);
        let size = stored_size(ring, place);
        bytes = bytes.saturating_add(size);
        place = place.saturating_add(size);
        if place >= len {
            place = place.saturating_sub(len);
        }
    }
    bytes
}

/// What a run of packed records holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// How many records.
    pub records: u64,
    /// How many bytes they take.
    pub bytes: u32,
}

/// Walks packed records, `[size varint][bytes]…`, while they fit in `room` bytes. `None` when the bytes are no run of whole
/// records, or one of them is above `max_record`.
#[must_use]
pub fn measure(packed: &[u8], room: u32, max_record: u32) -> Option<Run> {
    let mut run = Run { records: 0, bytes: 0 };
    let mut rest = packed;
    while !rest.is_empty() {
        if max_record >= 64 {
            let whole = u32::try_from(rest.len()).unwrap_or(u32::MAX);
            let (passed, records) = pass_small(rest, whole.min(room.saturating_sub(run.bytes)), u32::MAX);
            run.records = run.records.saturating_add(u64::from(records));
            run.bytes = run.bytes.saturating_add(passed);
            rest = rest.get(passed as usize..)?;
            if rest.is_empty() {
                break;
            }
        }
        let (size, length) = varint::decode(rest).ok()?;
        if size > u64::from(max_record) {
            return None;
        }
        let stored = (size as usize).saturating_add(length);
        let (_, after) = rest.split_at_checked(stored)?;
        let bytes = run.bytes.saturating_add(stored as u32);
        if bytes > room {
            break;
        }
        run = Run { records: run.records.saturating_add(1), bytes };
        rest = after;
    }
    Some(run)
}

#[cfg(test)]
mod tests;
