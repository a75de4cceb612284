//! Making chunks and reading journals back, for all tests of the crate.

use tallylink_journal::{Chunk, Error, Item, Journal, Options, Position, Reader, Store, StreamId};

pub(crate) const PEER: [u8; 8] = *b"peer-one";
pub(crate) const EPOCH: [u8; 8] = *b"epoch-01";
pub(crate) const SALT: u64 = 0x0123_4567_89ab_cdef;

/// Small segments, so that tests meet their ends.
pub(crate) fn options() -> Options {
    Options { salt: SALT, segment_bytes: Options::MIN_SEGMENT, buffer_bytes: 4096, ..Options::default() }
}

/// The stored bytes of records, back to back.
pub(crate) fn stored(records: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        match record.len() {
            len @ 0..0x40 => bytes.push(len as u8),
            len @ 0x40..0x4000 => bytes.extend((len as u16 | 0x4000).to_be_bytes()),
            len => bytes.extend((len as u32 | 0x8000_0000).to_be_bytes()),
        }
        bytes.extend(record);
    }
    bytes
}

/// Appends whole records as one chunk.
pub(crate) fn append<S: Store>(
    journal: &mut Journal<S>,
    stream: StreamId,
    epoch: [u8; 8],
    first: u64,
    records: &[Vec<u8>],
) -> Result<(), Error> {
    let count = records.len() as u64;
    let bytes = stored(records);
    let chunk = Chunk {
        stream,
        epoch,
        from: Position::start_of(first),
        to: Position::start_of(first + count),
        first_record: 0,
        records: count as u32,
        bytes: &bytes,
    };
    journal.append(chunk, 1_000_000 + first)
}

/// Appends `bytes[from..to]`, a part of one record's stored bytes.
pub(crate) fn append_part<S: Store>(
    journal: &mut Journal<S>,
    stream: StreamId,
    number: u64,
    bytes: &[u8],
    range: std::ops::Range<usize>,
) -> Result<(), Error> {
    let ends = range.end == bytes.len();
    let to = if ends { Position::start_of(number + 1) } else { Position { number, offset: range.end as u32 } };
    let chunk = Chunk {
        stream,
        epoch: EPOCH,
        from: Position { number, offset: range.start as u32 },
        to,
        first_record: if range.start > 0 { range.len() as u32 } else { 0 },
        records: u32::from(range.start == 0),
        bytes: &bytes[range],
    };
    journal.append(chunk, 1_000_000 + number)
}

/// A record as a reader gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) peer: [u8; 8],
    pub(crate) stream: Vec<u8>,
    pub(crate) epoch: [u8; 8],
    pub(crate) number: u64,
    pub(crate) index: u64,
    pub(crate) bytes: Vec<u8>,
}

/// Everything a reader has to tell at the moment.
#[derive(Debug, Default)]
pub(crate) struct All {
    pub(crate) records: Vec<Seen>,
    /// Next, below and reason.
    pub(crate) gaps: Vec<(u64, u64, Option<u8>)>,
    pub(crate) damaged_bytes: u64,
}

pub(crate) fn drain<S: Store>(reader: &mut Reader<S>) -> All {
    let mut all = All::default();
    while let Some(item) = reader.next().expect("a readable journal") {
        match item {
            Item::Record(r) => all.records.push(Seen {
                peer: r.peer,
                stream: r.stream.to_vec(),
                epoch: r.epoch,
                number: r.number,
                index: r.index,
                bytes: r.bytes.to_vec(),
            }),
            Item::Gap(g) => all.gaps.push((g.next, g.below, g.reason)),
            Item::Damage(d) => all.damaged_bytes += d.to - d.from,
        }
    }
    all
}

pub(crate) fn read_all<S: Store>(store: S) -> All {
    drain(&mut Reader::open(store).expect("a journal"))
}
