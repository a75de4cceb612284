//! The file in which repair keeps the bytes of damaged places (`core/docs/storage.md` §9.2).

use std::collections::BTreeSet;
use std::io;

use crate::recover::Damage;
use crate::seal::Running;
use crate::store::{Store, StoreFile, SyncSite, read_full};

/// What it is called.
pub const SET_ASIDE_FILE: &str = "set-aside";

/// How much is copied at once.
const PIECE: usize = 256 << 10;

/// What is kept there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetAside {
    /// How many places.
    pub places: u64,
    /// How many bytes, their lines not counted.
    pub bytes: u64,
}

/// One item's line. The bytes follow, and a line's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    segment: u64,
    from: u64,
    to: u64,
    /// Fewer than `to - from` where the segment's file ends before.
    bytes: u64,
    crc: u32,
}

impl Item {
    const LEN: usize = "set-aside segment  from  to  bytes  crc32c \n".len() + 16 + 3 * 12 + 8;

    fn line(self) -> String {
        let Self { segment, from, to, bytes, crc } = self;
        format!("set-aside segment {segment:016x} from {from:012} to {to:012} bytes {bytes:012} crc32c {crc:08x}\n")
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let words: Vec<&str> = str::from_utf8(line).ok()?.split_ascii_whitespace().collect();
        let ["set-aside", "segment", segment, "from", from, "to", to, "bytes", bytes, "crc32c", crc] = words[..] else {
            return None;
        };
        let item = Self {
            segment: u64::from_str_radix(segment, 16).ok()?,
            from: from.parse().ok()?,
            to: to.parse().ok()?,
            bytes: bytes.parse().ok()?,
            crc: u32::from_str_radix(crc, 16).ok()?,
        };
        (item.line().as_bytes() == line).then_some(item)
    }
}

/// The file open for more.
pub(crate) struct Aside<F> {
    file: F,
    end: u64,
    items: BTreeSet<Item>,
}

impl<F: StoreFile> Aside<F> {
    /// Opens the file, or makes it, and cuts off what an earlier repair did not come to finish: the place that it was
    /// copied from is as it was.
    pub(crate) fn open<S: Store<File = F>>(store: &S) -> io::Result<Self> {
        let mut file = match store.open(SET_ASIDE_FILE, true) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => store.create(SET_ASIDE_FILE)?,
            opened => opened?,
        };
        store.sync_names(SyncSite::SetAsideName)?;
        let (items, end) = items(&file)?;
        if file.size()? > end {
            file.truncate(end)?;
        }
        Ok(Self { file, end, items: items.into_iter().collect() })
    }

    /// Appends what stands in a damaged place of `from`, unless the very same is kept already.
    pub(crate) fn put(&mut self, from: &F, place: Damage) -> io::Result<()> {
        let mut crc = Running::new();
        let bytes = each_piece(from, place.from, place.to, |piece| {
            crc.update(piece);
            Ok(())
        })?;
        let Damage { segment, from: start, to } = place;
        let item = Item { segment, from: start, to, bytes, crc: crc.value() };
        if !self.items.insert(item) {
            return Ok(());
        }
        let line = item.line();
        self.file.write_at(line.as_bytes(), self.end)?;
        let mut at = self.end + line.len() as u64;
        each_piece(from, start, start + bytes, |piece| {
            self.file.write_at(piece, at)?;
            at += piece.len() as u64;
            Ok(())
        })?;
        self.file.write_at(b"\n", at)?;
        self.end = at + 1;
        Ok(())
    }

    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.file.sync(SyncSite::SetAside)
    }
}

/// What is kept, for a report.
pub(crate) fn kept<S: Store>(store: &S) -> io::Result<SetAside> {
    let file = match store.open(SET_ASIDE_FILE, false) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(SetAside::default()),
        opened => opened?,
    };
    let (items, _) = items(&file)?;
    Ok(SetAside { places: items.len() as u64, bytes: items.iter().map(|item| item.bytes).sum() })
}

/// Every whole item, and where the last of them ends.
fn items<F: StoreFile>(file: &F) -> io::Result<(Vec<Item>, u64)> {
    let (mut items, mut at) = (Vec::new(), 0);
    loop {
        let mut line = [0; Item::LEN];
        let whole = read_full(file, &mut line, at)? == line.len();
        let Some(item) = Item::parse(&line).filter(|_| whole) else { break };
        let start = at + line.len() as u64;
        let mut crc = Running::new();
        let got = each_piece(file, start, start.saturating_add(item.bytes), |piece| {
            crc.update(piece);
            Ok(())
        })?;
        let mut last = [0];
        let ended = read_full(file, &mut last, start + got)? == 1 && last == *b"\n";
        if got != item.bytes || crc.value() != item.crc || !ended {
            break;
        }
        items.push(item);
        at = start + got + 1;
    }
    Ok((items, at))
}

/// Reads from `from` to `to`, or to the file's end; how much there was.
fn each_piece<F: StoreFile>(
    file: &F,
    from: u64,
    to: u64,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<u64> {
    let mut piece = vec![0; PIECE.min(usize::try_from(to - from).unwrap_or(PIECE))];
    let mut at = from;
    while at < to {
        let len = piece.len().min(usize::try_from(to - at).unwrap_or(PIECE));
        let got = read_full(file, &mut piece[..len], at)?;
        take(&piece[..got])?;
        at += got as u64;
        if got < len {
            break;
        }
    }
    Ok(at - from)
}
