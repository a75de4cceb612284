//! The one cursor: all slice arithmetic of the codec is here, and none of it can panic.

use super::varint;

/// Bytes that do not follow `core/docs/wire-format.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// A buffer is too small, or a value has no encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// Reads from the front of a byte slice.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the front of `bytes`.
    #[must_use]
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been read yet.
    #[must_use]
    #[inline]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// True when everything has been read.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// [`Malformed`] when fewer remain.
    #[inline]
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let (front, rest) = self.rest.split_at_checked(n).ok_or(Malformed)?;
        self.rest = rest;
        Ok(front)
    }

    /// The next `N` bytes as an array.
    ///
    /// # Errors
    /// [`Malformed`] when fewer remain.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (front, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*front)
    }

    /// One byte.
    ///
    /// # Errors
    /// [`Malformed`] at the end.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[b]| b)
    }

    /// A 16-bit number in network byte order.
    ///
    /// # Errors
    /// [`Malformed`] when fewer than 2 bytes remain.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    /// A 32-bit number in network byte order.
    ///
    /// # Errors
    /// [`Malformed`] when fewer than 4 bytes remain.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    /// A 64-bit number in network byte order.
    ///
    /// # Errors
    /// [`Malformed`] when fewer than 8 bytes remain.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_be_bytes)
    }

    /// A varint in its minimal form (wire-format §2).
    ///
    /// # Errors
    /// [`Malformed`] when it is cut short or not minimal.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, Malformed> {
        let (value, length) = varint::decode(self.rest)?;
        self.rest = self.rest.get(length..).ok_or(Malformed)?;
        Ok(value)
    }

    /// A varint of at most `largest`.
    ///
    /// # Errors
    /// [`Malformed`] as [`Reader::varint`], or when the value is above `largest`.
    #[inline]
    pub fn varint_to(&mut self, largest: u64) -> Result<u64, Malformed> {
        self.varint().and_then(|v| if v <= largest { Ok(v) } else { Err(Malformed) })
    }
}

/// Writes to the front of a byte slice.
#[derive(Debug)]
pub struct Writer<'a> {
    buf: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    /// Starts at the front of `buf`.
    #[inline]
    pub const fn new(buf: &'a mut [u8]) -> Self {
        Self { buf, at: 0 }
    }

    /// How many bytes have been written.
    #[must_use]
    #[inline]
    pub const fn written(&self) -> usize {
        self.at
    }

    /// How many more bytes fit.
    #[must_use]
    #[inline]
    pub const fn room(&self) -> usize {
        self.buf.len().saturating_sub(self.at)
    }

    /// The next `n` bytes, for the caller to fill.
    ///
    /// # Errors
    /// [`NoRoom`] when fewer remain; nothing is written then.
    #[inline]
    pub fn space(&mut self, n: usize) -> Result<&mut [u8], NoRoom> {
        let end = self.at.checked_add(n).ok_or(NoRoom)?;
        let space = self.buf.get_mut(self.at..end).ok_or(NoRoom)?;
        self.at = end;
        Ok(space)
    }

    /// Copies `bytes`.
    ///
    /// # Errors
    /// [`NoRoom`] when they do not fit; nothing is written then.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        self.space(bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    /// One byte.
    ///
    /// # Errors
    /// [`NoRoom`] when full.
    #[inline]
    pub fn u8(&mut self, value: u8) -> Result<(), NoRoom> {
        self.bytes(&[value])
    }

    /// A 16-bit number in network byte order.
    ///
    /// # Errors
    /// [`NoRoom`] when it does not fit.
    #[inline]
    pub fn u16(&mut self, value: u16) -> Result<(), NoRoom> {
        self.bytes(&value.to_be_bytes())
    }

    /// A 32-bit number in network byte order.
    ///
    /// # Errors
    /// [`NoRoom`] when it does not fit.
    #[inline]
    pub fn u32(&mut self, value: u32) -> Result<(), NoRoom> {
        self.bytes(&value.to_be_bytes())
    }

    /// A 64-bit number in network byte order.
    ///
    /// # Errors
    /// [`NoRoom`] when it does not fit.
    #[inline]
    pub fn u64(&mut self, value: u64) -> Result<(), NoRoom> {
        self.bytes(&value.to_be_bytes())
    }

    /// A varint in its minimal form.
    ///
    /// # Errors
    /// [`NoRoom`] when it does not fit or is above [`varint::MAX`].
    #[inline]
    pub fn varint(&mut self, value: u64) -> Result<(), NoRoom> {
        // Each length is known to the compiler: no copy of unknown length.
        match (varint::len(value), value.to_be_bytes()) {
            (1, [.., a]) => self.bytes(&[a]),
            (2, [.., a, b]) => self.bytes(&[a | 0x40, b]),
            (4, [.., a, b, c, d]) => self.bytes(&[a | 0x80, b, c, d]),
            (_, [a, b, c, d, e, f, g, h]) if value <= varint::MAX => self.bytes(&[a | 0xc0, b, c, d, e, f, g, h]),
            _ => Err(NoRoom),
        }
    }

    /// Everything written so far.
    #[must_use]
    #[inline]
    pub fn into_written(self) -> &'a mut [u8] {
        let Self { buf, at } = self;
        buf.get_mut(..at).unwrap_or_default()
    }
}
