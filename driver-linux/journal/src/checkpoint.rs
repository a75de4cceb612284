//! The two checkpoint files, written alternately (`core/docs/storage.md` §5).

mod load;

use std::io;

pub(crate) use load::{Loaded, load};

use crate::seal::{Running, crc32c};
use crate::segment::Before;
use crate::store::{Store, StoreFile, SyncSite};
use crate::streams::{Slot, Stream, Streams};
use crate::varint;

/// The two files.
pub(crate) const FILES: [&str; 2] = ["checkpoint-a", "checkpoint-b"];

const MAGIC: [u8; 8] = *b"tallychk";
const VERSION: u32 = 1;
const HEADER_LEN: usize = 80;
/// The table begins here, a sector behind the header.
const BODY_AT: u64 = 512;
/// How much of the table is written or read at once.
const PIECE: usize = 64 << 10;
/// Flags of an epoch in a row: the stream's last definition names it; nothing of it is stored yet.
const CURRENT: u8 = 1;
const UNSTORED: u8 = 2;
/// The least size of a checkpoint file: preallocated, so that a full disk does not stop it.
const LEAST_SIZE: u64 = 64 << 10;

/// A checkpoint's fixed part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) journal: u64,
    /// The higher of the two is the later.
    pub(crate) sequence: u64,
    /// Segments below this are given up: retention may have deleted them.
    pub(crate) oldest: u64,
    /// Everything before this place is in the table.
    pub(crate) covered: Before,
    /// No segment with this id or a higher one was made before.
    pub(crate) next_segment: u64,
}

/// Writes a checkpoint over the file in `slot` and syncs it; its length.
///
/// The caller has made sure that the other slot is synced.
pub(crate) fn write<S: Store>(store: &S, slot: usize, summary: &Summary, streams: &Streams) -> io::Result<u64> {
    let name = FILES[slot];
    let (mut file, created) = match store.open(name, true) {
        Ok(file) => (file, false),
        Err(e) if e.kind() == io::ErrorKind::NotFound => (store.create(name)?, true),
        Err(e) => return Err(e),
    };
    if file.size()? < LEAST_SIZE {
        file.allocate(LEAST_SIZE)?;
    }
    let mut table =
        Table { file: &mut file, piece: Vec::with_capacity(PIECE + 1024), at: BODY_AT, crc: Running::new() };
    for (id, stream) in streams.iter() {
        table.put(id, stream, streams.name(stream))?;
    }
    let (body_len, body_crc) = table.finish()?;
    file.write_at(&header(summary, body_len, body_crc), 0)?;
    let len = BODY_AT + body_len;
    file.sync(SyncSite::Checkpoint)?;
    if created {
        store.sync_names(SyncSite::CheckpointNames)?;
    }
    Ok(len)
}

/// Gives the files room to grow before that is needed, as far as the disk has it; `len` is a checkpoint's length.
pub(crate) fn make_room<S: Store>(store: &S, len: u64) {
    for name in FILES {
        let Ok(mut file) = store.open(name, true) else { continue };
        if file.size().is_ok_and(|size| size < len + len / 2) {
            // This one was written without; the next tries again.
            let _ = file.allocate(len * 2);
        }
    }
}

fn header(summary: &Summary, body_len: u64, body_crc: u32) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..16].copy_from_slice(&body_crc.to_le_bytes());
    let Summary { journal, sequence, oldest, covered, next_segment } = *summary;
    let numbers = [journal, sequence, oldest, covered.segment, covered.counted, next_segment, body_len];
    for (field, number) in header[16..72].chunks_exact_mut(8).zip(numbers) {
        field.copy_from_slice(&number.to_le_bytes());
    }
    let crc = crc32c(&header[..HEADER_LEN - 4]);
    header[HEADER_LEN - 4..].copy_from_slice(&crc.to_le_bytes());
    header
}

/// The table of streams on its way to the file, piece by piece.
struct Table<'f, F> {
    file: &'f mut F,
    piece: Vec<u8>,
    at: u64,
    crc: Running,
}

impl<F: StoreFile> Table<'_, F> {
    fn put(&mut self, id: u32, stream: &Stream, name: &[u8]) -> io::Result<()> {
        // What follows may go on with an epoch that has no whole record yet, without defining it again.
        let slots = || stream.epochs.iter().filter(|slot| slot.remembered || slot.current);
        let count = slots().count();
        if count == 0 {
            return Ok(());
        }
        self.varint(u64::from(id));
        self.piece.extend_from_slice(&stream.peer);
        self.piece.push(name.len() as u8);
        self.piece.extend_from_slice(name);
        self.varint(stream.index_end);
        self.varint(count as u64);
        for slot in slots() {
            self.put_slot(slot);
        }
        if self.piece.len() >= PIECE {
            self.write_out()?;
        }
        Ok(())
    }

    fn put_slot(&mut self, slot: &Slot) {
        self.piece.extend_from_slice(&slot.epoch);
        self.varint(slot.base);
        self.varint(slot.next().number);
        self.varint(u64::from(slot.next().offset));
        let current = if slot.current { CURRENT } else { 0 };
        let unstored = if slot.remembered { 0 } else { UNSTORED };
        self.piece.push(current | unstored);
        self.varint(slot.freed);
    }

    fn varint(&mut self, value: u64) {
        let mut bytes = [0; 8];
        let len = varint::write(value, &mut bytes);
        self.piece.extend_from_slice(&bytes[..len]);
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.file.write_at(&self.piece, self.at)?;
        self.at += self.piece.len() as u64;
        self.crc.update(&self.piece);
        self.piece.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<(u64, u32)> {
        self.write_out()?;
        Ok((self.at - BODY_AT, self.crc.value()))
    }
}
