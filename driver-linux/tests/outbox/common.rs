//! An outbox in memory, and a receiver that takes what comes out of it.

use std::collections::BTreeMap;
use tallylink_core::wire::varint;
use tallylink_core::{Epoch, Name, PeerId};
use tallylink_journal::Store;
use tallylink_journal::testing::MemStore;
use tallylink_linux::outbox::{Group, Next, Outbox, OutboxError, OutboxOptions, Owner, What};

pub(crate) fn owner() -> Owner {
    Owner { peer: PeerId(*b"sensor-1"), stream: Name::new("s").unwrap() }
}

pub(crate) fn epoch(n: u64) -> Epoch {
    Epoch(n.to_be_bytes())
}

/// Small segments, so that tests meet their ends.
pub(crate) fn options() -> OutboxOptions {
    OutboxOptions { salt: 7, segment_bytes: 16 << 10, ..OutboxOptions::default() }
}

pub(crate) fn open(store: &MemStore, n: u64) -> Outbox<MemStore> {
    Outbox::open(store.clone(), &owner(), epoch(n), &options()).unwrap()
}

pub(crate) fn segments(store: &MemStore) -> usize {
    store.names().unwrap().iter().filter(|name| name.ends_with("segment")).count()
}

/// A group of the records that `numbers` name, made from the epoch's seed.
pub(crate) fn group(seed: u64, numbers: std::ops::Range<u64>) -> Group {
    let mut group = Group::default();
    group.restart(numbers.start);
    numbers.for_each(|n| assert!(group.push(&record(seed, n))));
    group
}

/// Bytes that tell which record they belong to.
pub(crate) fn record(seed: u64, number: u64) -> Vec<u8> {
    let len = (seed * 31 + number * 7) % 200;
    (0..len).map(|i| (seed * 131 + number * 31 + i * 7) as u8).collect()
}

pub(crate) fn push(outbox: &mut Outbox<MemStore>, seed: u64, numbers: std::ops::Range<u64>) -> Result<(), OutboxError> {
    outbox.append(&group(seed, numbers), 1_000_000)?;
    outbox.commit()
}

/// What a receiver has stored, by epoch in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Receiver {
    pub(crate) order: Vec<Epoch>,
    pub(crate) stored: BTreeMap<Epoch, Vec<Option<Vec<u8>>>>,
}

impl Receiver {
    /// Takes a block as a session would bring it; how far its epoch is stored then.
    pub(crate) fn take(&mut self, next: Next, block: &[u8]) -> u64 {
        if !self.stored.contains_key(&next.epoch) {
            let newest = self.order.last().map(|e| (*e, self.stored[e].len() as u64));
            assert_eq!(
                next.previous.map(|p| (p.epoch, p.end)),
                newest,
                "an epoch begins when the one before is stored"
            );
            self.order.push(next.epoch);
        }
        let stored = self.stored.entry(next.epoch).or_default();
        match next.what {
            What::Lost { below } => stored.resize(below as usize, None),
            What::Records { first, count } => {
                let records = unpack(block);
                assert_eq!(records.len() as u64, count);
                assert!(first as usize <= stored.len(), "{first} behind {}", stored.len());
                for (n, bytes) in (first as usize..).zip(records) {
                    match stored.get(n) {
                        Some(known) => assert_eq!(known.as_ref(), Some(&bytes), "one content for each number"),
                        None => stored.push(Some(bytes)),
                    }
                }
            }
        }
        stored.len() as u64
    }
}

pub(crate) fn unpack(mut packed: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while !packed.is_empty() {
        let (size, head) = varint::decode(packed).unwrap();
        let (record, rest) = packed[head..].split_at(size as usize);
        records.push(record.to_vec());
        packed = rest;
    }
    records
}

/// Delivers until nothing more comes.
pub(crate) fn drain(outbox: &mut Outbox<MemStore>, to: &mut Receiver) {
    let mut block = Vec::new();
    loop {
        while let Some(next) = outbox.next(&mut block).unwrap() {
            let stored = to.take(next, &block);
            outbox.free(next.epoch, stored);
        }
        let waits = outbox.unmarked() > 0;
        outbox.commit().unwrap();
        outbox.maintain(0).unwrap();
        if !waits {
            return;
        }
    }
}

pub(crate) fn packed(record: &[u8]) -> Vec<u8> {
    [varint::encode(record.len() as u64).unwrap().as_slice(), record].concat()
}
