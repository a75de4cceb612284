//! A disk that fails: nothing is confirmed that is not proven, and the journal goes on when the disk does.

use std::io::ErrorKind;

use tallylink_journal::testing::{Fault, MemStore, Operation};
use tallylink_journal::{Error, Journal, Position, SyncSite};

use crate::common::{EPOCH, PEER, append, options, read_all};

fn fail(operation: Operation, kind: ErrorKind) -> Fault {
    Fault { operation, after: 0, times: 1, kind }
}

#[test]
fn after_a_failed_sync_the_next_success_does_not_confirm_what_was_lost() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    let stream = journal.stream(PEER, b"s").unwrap();
    journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
    append(&mut journal, stream, EPOCH, 0, &[vec![1]]).unwrap();
    journal.commit().unwrap();

    append(&mut journal, stream, EPOCH, 1, &[vec![2]]).unwrap();
    store.add_fault(fail(Operation::Sync(SyncSite::Group), ErrorKind::Other));
    let error = journal.commit().unwrap_err().to_string();
    assert!(error.starts_with("memory/0000000000000001.segment: cannot sync"), "{error}");
    // Neither trying again nor going on works before the sessions ended and the journal was rewound.
    assert!(matches!(journal.commit(), Err(Error::Failed)));
    let again = append(&mut journal, stream, EPOCH, 2, &[vec![3]]);
    assert!(matches!(again, Err(Error::Failed)));
    journal.rewind();
    let state = journal.epoch_state(stream, EPOCH).unwrap();
    assert_eq!((state.stored_below, state.next), (1, Position::start_of(1)));

    append(&mut journal, stream, EPOCH, 1, &[vec![2], vec![3]]).unwrap();
    assert_eq!(journal.commit().unwrap()[0].below, 3);
    drop(journal);
    store.power_cut();
    let (journal, recovery) = Journal::open(store.clone(), options()).unwrap();
    assert_eq!(recovery.damaged_places + recovery.repeated_chunks, 0);
    assert_eq!(journal.epoch_state(stream, EPOCH).unwrap().stored_below, 3);
    let all = read_all(store);
    let seen: Vec<_> = all.records.iter().map(|r| (r.index, r.bytes[0])).collect();
    assert_eq!(seen, [(0, 1), (1, 2), (2, 3)]);
}

#[test]
fn whichever_operation_fails_first_the_journal_recovers_unaided() {
    let operations = [
        Operation::Create,
        Operation::Allocate,
        Operation::Write,
        Operation::Sync(SyncSite::SegmentName),
        Operation::Sync(SyncSite::Group),
    ];
    for operation in operations {
        for kind in [ErrorKind::Other, ErrorKind::StorageFull, ErrorKind::ReadOnlyFilesystem] {
            let store = MemStore::new(1);
            let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
            let stream = journal.stream(PEER, b"s").unwrap();
            let mut failures = 0;
            let mut below = 0;
            store.add_fault(Fault { times: 3, ..fail(operation, kind) });
            while below < 50 {
                journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
                let appended = append(&mut journal, stream, EPOCH, below, &[vec![below as u8; 900]]);
                match appended.and_then(|()| Ok(journal.commit()?[0].below)) {
                    Ok(stored) => below = stored,
                    Err(Error::Io { source, .. }) => {
                        assert_eq!(source.kind(), kind);
                        failures += 1;
                        journal.rewind();
                    }
                    Err(e) => panic!("{operation:?}: {e}"),
                }
            }
            assert!(failures >= 1, "{operation:?} is never called");
            let all = read_all(store);
            assert_eq!(all.records.len(), 50, "{operation:?}");
            assert!(all.gaps.is_empty() && all.damaged_bytes == 0);
        }
    }
}

#[test]
fn what_a_finished_segment_proved_is_told_although_the_next_cannot_be_begun() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    let stream = journal.stream(PEER, b"s").unwrap();
    journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
    append(&mut journal, stream, EPOCH, 0, &[vec![1]]).unwrap();
    journal.commit().unwrap();
    store.add_fault(fail(Operation::Create, ErrorKind::StorageFull));
    let full = (1..).find(|number| append(&mut journal, stream, EPOCH, *number, &[vec![1; 900]]).is_err()).unwrap();
    let told: Vec<_> = journal.rewind().iter().map(|stored| (stored.stream, stored.epoch, stored.below)).collect();
    assert!(full > 2);
    assert_eq!(told, [(stream, EPOCH, full)]);
    assert_eq!(journal.epoch_state(stream, EPOCH).unwrap().stored_below, full);
    append(&mut journal, stream, EPOCH, full, &[vec![1]]).unwrap();
    journal.commit().unwrap();
    assert_eq!(read_all(store).records.len() as u64, full + 1);
}

#[test]
fn a_follower_position_that_cannot_be_written_delays_followers_only() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    let stream = journal.stream(PEER, b"s").unwrap();
    journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
    append(&mut journal, stream, EPOCH, 0, &[vec![1]]).unwrap();
    // The segment's header, the group, then the position.
    store.add_fault(Fault { after: 1, ..fail(Operation::Write, ErrorKind::StorageFull) });
    assert_eq!(journal.commit().unwrap()[0].below, 1);
    assert_eq!(journal.stats().publish_failures, 1);
    assert!(read_all(store.clone()).records.is_empty());
    journal.maintain(0).unwrap();
    assert_eq!(read_all(store.clone()).records.len(), 1, "without another commit");
    append(&mut journal, stream, EPOCH, 1, &[vec![1]]).unwrap();
    journal.commit().unwrap();
    assert_eq!(read_all(store).records.len(), 2);
}

#[test]
fn without_the_sync_of_the_checkpoints_names_a_stream_may_be_forgotten() {
    // The directory's sync after the checkpoint files are made is what keeps their names.
    for ignored in [None, Some(SyncSite::CheckpointNames)] {
        let mut forgotten = 0;
        for seed in 0..100 {
            let store = MemStore::new(seed);
            let retention = tallylink_journal::Retention { max_bytes: Some(1), max_age_us: None, freed: false };
            let options = tallylink_journal::Options { retention, ..options() };
            let (mut journal, _) = Journal::open(store.clone(), options.clone()).unwrap();
            let idle = journal.stream(PEER, b"idle").unwrap();
            journal.begin_epoch(idle, EPOCH, 0, 0).unwrap();
            append(&mut journal, idle, EPOCH, 0, &[vec![1; 1000]]).unwrap();
            let stream = journal.stream(PEER, b"s").unwrap();
            journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
            for number in 0..30 {
                append(&mut journal, stream, EPOCH, number, &[vec![1; 1000]]).unwrap();
            }
            journal.commit().unwrap();
            drop(journal);
            // Somebody removed both checkpoints; all segments are there, so nothing is lost yet.
            store.ignore(ignored);
            for name in ["checkpoint-a", "checkpoint-b"] {
                tallylink_journal::Store::remove(&store, name).unwrap();
            }
            let (mut journal, _) = Journal::open(store.clone(), options.clone()).unwrap();
            journal.maintain(0).unwrap();
            drop(journal);
            store.power_cut();
            let (journal, _) = Journal::open(store, options).unwrap();
            forgotten += u32::from(journal.find_stream(PEER, b"idle").is_none());
        }
        assert_eq!(forgotten > 0, ignored.is_some(), "{ignored:?}: {forgotten}");
    }
}
