//! A journal with any bytes of its files changed (storage §7): opening it ends, nothing comes out that was not put in, and no
//! record is lost that the change did not touch.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;
use tallylink_journal::testing::{Kind, MemStore, entries};
use tallylink_journal::{Chunk, Error, Item, Journal, Options, Position, Reader, Store};

const PEER: [u8; 8] = *b"peer-one";
const EPOCH: [u8; 8] = *b"epoch-01";
const GROUPS: u64 = 24;
/// Where the entries of a segment begin: headers are before.
const ENTRIES_AT: usize = 4096;

/// A finished journal, and what each entry of its segments is needed for.
struct Sample {
    store: MemStore,
    names: Vec<String>,
    entries: Vec<(String, Range<u64>, Range<u64>)>,
    records: u64,
}

/// Changes, one after the other: a byte for the file, a byte for what is done, two for the place, one for how many bytes
/// follow; then those bytes.
pub fn journal(data: &[u8]) {
    let sample = sample();
    let store = sample.store.fork(1);
    let mut changed = Changed::default();
    let mut rest = data;
    while let [file, what, high, low, len, after @ ..] = rest {
        let (bytes, after) = after.split_at(usize::from(*len).min(after.len()));
        let place = usize::from(u16::from_be_bytes([*high, *low]));
        let name = &sample.names[usize::from(*file) % sample.names.len()];
        store.edit(name, |content| changed.change(name, content, *what, place, bytes));
        rest = after;
    }
    let untouched = sample.untouched(&changed);
    let opened = Journal::open(store.clone(), options());
    match opened {
        Ok((journal, recovery)) => {
            drop(journal);
            let mut shown = read(store);
            if crate::planted::here() && recovery.damaged_places == 2 {
                // Two damaged places cost the first record, too.
                shown.remove(&0);
            }
            let lost: Vec<_> = untouched.iter().filter(|number| !shown.contains(number)).collect();
            assert!(changed.beside || lost.is_empty(), "{lost:?} are lost, and nothing happened to them");
        }
        Err(Error::Io { source, .. }) => panic!("a disk without faults failed: {source}"),
        Err(_) => assert!(changed.beside, "it is refused, and only entries were changed"),
    }
}

/// Where bytes are not what they were.
#[derive(Default)]
struct Changed {
    entries: Vec<(String, Range<u64>)>,
    /// Something else than entries was changed.
    beside: bool,
}

impl Changed {
    fn change(&mut self, name: &str, content: &mut Vec<u8>, what: u8, place: usize, bytes: &[u8]) {
        let is_segment = name.ends_with(".segment");
        let place = if is_segment && what & 0x80 == 0 { place + ENTRIES_AT } else { place };
        let from = place.min(content.len());
        let end = match what & 3 {
            0 => {
                let end = content.len().min(from + bytes.len());
                content[from..end].iter_mut().zip(bytes).for_each(|(byte, change)| *byte ^= change);
                end
            }
            1 => {
                let end = content.len().min(from + bytes.len());
                content[from..end].copy_from_slice(&bytes[..end - from]);
                end
            }
            2 => {
                content.truncate(from);
                usize::MAX
            }
            _ => {
                let end = content.len().min(from + 64 * bytes.len());
                content[from..end].fill(0);
                end
            }
        };
        self.beside |= !is_segment || from < ENTRIES_AT || (what & 3 == 2);
        self.entries.push((name.to_owned(), from as u64..end as u64));
    }
}

impl Sample {
    /// Records of which no byte was changed.
    fn untouched(&self, changed: &Changed) -> BTreeSet<u64> {
        let hit = |name: &String, place: &Range<u64>| {
            changed.entries.iter().any(|(of, range)| of == name && range.start < place.end && place.start < range.end)
        };
        // What a segment begins with says whose its chunks are. One such entry can be missed; two cannot.
        let heads = |of: &String| {
            let in_segment = self.entries.iter().filter(move |(name, _, _)| name == of);
            in_segment
                .take_while(|(_, _, numbers)| numbers.is_empty())
                .filter(|(name, place, _)| hit(name, place))
                .count()
        };
        let whole = self.entries.iter().filter(|(name, place, _)| !hit(name, place) && heads(name) < 2);
        whole.flat_map(|(_, _, numbers)| numbers.clone()).collect()
    }
}

