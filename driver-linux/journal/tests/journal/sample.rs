//! Finished journals of which every byte's meaning is known, to be damaged.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use tallylink_journal::testing::{Kind, MemStore, entries};
use tallylink_journal::{Item, Journal, Options, Reader, Store, StreamId};

use crate::common::{EPOCH, PEER, append, append_part, options, stored};

/// One record: which stream, and its number.
pub(crate) type Name = (u8, u64);

/// An entry's place, and the records that it is needed for.
type Entry = (Range<u64>, BTreeSet<Name>);

/// A finished journal.
pub(crate) struct Sample {
    pub(crate) store: MemStore,
    pub(crate) options: Options,
    /// Every segment with its entries.
    pub(crate) segments: BTreeMap<u64, Vec<Entry>>,
    pub(crate) records: BTreeSet<Name>,
    /// No more than it has, and room for two checkpoints.
    capacity: u64,
}

/// What a damaged copy still shows.
pub(crate) struct Shown {
    pub(crate) records: BTreeSet<Name>,
    pub(crate) damaged_bytes: u64,
}

impl Sample {
    /// A gateway's journal: two streams, small chunks, records in two parts.
    pub(crate) fn gateway(groups: u64, segment_bytes: u64) -> Self {
        Self::write(2, groups, Options { segment_bytes, ..options() })
    }

    /// A sender's: one stream, marks of what is freed, many epochs remembered.
    pub(crate) fn outbox(groups: u64, segment_bytes: u64) -> Self {
        Self::write(1, groups, Options { segment_bytes, remembered_epochs: 1000, ..options() })
    }

    fn write(streams: u8, groups: u64, later: Options) -> Self {
        let store = MemStore::new(3);
        let (mut journal, _) =
            Journal::open(store.clone(), Options { segment_bytes: 16 << 10, ..later.clone() }).unwrap();
        let mut next = vec![0_u64; usize::from(streams)];
        let mut chunks: Vec<(u8, Range<u64>)> = Vec::new();
        let mut ids = begin(&mut journal, streams);
        for group in 0..groups {
            for s in (0..streams).chain([0]) {
                let at = usize::from(s);
                let (first, count) = (next[at], 1 + (next[at] + group) % 5);
                let records: Vec<_> = (first..first + count).map(|n| content(s, n)).collect();
                append(&mut journal, ids[at], EPOCH, first, &records).unwrap();
                chunks.push((s, first..first + count));
                next[at] += count;
            }
            if group % 4 == 0 {
                let number = next[0];
                let bytes = stored(&[content(0, number)]);
                for part in [0..10, 10..bytes.len()] {
                    append_part(&mut journal, ids[0], number, &bytes, part).unwrap();
                    chunks.push((0, number..number + 1));
                }
                next[0] += 1;
            }
            if streams == 1 && group % 7 == 3 {
                journal.freed(ids[0], EPOCH, next[0] / 4).unwrap();
            }
            journal.commit().unwrap();
            journal.maintain(0).unwrap();
            if group == groups / 8 {
                drop(journal);
                journal = Journal::open(store.clone(), later.clone()).unwrap().0;
                ids = begin(&mut journal, streams);
            }
        }
        drop(journal);
        // Copies are made by the ten thousand: what was preallocated and holds nothing is left out.
        store.remove("reserve").unwrap();
        for name in ["checkpoint-a", "checkpoint-b"] {
            let used = checkpoint_len(&store.bytes(name));
            store.edit(name, |bytes| bytes.truncate(used));
        }
        let mut chunks = chunks.into_iter();
        let mut segments = BTreeMap::new();
        for name in store.names().unwrap().iter().filter_map(|name| name.strip_suffix(".segment")) {
            let id = u64::from_str_radix(name, 16).unwrap();
            let found = entries(&store, id).into_iter().map(|(place, kind)| match kind {
                Kind::Other => (place, BTreeSet::new()),
                Kind::Chunk { .. } => {
                    let (stream, numbers) = chunks.next().unwrap();
                    (place, numbers.map(|number| (stream, number)).collect())
                }
            });
            segments.insert(id, found.collect());
        }
        assert!(chunks.next().is_none(), "every chunk is found");
        let records = (0..streams).flat_map(|s| (0..next[usize::from(s)]).map(move |n| (s, n))).collect();
        let has: u64 = store.names().unwrap().iter().map(|name| store.bytes(name).len() as u64).sum();
        Self { store, options: later, segments, records, capacity: has + 140_000 }
    }

    /// A copy to damage. It has no room for more, which makes copying it cheap.
    pub(crate) fn fork(&self, seed: u64) -> MemStore {
        let fork = self.store.fork(seed);
        fork.set_capacity(self.capacity);
        fork
    }

    /// Records that cannot be had without the byte at `offset` of a segment.
    pub(crate) fn cost(&self, segment: u64, offset: u64) -> BTreeSet<Name> {
        let entry = self.segments[&segment].iter().find(|(place, _)| place.contains(&offset));
        entry.map(|(_, records)| records.clone()).unwrap_or_default()
    }

    /// Where the entries of a segment end.
    pub(crate) fn end(&self, segment: u64) -> u64 {
        self.segments[&segment].last().map_or(0, |(place, _)| place.end)
    }

    pub(crate) fn last(&self) -> u64 {
        *self.segments.keys().last().unwrap()
    }
}

fn begin(journal: &mut Journal<MemStore>, streams: u8) -> Vec<StreamId> {
    let ids: Vec<_> = (0..streams).map(|s| journal.stream(PEER, &[s]).unwrap()).collect();
    ids.iter().for_each(|&id| journal.begin_epoch(id, EPOCH, 0, 0).unwrap());
    ids
}

pub(crate) fn content(stream: u8, number: u64) -> Vec<u8> {
    vec![stream ^ number as u8; 20 + (number * 67 % 700) as usize]
}

/// How much of a checkpoint file counts.
pub(crate) fn checkpoint_len(bytes: &[u8]) -> usize {
    512 + u64::from_le_bytes(bytes[64..72].try_into().unwrap()) as usize
}

pub(crate) fn segment_name(id: u64) -> String {
    format!("{id:016x}.segment")
}

/// Reads everything and compares what is there: right bytes, in order.
pub(crate) fn read<S: Store>(store: S) -> Shown {
    let mut shown = Shown { records: BTreeSet::new(), damaged_bytes: 0 };
    let mut reader = Reader::open(store).expect("a journal");
    let mut last = [None; 2];
    while let Some(item) = reader.next().expect("readable") {
        match item {
            Item::Record(record) => {
                let stream = record.stream[0];
                assert!(record.bytes == content(stream, record.number), "{stream} {}", record.number);
                assert!(last[usize::from(stream)] < Some(record.number), "order");
                last[usize::from(stream)] = Some(record.number);
                shown.records.insert((stream, record.number));
            }
            Item::Gap(_) => {}
            Item::Damage(damage) => shown.damaged_bytes += damage.to - damage.from,
        }
    }
    shown
}
