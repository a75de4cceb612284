//! An input taken apart into records: lines or frames, however it comes in pieces. Reading is the caller's.

use memchr::memchr;

/// What is read at once.
const READ_BYTES: usize = 256 << 10;
/// Bytes of a frame's length.
const FRAME_HEAD: usize = 4;

/// Where a record begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Every line is a record, its newline included; the last may have none.
    Lines,
    /// Every record follows its length: 4 bytes, the most significant first.
    Frames,
}

/// Why records end before their input does; both with the number of the record that it is, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is larger than the limit.
    Large(u64),
    /// The input ends within it.
    CutShort(u64),
}

/// Input that was read, and where it is cut.
#[derive(Debug)]
pub struct Cutter {
    form: Form,
    limit: u32,
    bytes: Vec<u8>,
    /// What lies between is read and not yet cut.
    at: usize,
    end: usize,
    /// So much of it has no newline.
    searched: usize,
    over: bool,
    records: u64,
}

impl Cutter {
    /// Takes records of up to `limit` bytes.
    #[must_use]
    pub fn new(form: Form, limit: u32) -> Self {
        Self { form, limit, bytes: Vec::new(), at: 0, end: 0, searched: 0, over: false, records: 0 }
    }

    /// Where more of the input is to be read to. A record that is longer than what is read at once makes it grow, at most to a
    /// small multiple of the limit.
    #[must_use]
    pub fn room(&mut self) -> &mut [u8] {
        if self.bytes.len() - self.end < READ_BYTES / 2 {
            self.bytes.copy_within(self.at..self.end, 0);
            (self.at, self.end) = (0, self.end - self.at);
            let wanted = (2 * self.end).max(READ_BYTES);
            if self.bytes.len() < wanted {
                self.bytes.resize(wanted, 0);
            }
        }
        &mut self.bytes[self.end..]
    }

    /// So many bytes were read there; 0 says that the input is over.
    pub fn filled(&mut self, read: usize) {
        self.end = self.bytes.len().min(self.end + read);
        self.over |= read == 0;
    }

    /// Whether the input is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// The next record that is whole; none where more must be read first, or at the end.
    ///
    /// # Errors
    /// [`Fault`]: nothing comes after it.
    #[inline]
    pub fn cut(&mut self) -> Result<Option<&[u8]>, Fault> {
        let found = match self.form {
            Form::Lines => self.line()?,
            Form::Frames => self.frame()?,
        };
        let Some((head, len)) = found else { return Ok(None) };
        let begin = self.at + head;
        (self.at, self.searched) = (begin + len, 0);
        self.records += 1;
        Ok(Some(&self.bytes[begin..self.at]))
    }

    /// The length of the next line.
    #[inline]
    fn line(&mut self) -> Result<Option<(usize, usize)>, Fault> {
        let rest = &self.bytes[self.at..self.end];
        let len = match memchr(b'\n', &rest[self.searched..]) {
            Some(newline) => self.searched + newline + 1,
            // What is too long already need not be read to its end.
            None if rest.len() > self.limit as usize => return Err(self.large()),
            None if self.over && !rest.is_empty() => rest.len(),
            None => {
                self.searched = rest.len();
                return Ok(None);
            }
        };
        if len > self.limit as usize { Err(self.large()) } else { Ok(Some((0, len))) }
    }

    /// The lengths of the next frame's head and record.
    #[inline]
    fn frame(&self) -> Result<Option<(usize, usize)>, Fault> {
        let rest = &self.bytes[self.at..self.end];
        if let Some((head, after)) = rest.split_first_chunk::<FRAME_HEAD>() {
            let len = u32::from_be_bytes(*head);
            if len > self.limit {
                return Err(self.large());
            }
            if len as usize <= after.len() {
                return Ok(Some((FRAME_HEAD, len as usize)));
            }
        }
        if self.over && !rest.is_empty() { Err(Fault::CutShort(self.records + 1)) } else { Ok(None) }
    }

    fn large(&self) -> Fault {
        Fault::Large(self.records + 1)
    }
}

/// Appends a record as a frame. One of 4 GiB or more has no frame: nothing is appended, and the answer is false.
#[must_use]
pub fn push_frame(out: &mut Vec<u8>, record: &[u8]) -> bool {
    let Ok(len) = u32::try_from(record.len()) else { return false };
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(record);
    true
}
