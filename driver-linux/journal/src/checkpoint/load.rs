//! Reading checkpoints back.

use std::io;

use super::{BODY_AT, CURRENT, FILES, HEADER_LEN, MAGIC, PIECE, Summary, UNSTORED, VERSION};
use crate::chunk::Position;
use crate::entry::MAX_NAME;
use crate::halt::Halt;
use crate::options::Options;
use crate::seal::{Running, crc32c};
use crate::segment::Before;
use crate::store::{Store, StoreFile, read_full};
use crate::streams::{Slot, Streams};
use crate::varint;

/// The longest row of the table.
const MAX_ROW: usize = 8 + 8 + 1 + MAX_NAME + 8 + 8 + Options::MOST_EPOCHS * (8 + 4 * 8 + 1);
const _: () = assert!(MAX_ROW <= PIECE);

/// What the two files hold.
pub(crate) struct Loaded {
    /// The later of the whole ones, with its slot and the streams of its table.
    pub(crate) newest: Option<(usize, Summary, Streams)>,
    /// Which files are whole.
    pub(crate) whole: [bool; 2],
    /// How many are there and not whole: torn while written, or damaged.
    pub(crate) broken: u32,
    /// A version this program does not know, and its file.
    pub(crate) unknown: Option<(usize, u32)>,
}

/// Reads both checkpoints.
pub(crate) fn load<S: Store>(store: &S, most_epochs: usize, stop: &Halt) -> io::Result<Loaded> {
    let mut loaded = Loaded { newest: None, whole: [false; 2], broken: 0, unknown: None };
    let mut found: Vec<(usize, S::File, Head)> = Vec::new();
    for (slot, name) in FILES.into_iter().enumerate() {
        let file = match store.open(name, false) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(e),
        };
        let mut bytes = [0; HEADER_LEN];
        let whole = read_full(&file, &mut bytes, 0)? == HEADER_LEN;
        match whole.then(|| parse(&bytes)).flatten() {
            Some(Ok(head)) => found.push((slot, file, head)),
            Some(Err(version)) => loaded.unknown = Some((slot, version)),
            None => loaded.broken += 1,
        }
    }
    found.sort_by_key(|(_, _, head)| std::cmp::Reverse(head.summary.sequence));
    for (slot, file, head) in found {
        match table(&file, &head, most_epochs, stop)? {
            Some(streams) => {
                loaded.whole[slot] = true;
                loaded.newest.get_or_insert((slot, head.summary, streams));
            }
            None => loaded.broken += 1,
        }
    }
    Ok(loaded)
}

struct Head {
    summary: Summary,
    body_len: u64,
    body_crc: u32,
}

/// `None` if the header is not whole, the version if that is unknown.
fn parse(bytes: &[u8; HEADER_LEN]) -> Option<Result<Head, u32>> {
    let (body, crc) = bytes.split_at(HEADER_LEN - 4);
    if body[..8] != MAGIC || crc != crc32c(body).to_le_bytes() {
        return None;
    }
    let (words, _) = body[8..16].as_chunks::<4>();
    let (version, body_crc) = (u32::from_le_bytes(words[0]), u32::from_le_bytes(words[1]));
    if version != VERSION {
        return Some(Err(version));
    }
    let mut numbers = [0; 7];
    for (number, field) in numbers.iter_mut().zip(body[16..72].as_chunks().0) {
        *number = u64::from_le_bytes(*field);
    }
    let [journal, sequence, oldest, segment, counted, next_segment, body_len] = numbers;
    let covered = Before { segment, counted };
    let summary = Summary { journal, sequence, oldest, covered, next_segment };
    Some(Ok(Head { summary, body_len, body_crc }))
}

/// The table of streams; `None` if it is not whole.
fn table<F: StoreFile>(file: &F, head: &Head, most_epochs: usize, stop: &Halt) -> io::Result<Option<Streams>> {
    if file.size()?.checked_sub(BODY_AT).is_none_or(|room| room < head.body_len) {
        return Ok(None);
    }
    let mut streams = Streams::new(most_epochs);
    let mut body = Body { file, at: BODY_AT, end: BODY_AT + head.body_len, piece: Vec::new(), crc: Running::new() };
    let mut used = 0;
    loop {
        if body.piece.len() - used < MAX_ROW {
            stop.check()?;
            body.fill(used)?;
            used = 0;
        }
        if body.piece.is_empty() {
            break;
        }
        match row(&body.piece[used..], &mut streams) {
            Some(len) => used += len,
            None => return Ok(None),
        }
        if used == body.piece.len() && body.at == body.end {
            break;
        }
    }
    Ok((body.crc.value() == head.body_crc).then_some(streams))
}

/// The bytes of the table, read piece by piece.
struct Body<'f, F> {
    file: &'f F,
    at: u64,
    end: u64,
    piece: Vec<u8>,
    crc: Running,
}

impl<F: StoreFile> Body<'_, F> {
    /// Drops the first `used` bytes of the piece and adds what the file has next.
    fn fill(&mut self, used: usize) -> io::Result<()> {
        self.piece.drain(..used);
        let kept = self.piece.len();
        let more = (self.end - self.at).min(PIECE as u64) as usize;
        self.piece.resize(kept + more, 0);
        let got = read_full(self.file, &mut self.piece[kept..], self.at)?;
        self.piece.truncate(kept + got);
        self.crc.update(&self.piece[kept..]);
        self.at += got as u64;
        Ok(())
    }
}

/// Takes one row from the front of `bytes`; its length, or `None` if there is none.
fn row(bytes: &[u8], streams: &mut Streams) -> Option<usize> {
    let mut row = Row { bytes };
    let id = u32::try_from(row.varint()?).ok()?;
    let peer = row.array()?;
    let name_len = usize::from(row.byte()?);
    let name = row.bytes.split_off(..name_len)?;
    if name_len > MAX_NAME || !streams.place(id, peer, name) {
        return None;
    }
    let stream = streams.get_mut(id)?;
    stream.index_end = row.varint()?;
    let mut slots = Vec::new();
    for _ in 0..row.varint()? {
        let epoch = row.array()?;
        let base = row.varint()?;
        let next = Position { number: row.varint()?, offset: u32::try_from(row.varint()?).ok()? };
        let flags = row.byte()?;
        let mut slot = Slot::restored(epoch, base, next, flags & CURRENT != 0, row.varint()?);
        slot.remembered = flags & UNSTORED == 0;
        slots.push(slot);
    }
    for slot in slots.into_iter().rev() {
        stream.epochs.push_front(slot);
    }
    Some(bytes.len() - row.bytes.len())
}

struct Row<'a> {
    bytes: &'a [u8],
}

impl Row<'_> {
    fn varint(&mut self) -> Option<u64> {
        let (value, len) = varint::read(self.bytes)?;
        self.bytes.split_off(..len)?;
        Some(value)
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes.split_off_first().copied()
    }

    fn array(&mut self) -> Option<[u8; 8]> {
        self.bytes.split_off(..8)?.try_into().ok()
    }
}
