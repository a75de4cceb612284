//! Segment files: their names and headers (`core/docs/storage.md` §3).

use std::io;

use crate::seal::crc32c;
use crate::store::{Store, StoreFile, read_full};

/// Entries begin here.
pub(crate) const ENTRIES_AT: u64 = 4096;

const MAGIC: [u8; 8] = *b"tallyseg";
const VERSION: u32 = 1;
const HEADER_LEN: usize = 64;
/// The header stands twice, a sector apart, so that one bad sector does not hide a segment.
const COPY_AT: usize = 2048;
const SUFFIX: &str = ".segment";
const ID_DIGITS: usize = 16;

/// What a segment says of itself and of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) journal: u64,
    pub(crate) segment: u64,
    /// The segment before and how much of it counts; zeros for the first.
    pub(crate) before: Before,
    /// Arrival of the first entry.
    pub(crate) created_us: u64,
}

/// A segment and how much of it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Before {
    pub(crate) segment: u64,
    pub(crate) counted: u64,
}

/// What reading a header may find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Header(Header),
    /// Neither copy is whole.
    Damaged,
    /// Whole, but of a version this program does not know.
    Version(u32),
}

impl Header {
    /// Where it stands, twice.
    pub(crate) const COPIES: [u64; 2] = [0, COPY_AT as u64];

    /// The first [`ENTRIES_AT`] bytes of the segment.
    pub(crate) fn to_block(self) -> Vec<u8> {
        let header = self.to_bytes();
        let mut block = vec![0; ENTRIES_AT as usize];
        block[..HEADER_LEN].copy_from_slice(&header);
        block[COPY_AT..COPY_AT + HEADER_LEN].copy_from_slice(&header);
        block
    }

    /// One copy.
    pub(crate) fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut header = [0; HEADER_LEN];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let numbers = [self.journal, self.segment, self.before.segment, self.before.counted, self.created_us];
        for (field, number) in header[16..56].chunks_exact_mut(8).zip(numbers) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        let crc = crc32c(&header[..HEADER_LEN - 4]);
        header[HEADER_LEN - 4..].copy_from_slice(&crc.to_le_bytes());
        header
    }

    /// Reads the header of an open segment that its name says is `segment`.
    pub(crate) fn read<F: StoreFile>(file: &F, segment: u64) -> io::Result<Found> {
        let mut found = Found::Damaged;
        for at in Self::COPIES {
            found = Self::read_copy(file, segment, at)?;
            if found != Found::Damaged {
                break;
            }
        }
        Ok(found)
    }

    /// Which copies say the same as the first whole one.
    pub(crate) fn whole_copies<F: StoreFile>(file: &F, segment: u64) -> io::Result<[bool; 2]> {
        let told = Self::read(file, segment)?;
        let [a, b] = Self::COPIES;
        let is_whole = |found| found == told && told != Found::Damaged;
        Ok([is_whole(Self::read_copy(file, segment, a)?), is_whole(Self::read_copy(file, segment, b)?)])
    }

    fn read_copy<F: StoreFile>(file: &F, segment: u64, at: u64) -> io::Result<Found> {
        let mut bytes = [0; HEADER_LEN];
        if read_full(file, &mut bytes, at)? < HEADER_LEN {
            return Ok(Found::Damaged);
        }
        Ok(match Self::parse(&bytes) {
            Found::Header(header) if header.segment != segment => Found::Damaged,
            found => found,
        })
    }

    fn parse(bytes: &[u8; HEADER_LEN]) -> Found {
        let (body, crc) = bytes.split_at(HEADER_LEN - 4);
        if body[..8] != MAGIC || crc != crc32c(body).to_le_bytes() {
            return Found::Damaged;
        }
        let version = u32::from_le_bytes([body[8], body[9], body[10], body[11]]);
        if version != VERSION {
            return Found::Version(version);
        }
        let mut numbers = [0; 5];
        for (number, field) in numbers.iter_mut().zip(body[16..56].as_chunks().0) {
            *number = u64::from_le_bytes(*field);
        }
        let [journal, segment, before, counted, created_us] = numbers;
        Found::Header(Self { journal, segment, before: Before { segment: before, counted }, created_us })
    }
}

/// The file name of segment `id`.
pub(crate) fn name(id: u64) -> String {
    format!("{id:0ID_DIGITS$x}{SUFFIX}")
}

/// The ids of all segment files, ascending.
pub(crate) fn list<S: Store>(store: &S) -> io::Result<Vec<u64>> {
    let mut ids: Vec<u64> = store.names()?.iter().filter_map(|name| id_of(name)).collect();
    ids.sort_unstable();
    Ok(ids)
}

fn id_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(SUFFIX)?;
    let plain = digits.len() == ID_DIGITS && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests;
