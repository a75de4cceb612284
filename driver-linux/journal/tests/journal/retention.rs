//! What is deleted, when, and what outlives it.

use std::io::ErrorKind;

use tallylink_journal::testing::{Fault, MemStore, Operation};
use tallylink_journal::{Journal, Options, Reader, Retention, Store, SyncSite};

use crate::common::{EPOCH, PEER, append, drain, options, read_all};

fn keep(max_bytes: Option<u64>, max_age_us: Option<u64>) -> Options {
    Options { retention: Retention { max_bytes, max_age_us, freed: false }, ..options() }
}

fn segments(store: &MemStore) -> usize {
    store.names().unwrap().iter().filter(|name| name.ends_with("segment")).count()
}

/// Appends `count` records of 1,000 bytes, a commit each; `append` takes the arrival from the number.
fn fill(journal: &mut Journal<MemStore>, count: u64) -> u64 {
    let stream = journal.stream(PEER, b"s").unwrap();
    journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
    let first = journal.epoch_state(stream, EPOCH).unwrap().stored_below;
    for number in first..first + count {
        append(journal, stream, EPOCH, number, &[vec![1; 1000]]).unwrap();
        journal.commit().unwrap();
    }
    first + count
}

#[test]
fn the_oldest_segments_go_by_size_and_stored_below_outlives_them() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), keep(Some(50_000), None)).unwrap();
    let idle = journal.stream(PEER, b"idle").unwrap();
    journal.begin_epoch(idle, EPOCH, 0, 0).unwrap();
    append(&mut journal, idle, EPOCH, 0, &[vec![7]]).unwrap();
    let below = fill(&mut journal, 200);
    assert!(journal.maintain(0).unwrap().deleted > 5);
    assert!(journal.segment_bytes() <= 50_000 && segments(&store) <= 4);
    drop(journal);
    store.power_cut();

    let (journal, recovery) = Journal::open(store.clone(), options()).unwrap();
    assert_eq!(recovery.missing_segments + recovery.damaged_places, 0);
    assert_eq!(journal.epoch_state(idle, EPOCH).unwrap().stored_below, 1);
    let all = read_all(store);
    assert_eq!(all.records.last().unwrap().number, below - 1);
    assert!(all.records[0].number > 100 && all.records.iter().all(|seen| seen.stream == b"s"));
    assert!(all.gaps.is_empty());
}

#[test]
fn segments_go_by_age_but_never_the_one_being_written() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), keep(None, Some(10))).unwrap();
    fill(&mut journal, 100);
    let before = segments(&store);
    // The records arrived at 1,000,000 and later, one a microsecond.
    assert_eq!(journal.maintain(1_000_010).unwrap().deleted, 0);
    assert!(journal.maintain(1_000_060).unwrap().deleted > 0);
    assert!((2..before).contains(&segments(&store)));
    journal.maintain(u64::MAX).unwrap();
    assert_eq!(segments(&store), 1);
    assert_eq!(fill(&mut journal, 1), 101);
}

#[test]
fn a_segment_stays_until_both_checkpoints_are_synced_without_it() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), keep(Some(20_000), None)).unwrap();
    fill(&mut journal, 100);
    let before = segments(&store);
    let fault = Fault { operation: Operation::Sync(SyncSite::Checkpoint), after: 1, times: 1, kind: ErrorKind::Other };
    store.add_fault(fault);
    assert!(journal.maintain(0).is_err());
    assert_eq!(segments(&store), before);
    assert!(journal.maintain(0).unwrap().deleted > 0);
    assert!(segments(&store) < before);
}

#[test]
fn pruning_frees_a_full_disk_without_needing_space() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), keep(Some(60_000), None)).unwrap();
    // Checkpoints, the reserve, and so much for records.
    store.set_capacity(131_072 + 262_144 + 100_000);
    let mut below = 0;
    let mut full = 0;
    let stream = journal.stream(PEER, b"s").unwrap();
    journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
    while below < 400 {
        let appended = append(&mut journal, stream, EPOCH, below, &[vec![1; 1000]]);
        let committed = appended.and_then(|()| Ok(journal.commit()?[0].below));
        match committed {
            Ok(stored) => below = stored,
            Err(error) => {
                assert!(error.is_disk_full(), "{error}");
                full += 1;
                journal.rewind();
                assert!(journal.maintain(0).unwrap().deleted > 0);
                journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
            }
        }
    }
    assert!(full > 1);
    let all = read_all(store);
    assert_eq!(all.records.last().unwrap().number, 399);
    assert!(all.gaps.is_empty());
}

