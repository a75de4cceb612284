//! What is committed comes back: same bytes, same order, same indexes.

use crate::common::{EPOCH, PEER, append, append_part, options, read_all, stored};
use tallylink_journal::testing::{Fault, MemStore, Operation};
use tallylink_journal::{Dir, Error, Journal, Options, Packed, Position, Reader, SyncSite};

fn records(from: u64, count: u64) -> Vec<Vec<u8>> {
    (from..from + count).map(|n| vec![n as u8; (n * 37 % 300) as usize]).collect()
}

#[test]
fn records_come_back_in_order_from_a_real_directory_across_openings_and_segments() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = Dir::create(temporary.path().join("a/b")).unwrap();
    let mut number = 0;
    for opening in 0..4 {
        let (mut journal, recovery) = Journal::open(dir.clone(), options()).unwrap();
        assert_eq!(recovery.created, opening == 0);
        assert_eq!(recovery.damaged_places, 0);
        let stream = journal.stream(PEER, b"s").unwrap();
        journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
        let state = journal.epoch_state(stream, EPOCH).unwrap();
        assert_eq!((state.stored_below, state.next), (number, Position::start_of(number)));
        for _ in 0..100 {
            append(&mut journal, stream, EPOCH, number, &records(number, 20)).unwrap();
            number += 20;
            if number % 200 == 0 {
                assert_eq!(journal.commit().unwrap()[0].below, number);
                journal.maintain(0).unwrap();
            }
        }
    }
    let all = read_all(dir);
    assert_eq!((all.gaps.len(), all.damaged_bytes), (0, 0));
    assert_eq!(all.records.len() as u64, number);
    for (n, seen) in (0..).zip(&all.records) {
        assert_eq!((seen.number, seen.index), (n, n));
        assert_eq!(seen.bytes, records(n, 1)[0]);
        assert_eq!((seen.peer, &seen.stream[..], seen.epoch), (PEER, &b"s"[..], EPOCH));
    }
}

#[test]
fn a_record_in_parts_is_joined_across_groups_and_segments() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    let stream = journal.stream(PEER, b"big").unwrap();
    journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
    let big: Vec<u8> = (0..3_000_000_u32).map(|n| n as u8).collect();
    let bytes = stored(std::slice::from_ref(&big));
    for (number, step) in [(0, 100_000), (1, 7_000), (2, 1 << 20)] {
        for at in (0..bytes.len()).step_by(step) {
            append_part(&mut journal, stream, number, &bytes, at..(at + step).min(bytes.len())).unwrap();
            if number == 1 && at % 3 == 0 {
                journal.commit().unwrap();
            }
        }
    }
    assert_eq!(journal.commit().unwrap()[0].below, 3);
    let all = read_all(store);
    assert_eq!(all.records.len(), 3);
    assert!(all.records.iter().all(|seen| seen.bytes == big));
}

#[test]
fn a_part_that_is_not_continued_is_void_and_the_record_begins_again() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    let stream = journal.stream(PEER, b"s").unwrap();
    journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
    let bytes = stored(&[vec![5; 1000]]);
    append_part(&mut journal, stream, 0, &bytes, 0..600).unwrap();
    assert_eq!(journal.commit().unwrap()[0].below, 0);
    append_part(&mut journal, stream, 0, &bytes, 0..900).unwrap();
    let ahead = append_part(&mut journal, stream, 0, &bytes, 950..1002);
    assert!(matches!(ahead, Err(Error::OutOfOrder { expected: Position { number: 0, offset: 900 }, .. })));
    append_part(&mut journal, stream, 0, &bytes, 900..1002).unwrap();
    assert_eq!(journal.commit().unwrap()[0].below, 1);
    drop(journal);

    // An unfinished record is void at an opening, too.
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    append_part(&mut journal, stream, 1, &bytes, 0..500).unwrap();
    journal.commit().unwrap();
    drop(journal);
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    assert_eq!(journal.epoch_state(stream, EPOCH).unwrap().next, Position::start_of(1));
    assert!(append_part(&mut journal, stream, 1, &bytes, 500..1002).is_err());
    append(&mut journal, stream, EPOCH, 1, &[vec![6; 3]]).unwrap();
    journal.commit().unwrap();
    let all = read_all(store);
    let seen: Vec<_> = all.records.iter().map(|seen| (seen.number, seen.bytes.clone())).collect();
    assert_eq!(seen, [(0, vec![5; 1000]), (1, vec![6; 3])]);
    assert!(all.gaps.is_empty());
}

#[test]
fn gaps_consume_numbers_and_indexes_and_keep_their_reason() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    let stream = journal.stream(PEER, b"s").unwrap();
    journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
    append(&mut journal, stream, EPOCH, 0, &records(0, 2)).unwrap();
    journal.gap(stream, EPOCH, 10, 7, 5).unwrap();
    assert!(journal.gap(stream, EPOCH, 10, 7, 5).is_err());
    append(&mut journal, stream, EPOCH, 10, &records(10, 1)).unwrap();
    assert_eq!(journal.commit().unwrap()[0].below, 11);
    let all = read_all(store);
    assert_eq!(all.gaps, [(2, 10, Some(7))]);
    assert_eq!(all.records.iter().map(|r| r.index).collect::<Vec<_>>(), [0, 1, 10]);
}

