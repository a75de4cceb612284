//! Reading lines of a file in bounded memory, from any place on.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use zeroize::Zeroizing;

use super::line::{self, BadLine, Line};

/// Where a line lies in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) at: u64,
    /// Without the line's end.
    pub(super) len: u64,
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// Which line of the file, counted from 1.
    pub line: u64,
    /// Why.
    pub reason: BadLine,
    pub(super) place: Extent,
}

impl Damaged {
    /// The bytes of the file that it has, its end not counted.
    pub fn place(&self) -> Range<u64> {
        self.place.at..self.place.at + self.place.len
    }
}

/// Between two lines of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) at: u64,
    /// The line that begins here, counted from 1.
    pub(super) line: u64,
}

impl Place {
    pub(super) const START: Self = Self { at: 0, line: 1 };
}

/// A line as it was found.
pub(super) struct RawLine<'a> {
    pub(super) number: u64,
    pub(super) place: Extent,
    /// Nothing if the line is longer than any that was ever written.
    text: Option<&'a [u8]>,
    /// It is only a line's end, and a damaged one.
    is_end: bool,
}

impl<'a> RawLine<'a> {
    /// What it says.
    pub(super) fn decode(&self) -> Result<Line, BadLine> {
        if self.is_end { Err(BadLine::End) } else { line::decode(self.text) }
    }

    /// Hands it on; as the lines that it was, if their ends are what is damaged.
    fn hand_on(self, each: &mut impl FnMut(RawLine<'a>)) {
        let Self { number, place, .. } = self;
        let Some((text, at)) = self.text.and_then(|text| Some((text, line::joined_at(text)?))) else {
            return each(self);
        };
        let part = |from: usize, to: usize| RawLine {
            number,
            place: Extent { at: place.at + from as u64, len: (to - from) as u64 },
            text: Some(&text[from..to]),
            is_end: false,
        };
        part(0, at - 1).hand_on(each);
        each(RawLine { is_end: true, ..part(at - 1, at) });
        each(part(at, text.len()));
    }
}

const BUFFER_BYTES: usize = 64 << 10;
const _: () = assert!(line::LONGEST < BUFFER_BYTES);

/// Hands on every complete line from a place on; the place after the last one comes back.
pub(super) fn scan(file: &File, from: Place, mut each: impl FnMut(RawLine<'_>)) -> io::Result<Place> {
    let mut buffer = Zeroizing::new(vec![0; BUFFER_BYTES]);
    let (mut next, mut filled) = (from, 0);
    let mut begun_before = None; // where a line longer than the buffer begins
    loop {
        let at = next.at + filled as u64;
        let read = match file.read_at(&mut buffer[filled..], at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            let rest = &buffer[..filled];
            if begun_before.is_none() && line::ends_broken(rest) {
                let (end, line) = (filled as u64 - 1, &rest[..filled - 1]);
                let place = Extent { at: next.at, len: end };
                RawLine { number: next.line, place, text: Some(line), is_end: false }.hand_on(&mut each);
                let place = Extent { at: next.at + end, len: 1 };
                each(RawLine { number: next.line, place, text: None, is_end: true });
                return Ok(Place { at: next.at + filled as u64, line: next.line + 1 });
            }
            return Ok(Place { at: begun_before.unwrap_or(next.at), ..next });
        }
        filled += read;
        let mut used = 0;
        while let Some(len) = buffer[used..filled].iter().position(|byte| *byte == b'\n') {
            let text = &buffer[used..used + len];
            let end = next.at + len as u64;
            let begin = begun_before.take();
            let place = Extent { at: begin.unwrap_or(next.at), len: end - begin.unwrap_or(next.at) };
            let text = begin.is_none().then_some(text);
            RawLine { number: next.line, place, text, is_end: false }.hand_on(&mut each);
            next = Place { at: end + 1, line: next.line + 1 };
            used += len + 1;
        }
        buffer.copy_within(used..filled, 0);
        filled -= used;
        if filled == buffer.len() {
            begun_before.get_or_insert(next.at);
            next.at += filled as u64;
            filled = 0;
        }
    }
}
