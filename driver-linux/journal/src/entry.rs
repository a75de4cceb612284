//! One entry of a segment, byte for byte (`core/docs/storage.md` §4).
//!
//! `crc u32 · check u16 · kind u8 · body length · fields · body`, checksums little-endian, numbers as varints. The
//! check covers the header, so that a search for the next whole entry behind damage costs no checksum over a body
//! that is none; the CRC covers everything behind itself.

use crate::chunk::Position;
use crate::seal::{Mask, crc32c};
use crate::varint;

/// The longest body: an append above it is the caller's mistake.
pub const MAX_BODY: usize = 1 << 20;
/// The longest header: prefix, kind and nine varints.
pub(crate) const MAX_HEADER: usize = PREFIX + 1 + 9 * 8;
/// The longest entry.
pub(crate) const MAX_ENTRY: usize = MAX_HEADER + MAX_BODY;
/// The longest stream name.
pub const MAX_NAME: usize = 64;
/// Peer id and epoch stand before the name in a definition's body.
const DEFINE_FIXED: usize = 16;
/// The longest definition, for reserving room ahead of it.
pub(crate) const MAX_DEFINE: usize = MAX_HEADER + DEFINE_FIXED + MAX_NAME;

const PREFIX: usize = 6;
const CRC_LEN: usize = 4;

const KIND_GROUP: u8 = 1;
const KIND_DEFINE: u8 = 2;
const KIND_CHUNK: u8 = 3;
const KIND_GAP: u8 = 4;
const KIND_FREED: u8 = 5;
const KIND_VOID: u8 = 6;
const KIND_MASK: u8 = 0x0f;
const BEGINS_INSIDE: u8 = 0x10;
const ENDS_INSIDE: u8 = 0x20;

/// What an entry says, its body apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A group begins; everything of this segment below `proven` is durable.
    Group { proven: u64 },
    /// From here on `stream` stands for the identity in the body; `next` is its position.
    Define { stream: u32, base: u64, next: Position },
    /// Bytes of records.
    Chunk(ChunkHead),
    /// Numbers from `next` below `below` will never come.
    Gap { stream: u32, next: u64, below: u64, reason: u8, arrival_us: u64 },
    /// The owner needs nothing below `below` any more.
    Freed { stream: u32, below: u64 },
    /// What stood here was damaged and is set aside.
    Void,
}

/// A chunk's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHead {
    pub(crate) stream: u32,
    pub(crate) from: Position,
    pub(crate) to: Position,
    /// Bytes before the first record start; the body's length if none starts.
    pub(crate) first_record: u32,
    /// How many records start.
    pub(crate) records: u32,
    pub(crate) arrival_us: u64,
}

impl ChunkHead {
    /// The number behind a chunk that starts `records` records from `from.number`; `None` if there is no such chunk.
    pub(crate) fn end_number(number: u64, records: u32, begins_inside: bool, ends_inside: bool) -> Option<u64> {
        (number + u64::from(records) + u64::from(begins_inside)).checked_sub(u64::from(ends_inside))
    }
}

/// The identity in a definition's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity<'a> {
    pub(crate) peer: [u8; 8],
    pub(crate) epoch: [u8; 8],
    pub(crate) name: &'a [u8],
}

impl<'a> Identity<'a> {
    /// `None` if `body` is too short or its name too long.
    pub(crate) fn read(body: &'a [u8]) -> Option<Self> {
        let (peer, rest) = body.split_first_chunk()?;
        let (epoch, name) = rest.split_first_chunk()?;
        (name.len() <= MAX_NAME).then_some(Self { peer: *peer, epoch: *epoch, name })
    }
}

/// A verified entry's header and where its body lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub(crate) entry: Entry,
    pub(crate) header_len: usize,
    pub(crate) body_len: usize,
}