#[test]
fn a_new_epoch_and_a_return_to_an_old_one_count_on_from_above_the_last_index() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    let stream = journal.stream(PEER, b"s").unwrap();
    let (old, new) = (*b"old-old-", *b"new-new-");
    journal.begin_epoch(stream, old, 0, 0).unwrap();
    append(&mut journal, stream, old, 0, &records(0, 3)).unwrap();
    journal.begin_epoch(stream, new, 0, 100).unwrap();
    append(&mut journal, stream, new, 0, &records(0, 2)).unwrap();
    append(&mut journal, stream, old, 3, &records(3, 2)).unwrap();
    let stored: Vec<_> = journal.commit().unwrap().iter().map(|s| (s.epoch, s.below)).collect();
    assert_eq!(stored, [(old, 5), (new, 2)]);
    drop(journal);
    let (journal, _) = Journal::open(store.clone(), options()).unwrap();
    assert_eq!(journal.newest_epoch(stream).unwrap().0, new);
    assert_eq!(journal.epoch_state(stream, old).unwrap().stored_below, 5);
    let all = read_all(store);
    let seen: Vec<_> = all.records.iter().map(|r| (r.epoch, r.number, r.index)).collect();
    let expected = [(old, 0, 0), (old, 1, 1), (old, 2, 2), (new, 0, 100), (new, 1, 101), (old, 3, 105), (old, 4, 106)];
    assert_eq!(seen, expected);
    assert!(all.gaps.is_empty());
}

#[test]
fn a_second_writer_is_refused_by_name_while_the_first_lives() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = Dir::create(temporary.path()).unwrap();
    let first = Journal::open(dir.clone(), options()).unwrap();
    let Err(error) = Journal::open(dir.clone(), options()) else { panic!("two writers") };
    assert!(error.to_string().contains("/lock is held by another process"), "{error}");
    drop(first);
    Journal::open(dir, options()).unwrap();
}

#[test]
fn what_contradicts_itself_or_is_out_of_range_changes_nothing() {
    let store = MemStore::new(1);
    let small = Options { segment_bytes: 1 << 10, ..options() };
    assert!(matches!(Journal::open(store.clone(), small), Err(Error::SegmentTooSmall(_))));
    let (mut journal, _) = Journal::open(store.clone(), Options { max_streams: 1, ..options() }).unwrap();
    assert!(matches!(journal.stream(PEER, &[0; 65]), Err(Error::NameTooLong(65))));
    let stream = journal.stream(PEER, &[0; 64]).unwrap();
    assert!(matches!(journal.stream(PEER, b"two"), Err(Error::TooManyStreams(1))));
    assert!(matches!(append(&mut journal, stream, EPOCH, 0, &records(0, 1)), Err(Error::UnknownEpoch)));
    journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
    assert!(matches!(append(&mut journal, stream, EPOCH, 1, &records(0, 1)), Err(Error::OutOfOrder { .. })));
    assert!(matches!(append(&mut journal, stream, EPOCH, 0, &[]), Err(Error::BadChunk(_))));
    assert!(journal.freed(stream, EPOCH, 1).is_err());
    assert!(journal.commit().unwrap().is_empty());
    append(&mut journal, stream, EPOCH, 0, &records(0, 1)).unwrap();
    assert_eq!(journal.commit().unwrap()[0].below, 1);
    assert_eq!(read_all(store).records.len(), 1);
}

#[test]
fn batches_hold_the_same_bytes_as_the_records_one_by_one() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    let stream = journal.stream(PEER, b"s").unwrap();
    journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
    let mut packed = Vec::new();
    for number in (0..60).step_by(6) {
        append(&mut journal, stream, EPOCH, number, &records(number, 5)).unwrap();
        packed.extend(stored(&records(number, 5)));
        let parted = stored(&[vec![number as u8; 4000]]);
        append_part(&mut journal, stream, number + 5, &parted, 0..1500).unwrap();
        append_part(&mut journal, stream, number + 5, &parted, 1500..4002).unwrap();
        packed.extend(parted);
    }
    journal.commit().unwrap();
    let mut reader = Reader::open(store.clone()).unwrap();
    let (mut bytes, mut next, mut batches) = (Vec::new(), 0, 0);
    while let Some(Packed::Batch(batch)) = reader.next_batch().unwrap() {
        assert_eq!((batch.number, batch.index), (next, next));
        next += batch.count;
        batches += 1;
        bytes.extend_from_slice(batch.bytes);
    }
    assert_eq!((next, batches), (60, 20));
    assert!(bytes == packed);
    assert_eq!(read_all(store).records.len(), 60);
}

#[test]
fn marks_and_what_a_failed_write_undid_use_no_index() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    let stream = journal.stream(PEER, b"s").unwrap();
    let later = *b"epoch-02";
    journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
    append(&mut journal, stream, EPOCH, 0, &[vec![0], vec![1]]).unwrap();
    journal.commit().unwrap();
    for number in 0..4 {
        journal.begin_epoch(stream, later, 0, 0).unwrap();
        append(&mut journal, stream, later, number, &[vec![2]]).unwrap();
        let kind = std::io::ErrorKind::Other;
        store.add_fault(Fault { operation: Operation::Sync(SyncSite::Group), after: 0, times: 1, kind });
        journal.commit().unwrap_err();
        journal.rewind();
        assert_eq!(journal.index_end(stream), 2 + number);
        journal.begin_epoch(stream, later, 0, 0).unwrap();
        append(&mut journal, stream, later, number, &[vec![2]]).unwrap();
        journal.freed(stream, EPOCH, number.min(2)).unwrap();
        journal.commit().unwrap();
        assert_eq!(journal.index_end(stream), 3 + number);
    }
    drop(journal);
    let (journal, _) = Journal::open(store.clone(), options()).unwrap();
    assert_eq!(journal.index_end(stream), 6);
    let indexes: Vec<u64> = read_all(store).records.iter().map(|seen| seen.index).collect();
    assert_eq!(indexes, [0, 1, 2, 3, 4, 5]);
}
