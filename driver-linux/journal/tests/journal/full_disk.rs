//! Retention when the disk is full: it needs no space, or what it needs was kept back.

use tallylink_journal::testing::MemStore;
use tallylink_journal::{Journal, Options, Retention, Store};

use crate::common::{EPOCH, PEER, append, options, read_all};

fn keep(max_bytes: u64) -> Options {
    let retention = Retention { max_bytes: Some(max_bytes), ..Retention::default() };
    Options { retention, ..options() }
}

/// A journal on a full disk whose next checkpoint needs more space than its files have, with segments to give up.
fn grown(store: &MemStore) -> Journal<MemStore> {
    let (mut journal, _) = Journal::open(store.clone(), keep(1 << 20)).unwrap();
    for s in 0..1500_u32 {
        let stream = journal.stream(PEER, &[&s.to_le_bytes()[..], &[b'n'; 60]].concat()).unwrap();
        journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
        append(&mut journal, stream, EPOCH, 0, &[vec![1; 100]]).unwrap();
    }
    journal.commit().unwrap();
    drop(journal);
    // Somebody else takes all there is left.
    store.set_capacity(used(store));
    Journal::open(store.clone(), keep(60_000)).unwrap().0
}

fn used(store: &MemStore) -> u64 {
    store.names().unwrap().iter().map(|name| store.bytes(name).len() as u64).sum()
}

#[test]
fn the_reserve_lets_a_grown_checkpoint_be_written_and_segments_go() {
    let store = MemStore::new(1);
    let mut journal = grown(&store);
    assert!(journal.maintain(0).unwrap().deleted > 0);
    assert!(journal.segment_bytes() <= 60_000);
    journal.maintain(0).unwrap();
    assert!(store.bytes("reserve").len() >= 262_144, "it is kept back again once there is space");
    let streams: Vec<_> = journal.streams().map(|(id, ..)| id).collect();
    drop(journal);
    store.power_cut();
    let (journal, _) = Journal::open(store, keep(60_000)).unwrap();
    assert_eq!(streams.len(), 1500);
    assert!(streams.iter().all(|&id| journal.epoch_state(id, EPOCH).unwrap().stored_below == 1));
}

#[test]
fn without_the_reserve_it_would_not() {
    let store = MemStore::new(1);
    let mut journal = grown(&store);
    let (has, reserve) = (used(&store), store.bytes("reserve").len() as u64);
    store.remove("reserve").unwrap();
    store.set_capacity(has - reserve);
    let error = journal.maintain(0).unwrap_err();
    assert!(error.is_disk_full(), "{error}");
    // Once there is space, whoever gives it, it goes on.
    store.set_capacity(has + 1_000_000);
    assert!(journal.maintain(0).unwrap().deleted > 0);
    assert!(!read_all(store).records.is_empty());
}