/// Appends the entry, of which the first byte lies at `offset` of its segment, to `out`.
#[inline]
pub(crate) fn write(entry: &Entry, body: &[&[u8]], mask: Mask, offset: u64, out: &mut Vec<u8>) {
    let mut header = [0_u8; MAX_HEADER];
    let body_len: usize = body.iter().map(|part| part.len()).sum();
    let len = write_header(entry, body_len as u64, &mut header);
    let (crc_mask, check_mask) = mask.at(offset);
    let check = crc32c(&header[PREFIX..len]) as u16 ^ check_mask;
    header[CRC_LEN..PREFIX].copy_from_slice(&check.to_le_bytes());
    let start = out.len();
    out.extend_from_slice(&header[..len]);
    for part in body {
        out.extend_from_slice(part);
    }
    let crc = crc32c(&out[start + CRC_LEN..]) ^ crc_mask;
    out[start..start + CRC_LEN].copy_from_slice(&crc.to_le_bytes());
}

fn write_header(entry: &Entry, body_len: u64, out: &mut [u8; MAX_HEADER]) -> usize {
    let mut at = PREFIX + 1;
    let mut put = |value: u64| at += varint::write(value, &mut out[at..]);
    put(body_len);
    let kind = match *entry {
        Entry::Group { proven } => {
            put(proven);
            KIND_GROUP
        }
        Entry::Define { stream, base, next } => {
            put(u64::from(stream));
            put(base);
            put(next.number);
            put(u64::from(next.offset));
            KIND_DEFINE
        }
        Entry::Chunk(chunk) => {
            put(u64::from(chunk.stream));
            put(chunk.from.number);
            put(u64::from(chunk.records));
            put(chunk.arrival_us);
            let mut kind = KIND_CHUNK;
            if chunk.from.offset > 0 {
                put(u64::from(chunk.from.offset));
                put(u64::from(chunk.first_record));
                kind |= BEGINS_INSIDE;
            }
            if chunk.to.offset > 0 {
                put(u64::from(chunk.to.offset));
                kind |= ENDS_INSIDE;
            }
            kind
        }
        Entry::Gap { stream, next, below, reason, arrival_us } => {
            put(u64::from(stream));
            put(next);
            put(below);
            put(u64::from(reason));
            put(arrival_us);
            KIND_GAP
        }
        Entry::Freed { stream, below } => {
            put(u64::from(stream));
            put(below);
            KIND_FREED
        }
        Entry::Void => KIND_VOID,
    };
    out[PREFIX] = kind;
    at
}

/// The shortest entry: one of these fills what is set aside.
pub(crate) const LEAST_VOID: u64 = (PREFIX + 2) as u64;

/// Appends void entries that fill `len` bytes from `offset` of a segment exactly. `len` is at least [`LEAST_VOID`].
pub(crate) fn write_void(len: u64, mask: Mask, offset: u64, out: &mut Vec<u8>) {
    /// Short enough that damage to one of them is found the end of soon.
    const LONGEST: u64 = 64 << 10;
    let size = |body: u64| (PREFIX + 1 + varint::size(body)) as u64 + body;
    let (mut at, end) = (offset, offset + len);
    while at < end {
        let left = end - at;
        let mut body = (left - LEAST_VOID).min(LONGEST);
        // Not every length is one entry's, and what is left must be at least one again.
        while size(body) > left || (size(body) < left && left - size(body) < LEAST_VOID) {
            body -= 1;
        }
        write(&Entry::Void, &[&vec![0; body as usize]], mask, at, out);
        at += size(body);
    }
}

/// How far to go from the front of `bytes`, at least one byte, to where an entry could begin, as far as one byte of it tells; or to
/// where `bytes` do not tell. A search behind damage, and through the zeros of a preallocated segment, goes in such steps.
pub(crate) fn next_candidate(bytes: &[u8]) -> usize {
    let kinds = bytes.get(PREFIX + 1..).unwrap_or(&[]);
    1 + kinds.iter().position(|&kind| is_kind(kind)).unwrap_or(kinds.len())
}

