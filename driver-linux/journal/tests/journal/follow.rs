//! Readers beside a writer, in this process and another.

use tallylink_journal::testing::MemStore;
use tallylink_journal::{Dir, Item, Journal, Options, Reader, Retention, Store};

use crate::common::{EPOCH, PEER, append, append_part, drain, options, read_all, stored};

#[test]
fn a_follower_sees_each_group_once_it_is_synced_and_nothing_sooner() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = Dir::create(temporary.path()).unwrap();
    let (mut journal, _) = Journal::open(dir.clone(), options()).unwrap();
    let mut reader = Reader::open(Dir::open(temporary.path()).unwrap()).unwrap();
    let stream = journal.stream(PEER, b"s").unwrap();
    journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
    assert!(reader.next().unwrap().is_none());
    let mut seen = 0;
    for group in 0..300_u64 {
        for number in group * 3..group * 3 + 3 {
            append(&mut journal, stream, EPOCH, number, &[vec![number as u8; 500]]).unwrap();
            // Written to the segment perhaps, as the buffer is small, but not synced.
            assert!(reader.next().unwrap().is_none() || number > seen);
        }
        journal.commit().unwrap();
        if group % 7 == 0 {
            let all = drain(&mut reader);
            assert!(all.gaps.is_empty() && all.damaged_bytes == 0);
            for record in all.records {
                assert_eq!(record.bytes, vec![record.number as u8; 500]);
                seen = record.number;
            }
        }
    }
    drain(&mut reader);
    assert!(reader.next().unwrap().is_none());
}

#[test]
fn a_follower_finds_what_is_there_although_all_that_it_had_listed_is_deleted() {
    let store = MemStore::new(1);
    let retention = Retention { freed: true, ..Retention::default() };
    let (mut journal, _) = Journal::open(store.clone(), Options { retention, ..options() }).unwrap();
    let stream = journal.stream(PEER, b"s").unwrap();
    journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
    let mut below = 0;
    let mut fill = |journal: &mut Journal<MemStore>, segments: u64| {
        let wanted = journal.stats().segments + segments;
        while journal.stats().segments < wanted {
            append(journal, stream, EPOCH, below, &[vec![below as u8; 1500]]).unwrap();
            below = journal.commit().unwrap()[0].below;
        }
        below
    };
    fill(&mut journal, 4);
    let mut reader = Reader::open(store).unwrap();
    assert!(matches!(reader.next().unwrap(), Some(Item::Record(r)) if r.number == 0));

    // All that it knows of is delivered and goes; then more comes.
    let listed = fill(&mut journal, 1);
    journal.freed(stream, EPOCH, listed).unwrap();
    journal.commit().unwrap();
    while journal.maintain(0).unwrap().deleted > 0 {}
    let end = fill(&mut journal, 2);
    let all = drain(&mut reader);
    assert_eq!(all.records.last().map(|r| r.number), Some(end - 1), "{:?}", all.gaps);
}

#[test]
fn a_follower_goes_on_across_openings_failures_and_given_up_segments() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    let mut reader = Reader::open(store.clone()).unwrap();
    let mut numbers = Vec::new();
    let mut below = 0;
    for round in 0..40 {
        let stream = journal.stream(PEER, b"s").unwrap();
        journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
        append(&mut journal, stream, EPOCH, below, &vec![vec![9; 700]; 4]).unwrap();
        match round % 4 {
            0 => drop(journal.rewind().len()),
            1 => {
                below = journal.commit().unwrap()[0].below;
                append(&mut journal, stream, EPOCH, below, &vec![vec![9; 700]; 9]).unwrap();
                journal.rewind();
            }
            2 => {
                below = journal.commit().unwrap()[0].below;
                drop(journal);
                journal = Journal::open(store.clone(), options()).unwrap().0;
            }
            _ => below = journal.commit().unwrap()[0].below,
        }
        numbers.extend(drain(&mut reader).records.iter().map(|record| record.number));
    }
    assert_eq!(numbers, (0..below).collect::<Vec<_>>());
    assert_eq!(read_all(store).records.len() as u64, below);
}

#[test]
fn a_record_whose_parts_come_while_a_reader_follows_is_joined() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    let stream = journal.stream(PEER, b"s").unwrap();
    journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
    let bytes = stored(&[(0..=255).cycle().take(50_000).collect()]);
    let mut reader = Reader::open(store).unwrap();
    for at in (0..bytes.len()).step_by(5000) {
        assert!(reader.next().unwrap().is_none());
        append_part(&mut journal, stream, 0, &bytes, at..(at + 5000).min(bytes.len())).unwrap();
        journal.commit().unwrap();
    }
    let Some(Item::Record(record)) = reader.next().unwrap() else { panic!("one record") };
    assert_eq!(record.bytes, &bytes[4..]);
}

#[test]
fn a_reader_since_a_time_leaves_out_older_segments_only() {
    let store = MemStore::new(1);
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    let stream = journal.stream(PEER, b"s").unwrap();
    journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
    for number in 0..200 {
        append(&mut journal, stream, EPOCH, number, &[vec![1; 1000]]).unwrap();
    }
    journal.commit().unwrap();
    // Record n arrived at 1,000,000 + n.
    let all = drain(&mut Reader::since(store, 1_000_150).unwrap());
    let first = all.records[0].number;
    assert!(first > 100 && first <= 150, "{first}");
    assert_eq!(all.records.last().unwrap().number, 199);
    assert!(all.gaps.is_empty());
}

#[test]
fn a_directory_without_a_journal_is_named() {
    let store = MemStore::new(1);
    let error = Reader::open(store.clone()).err().unwrap().to_string();
    assert!(error.starts_with("memory/position: cannot find a journal"), "{error}");
    // Other files do not disturb.
    store.create("notes.txt").unwrap();
    Journal::open(store.clone(), options()).unwrap();
    assert!(read_all(store).records.is_empty());
}
