//! Parcels: the records that one push handed over at a time (storage §11.2).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crc_fast::{CrcAlgorithm, checksum};

use super::place::{names_in, private, sync_dir};

const MAGIC: &[u8; 8] = b"tallypsh";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 32;
/// The one file that is being written; whoever holds the lock may write it anew.
const UNFINISHED: &str = ".unfinished";
const WAITS: &str = "push";
const ASIDE: &str = "damaged";

/// A parcel on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parcel {
    dir: PathBuf,
    /// Parcels of a stream are taken in the order of their numbers.
    pub(crate) number: u64,
    /// How many records the outbox had ever held when it began to take this one, if it did.
    pub(crate) taken_at: Option<u64>,
}

/// What a parcel says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    crc: u32,
}

/// A parcel was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unusable {
    /// The disk failed, or it is gone.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is not as it was written.
    #[error("it is damaged")]
    Damaged,
}

/// Puts records into a new parcel behind all others, durable when this returns; needs the peer's lock.
///
/// # Errors
/// Nothing was put, as far as the disk can be believed.
pub(crate) fn put(dir: &Path, records: u64, packed: &[u8]) -> io::Result<()> {
    let number = parcels(dir)?.last().map_or(0, |last| last.number + 1);
    let parcel = Parcel { dir: dir.to_owned(), number, taken_at: None };
    let unfinished = dir.join(UNFINISHED);
    let mut file = private(OpenOptions::new().create(true).truncate(true)).open(&unfinished)?;
    file.write_all(&header(records, packed))?;
    file.write_all(packed)?;
    file.sync_all()?;
    fs::rename(&unfinished, parcel.path())?;
    sync_dir(dir).inspect_err(|_| {
        // What nobody was told of should not be sent; it may have been taken already.
        let _ = fs::remove_file(parcel.path());
    })
}

/// The parcels in a directory, in order.
pub(crate) fn parcels(dir: &Path) -> io::Result<Vec<Parcel>> {
    let mut found: Vec<_> = names_in(dir)?.iter().filter_map(|name| Parcel::named(dir, name)).collect();
    found.sort_by_key(|parcel| parcel.number);
    Ok(found)
}

impl Parcel {
    fn named(dir: &Path, name: &str) -> Option<Self> {
        let mut parts = name.split('.');
        let number: u64 = parts.next()?.parse().ok()?;
        if parts.next() != Some(WAITS) {
            return None;
        }
        let taken_at = parts.next().map(str::parse).transpose().ok()?;
        let parcel = Self { dir: dir.to_owned(), number, taken_at };
        (parcel.name() == name).then_some(parcel)
    }

    fn name(&self) -> String {
        let number = self.number;
        match self.taken_at {
            None => format!("{number:020}.{WAITS}"),
            Some(at) => format!("{number:020}.{WAITS}.{at}"),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.join(self.name())
    }

    /// What it holds, without reading all of it.
    pub(crate) fn head(&self) -> Result<Head, Unusable> {
        self.open().map(|(_, head)| head)
    }

    /// Its records, packed, and how many they are.
    pub(crate) fn read(&self) -> Result<(u64, Vec<u8>), Unusable> {
        let (mut file, head) = self.open()?;
        let mut packed = Vec::new();
        file.read_to_end(&mut packed)?;
        let whole = packed.len() as u64 == head.bytes && crc32c(&packed) == head.crc;
        if whole { Ok((head.records, packed)) } else { Err(Unusable::Damaged) }
    }

    /// Notes, durable when this returns, that the outbox had ever held `history` records before it takes these.
    pub(crate) fn mark(&mut self, history: u64) -> io::Result<()> {
        let marked = Self { taken_at: Some(history), ..self.clone() };
        fs::rename(self.path(), marked.path())?;
        *self = marked;
        sync_dir(&self.dir)
    }

    /// Removes it. Should it come back after a power cut, its mark tells that it was taken.
    pub(crate) fn remove(&self) -> io::Result<()> {
        fs::remove_file(self.path())
    }

    /// Puts it aside, so that those behind it can be taken. Its new name comes back.
    pub(crate) fn set_aside(&self) -> io::Result<PathBuf> {
        let aside = self.dir.join(format!("{:020}.{ASIDE}", self.number));
        fs::rename(self.path(), &aside)?;
        Ok(aside)
    }

    fn open(&self) -> Result<(File, Head), Unusable> {
        let mut file = File::open(self.path())?;
        let mut bytes = [0; HEADER_BYTES];
        match file.read_exact(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(Unusable::Damaged),
            read => read?,
        }
        let long = |at: usize| bytes[at..at + 8].iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte));
        let short = |at: usize| bytes[at..at + 4].iter().rev().fold(0, |n, byte| n << 8 | u32::from(*byte));
        if !bytes.starts_with(MAGIC) || short(8) != VERSION || short(28) != crc32c(&bytes[..28]) {
            return Err(Unusable::Damaged);
        }
        Ok((file, Head { records: u64::from(short(12)), bytes: long(16), crc: short(24) }))
    }
}

fn header(records: u64, packed: &[u8]) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend(VERSION.to_le_bytes());
    // A parcel has at most a few MiB.
    header.extend((records as u32).to_le_bytes());
    header.extend((packed.len() as u64).to_le_bytes());
    header.extend(crc32c(packed).to_le_bytes());
    header.extend(crc32c(&header).to_le_bytes());
    header
}

fn crc32c(bytes: &[u8]) -> u32 {
    // A 32-bit algorithm answers in the low half.
    checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

#[cfg(test)]
mod tests;