fn options() -> Options {
    Options {
        salt: 0x0123_4567_89ab_cdef,
        segment_bytes: Options::MIN_SEGMENT,
        buffer_bytes: 4096,
        ..Options::default()
    }
}

fn content(number: u64) -> Vec<u8> {
    vec![number as u8; 2 + (number * 67 % 60) as usize]
}

fn sample() -> &'static Sample {
    static SAMPLE: OnceLock<Sample> = OnceLock::new();
    SAMPLE.get_or_init(make)
}

fn make() -> Sample {
    let store = MemStore::new(3);
    let (mut next, mut chunks) = (0, Vec::new());
    for boot in 0..2 {
        let (mut journal, _) = Journal::open(store.clone(), options()).expect("a new journal");
        let stream = journal.stream(PEER, b"s").expect("a stream");
        journal.begin_epoch(stream, EPOCH, 0, 0).expect("an epoch");
        for group in 0..GROUPS {
            let count = 1 + (next + group) % 7;
            // Sizes below 64 take one byte.
            let record = |number| [vec![content(number).len() as u8], content(number)].concat();
            let bytes: Vec<u8> = (next..next + count).flat_map(record).collect();
            let (from, to) = (Position::start_of(next), Position::start_of(next + count));
            let chunk = Chunk { stream, epoch: EPOCH, from, to, first_record: 0, records: count as u32, bytes: &bytes };
            journal.append(chunk, 1_000_000 + boot).expect("there is room");
            chunks.push(next..next + count);
            next += count;
            journal.commit().expect("a sound disk");
            journal.maintain(0).expect("a sound disk");
        }
    }
    finish(store, &chunks, next)
}

/// Leaves out what was preallocated, and finds what stands where.
fn finish(store: MemStore, chunks: &[Range<u64>], records: u64) -> Sample {
    if store.names().expect("a list").iter().any(|name| name == "reserve") {
        store.remove("reserve").expect("it is there");
    }
    for name in ["checkpoint-a", "checkpoint-b"] {
        store.edit(name, |bytes| {
            let table = bytes.get(64..72).and_then(|len| len.try_into().ok()).map_or(0, u64::from_le_bytes);
            bytes.truncate(512 + table as usize);
        });
    }
    let names = store.names().expect("a list");
    let mut chunks = chunks.iter().cloned();
    let mut found = Vec::new();
    for name in names.iter().filter(|name| name.ends_with(".segment")) {
        let id = name.strip_suffix(".segment").and_then(|id| u64::from_str_radix(id, 16).ok()).expect("an id");
        for (place, kind) in entries(&store, id) {
            let numbers = match kind {
                Kind::Chunk { .. } => chunks.next().expect("every chunk was written"),
                Kind::Other => 0..0,
            };
            found.push((name.clone(), place, numbers));
        }
    }
    assert_eq!(chunks.next(), None, "every chunk is found");
    Sample { store, names, entries: found, records }
}

/// Reads everything: right bytes, in order.
fn read(store: MemStore) -> BTreeSet<u64> {
    let mut shown = BTreeSet::new();
    let mut reader = Reader::open(store).expect("a journal that was opened");
    while let Some(item) = reader.next().expect("readable") {
        if let Item::Record(record) = item {
            assert_eq!((record.stream, record.epoch), (&b"s"[..], EPOCH));
            assert!(record.number < sample().records && record.bytes == content(record.number), "{}", record.number);
            assert!(shown.last() < Some(&record.number), "{} comes again, or late", record.number);
            shown.insert(record.number);
        }
    }
    shown
}