#[inline]
fn is_kind(byte: u8) -> bool {
    (KIND_GROUP..=KIND_VOID).contains(&(byte & KIND_MASK))
}

/// Reads and checks the header at the front of `bytes`; the body's checksum is [`verify`]'s.
///
/// `None` if no entry begins here, as far as the header tells.
#[inline]
pub(crate) fn parse(bytes: &[u8], mask: Mask, offset: u64) -> Option<Parsed> {
    let kind = *bytes.get(PREFIX)?;
    if !is_kind(kind) {
        return None;
    }
    let mut fields = Fields { bytes, at: PREFIX + 1 };
    let body_len = fields.next()?;
    let entry = parse_fields(kind, body_len, &mut fields)?;
    let header_len = fields.at;
    let check = u16::from_le_bytes([bytes[CRC_LEN], bytes[CRC_LEN + 1]]);
    let whole = check == crc32c(&bytes[PREFIX..header_len]) as u16 ^ mask.at(offset).1;
    (whole && body_len <= MAX_BODY as u64).then_some(Parsed { entry, header_len, body_len: body_len as usize })
}

/// Whether `whole`, a complete entry, matches its CRC.
#[inline]
pub(crate) fn verify(whole: &[u8], mask: Mask, offset: u64) -> bool {
    let Some((crc, rest)) = whole.split_first_chunk() else {
        return false;
    };
    u32::from_le_bytes(*crc) == crc32c(rest) ^ mask.at(offset).0
}

fn parse_fields(kind: u8, body_len: u64, fields: &mut Fields<'_>) -> Option<Entry> {
    Some(match kind {
        KIND_GROUP => Entry::Group { proven: fields.next()? },
        KIND_DEFINE => Entry::Define {
            stream: fields.next_u32()?,
            base: fields.next()?,
            next: Position { number: fields.next()?, offset: fields.next_u32()? },
        },
        KIND_GAP => Entry::Gap {
            stream: fields.next_u32()?,
            next: fields.next()?,
            below: fields.next()?,
            reason: u8::try_from(fields.next()?).ok()?,
            arrival_us: fields.next()?,
        },
        KIND_FREED => Entry::Freed { stream: fields.next_u32()?, below: fields.next()? },
        KIND_VOID => Entry::Void,
        _ if kind & KIND_MASK == KIND_CHUNK => {
            let (begins, ends) = (kind & BEGINS_INSIDE != 0, kind & ENDS_INSIDE != 0);
            if kind != KIND_CHUNK | kind & (BEGINS_INSIDE | ENDS_INSIDE) {
                return None;
            }
            let stream = fields.next_u32()?;
            let number = fields.next()?;
            let records = fields.next_u32()?;
            let arrival_us = fields.next()?;
            let (offset, first_record) = if begins { (fields.next_u32()?, fields.next_u32()?) } else { (0, 0) };
            let end_offset = if ends { fields.next_u32()? } else { 0 };
            let end_number = ChunkHead::end_number(number, records, begins, ends)?;
            if begins != (offset > 0) || ends != (end_offset > 0) || u64::from(first_record) > body_len {
                return None;
            }
            Entry::Chunk(ChunkHead {
                stream,
                from: Position { number, offset },
                to: Position { number: end_number, offset: end_offset },
                first_record,
                records,
                arrival_us,
            })
        }
        _ => return None,
    })
}

/// The varints of a header, one after another.
struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Fields<'_> {
    #[inline]
    fn next(&mut self) -> Option<u64> {
        let (value, len) = varint::read(self.bytes.get(self.at..)?)?;
        self.at += len;
        Some(value)
    }

    #[inline]
    fn next_u32(&mut self) -> Option<u32> {
        u32::try_from(self.next()?).ok()
    }
}

#[cfg(test)]
mod tests;
