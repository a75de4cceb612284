//! Variable-length integers of RFC 9000 §16, minimal form required.

/// The largest value that fits.
pub(crate) const MAX: u64 = (1 << 62) - 1;

/// Reads one integer from the front of `bytes`: its value and its length.
///
/// `None` if the bytes end too early or the form is longer than needed.
#[inline]
pub(crate) fn read(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    let (value, len) = match first >> 6 {
        0 => return Some((u64::from(first), 1)),
        1 => {
            let b: [u8; 2] = bytes.get(..2)?.try_into().ok()?;
            (u64::from(u16::from_be_bytes(b)) & 0x3fff, 2)
        }
        2 => {
            let b: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
            (u64::from(u32::from_be_bytes(b)) & 0x3fff_ffff, 4)
        }
        _ => {
            let b: [u8; 8] = bytes.get(..8)?.try_into().ok()?;
            (u64::from_be_bytes(b) & MAX, 8)
        }
    };
    (size(value) == len).then_some((value, len))
}

/// How many bytes `value` takes.
#[inline]
pub(crate) fn size(value: u64) -> usize {
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// Writes `value` to the front of `out` and returns its length. `value` is at most [`MAX`].
#[inline]
pub(crate) fn write(value: u64, out: &mut [u8]) -> usize {
    debug_assert!(value <= MAX, "callers check their numbers");
    let len = size(value);
    match len {
        1 => out[0] = value as u8,
        2 => out[..2].copy_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        4 => out[..4].copy_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out[..8].copy_from_slice(&(value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
    len
}

#[cfg(test)]
mod tests;
