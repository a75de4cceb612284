//! Variable-length integers of RFC 9000 §16, in minimal form only (wire-format §2).

use super::cursor::{Malformed, NoRoom};

/// The largest value a varint holds: 2^62 − 1.
pub const MAX: u64 = (1 << 62) - 1;

/// How many bytes `value` takes: 1, 2, 4 or 8. Values above [`MAX`] have no encoding; they are counted as 8.
#[must_use]
#[inline]
pub const fn len(value: u64) -> usize {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

/// Reads one varint from the front of `bytes` and returns it with its length.
///
/// # Errors
/// [`Malformed`] when `bytes` ends inside it, or when a shorter form of the same value exists.
#[inline]
pub fn decode(bytes: &[u8]) -> Result<(u64, usize), Malformed> {
    match bytes {
        [a, ..] if *a < 0x40 => Ok((u64::from(*a), 1)),
        [a, b, ..] if *a < 0x80 => minimal(u64::from(u16::from_be_bytes([*a & 0x3f, *b])), 2),
        [a, b, c, d, ..] if *a & 0xc0 == 0x80 => minimal(u64::from(u32::from_be_bytes([*a & 0x3f, *b, *c, *d])), 4),
        [a, b, c, d, e, f, g, h, ..] if *a & 0xc0 == 0xc0 => {
            minimal(u64::from_be_bytes([*a & 0x3f, *b, *c, *d, *e, *f, *g, *h]), 8)
        }
        _ => Err(Malformed),
    }
}

#[inline]
fn minimal(value: u64, length: usize) -> Result<(u64, usize), Malformed> {
    if len(value) == length { Ok((value, length)) } else { Err(Malformed) }
}

/// The bytes of one varint, without a heap.
#[derive(Clone, Copy, Debug)]
pub struct Encoded {
    bytes: [u8; 8],
    len: u8,
}

impl Encoded {
    /// The bytes to write.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&[])
    }
}

/// Encodes `value` in its minimal form.
///
/// # Errors
/// [`NoRoom`] when `value` is above [`MAX`].
#[inline]
pub fn encode(value: u64) -> Result<Encoded, NoRoom> {
    let mut bytes = [0; 8];
    let len = len(value);
    match (len, value.to_be_bytes()) {
        (1, [.., a]) => bytes[0] = a,
        (2, [.., a, b]) => (bytes[0], bytes[1]) = (a | 0x40, b),
        (4, [.., a, b, c, d]) => {
            (bytes[0], bytes[1], bytes[2], bytes[3]) = (a | 0x80, b, c, d);
        }
        (_, all) if value <= MAX => {
            bytes = all;
            bytes[0] |= 0xc0;
        }
        _ => return Err(NoRoom),
    }
    Ok(Encoded { bytes, len: len as u8 })
}