#[test]
fn a_reader_that_retention_overtakes_is_told_what_it_missed() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), keep(Some(30_000), None)).unwrap();
    fill(&mut journal, 30);
    let mut reader = Reader::open(store).unwrap();
    let before = drain(&mut reader);
    fill(&mut journal, 300);
    journal.maintain(0).unwrap();
    let after = drain(&mut reader);
    let (next, below, reason) = after.gaps[0];
    assert_eq!(reason, None);
    assert_eq!(next, before.records.last().unwrap().number + 1);
    assert_eq!(after.gaps.len(), 1);
    assert_eq!(after.records[0].number, below);
    assert_eq!(after.records.last().unwrap().number, 329);
}

#[test]
fn only_the_newest_four_epochs_are_remembered_whatever_is_deleted() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), keep(Some(1), None)).unwrap();
    let stream = journal.stream(PEER, b"s").unwrap();
    for epoch in 0..6_u8 {
        journal.begin_epoch(stream, [epoch; 8], 0, 0).unwrap();
        for number in 0..30 {
            append(&mut journal, stream, [epoch; 8], number, &[vec![1; 1000]]).unwrap();
        }
        journal.commit().unwrap();
        journal.maintain(0).unwrap();
    }
    drop(journal);
    let (journal, _) = Journal::open(store, options()).unwrap();
    let epochs: Vec<u8> = journal.epochs(stream).map(|(epoch, _)| epoch[0]).collect();
    assert_eq!(epochs, [5, 4, 3, 2]);
    assert!(journal.epochs(stream).all(|(_, state)| state.stored_below == 30));
}

#[test]
fn what_a_sender_freed_is_remembered() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    let below = fill(&mut journal, 50);
    let stream = journal.stream(PEER, b"s").unwrap();
    journal.freed(stream, EPOCH, below - 5).unwrap();
    journal.commit().unwrap();
    drop(journal);
    store.power_cut();
    let (journal, _) = Journal::open(store, options()).unwrap();
    let state = journal.epoch_state(stream, EPOCH).unwrap();
    assert_eq!((state.freed_below, state.stored_below), (below - 5, below));
}

#[test]
fn a_senders_segments_go_once_all_they_hold_is_freed_over_many_epochs() {
    let store = MemStore::new(1);
    let retention = Retention { freed: true, ..Retention::default() };
    let options = Options { retention, remembered_epochs: 100, ..options() };
    let epochs: Vec<[u8; 8]> = (0..20).map(|n| [n; 8]).collect();
    for &epoch in &epochs {
        let (mut journal, _) = Journal::open(store.clone(), options.clone()).unwrap();
        let stream = journal.stream(PEER, b"s").unwrap();
        journal.begin_epoch(stream, epoch, 0, 0).unwrap();
        for number in 0..40 {
            append(&mut journal, stream, epoch, number, &[vec![1; 1000]]).unwrap();
        }
        journal.commit().unwrap();
        assert_eq!(journal.maintain(0).unwrap().deleted, 0);
    }
    let (mut journal, _) = Journal::open(store.clone(), options.clone()).unwrap();
    let stream = journal.stream(PEER, b"s").unwrap();
    assert_eq!(journal.epochs(stream).count(), 20);
    let mut before = segments(&store);
    for (nth, &epoch) in epochs.iter().enumerate() {
        journal.freed(stream, epoch, 39).unwrap();
        journal.commit().unwrap();
        journal.maintain(0).unwrap();
        let kept = read_all(store.clone());
        assert!(kept.records.iter().any(|r| r.epoch == epoch && r.number == 39), "{nth}: still needed");
        journal.freed(stream, epoch, 40).unwrap();
        journal.commit().unwrap();
        journal.maintain(0).unwrap();
        let now = segments(&store);
        assert!(now < before || nth == 0, "{nth}: {before} {now}");
        before = now;
    }
    assert!(before <= 2, "{before}");
    drop(journal);
    let (journal, _) = Journal::open(store, options).unwrap();
    assert!(journal.epochs(stream).all(|(_, state)| state.freed_below == 40));
}
