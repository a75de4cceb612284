//! Missing ends and missing files: opening finishes, what is left is readable, and appending goes on.

use crate::common::{EPOCH, PEER, append, append_part, options, read_all, stored};
use tallylink_journal::testing::MemStore;
use tallylink_journal::{Journal, StreamId};

/// A finished journal: what each chunk holds, as (stream name, number).
struct Written {
    store: MemStore,
    /// Per entry with records: those that cannot be read without it.
    chunks: Vec<Vec<(u8, u64)>>,
    names: Vec<String>,
}

fn content(stream: u8, number: u64) -> Vec<u8> {
    vec![stream ^ number as u8; 20 + (number * 7 % 90) as usize]
}

fn write(groups: u64) -> Written {
    let store = MemStore::new(3);
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    let mut chunks = Vec::new();
    let mut next = [0_u64; 2];
    let streams: Vec<StreamId> = (0..2).map(|s| journal.stream(PEER, &[s]).unwrap()).collect();
    for &stream in &streams {
        journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
    }
    for group in 0..groups {
        for s in [0, 1, 0] {
            let first = next[s];
            let count = 1 + (first + group) % 5;
            let records: Vec<_> = (first..first + count).map(|n| content(s as u8, n)).collect();
            append(&mut journal, streams[s], EPOCH, first, &records).unwrap();
            chunks.push((first..first + count).map(|n| (s as u8, n)).collect());
            next[s] += count;
        }
        // Now and then a record in two parts.
        if group % 4 == 0 {
            let number = next[0];
            let bytes = stored(&[content(0, number)]);
            append_part(&mut journal, streams[0], number, &bytes, 0..10).unwrap();
            append_part(&mut journal, streams[0], number, &bytes, 10..bytes.len()).unwrap();
            chunks.push(vec![(0, number)]);
            next[0] += 1;
        }
        journal.commit().unwrap();
        if group == groups / 2 {
            drop(journal);
            journal = Journal::open(store.clone(), options()).unwrap().0;
            journal.maintain(0).unwrap();
        }
    }
    drop(journal);
    let names = tallylink_journal::Store::names(&store).unwrap();
    Written { store, chunks, names }
}

/// Opens a damaged copy and returns what is missing and whether damage was told, by opening or by reading.
fn missing(store: &MemStore, chunks: &[Vec<(u8, u64)>]) -> (Vec<(u8, u64)>, bool) {
    let (journal, recovery) = Journal::open(store.clone(), options()).unwrap();
    drop(journal);
    let all = read_all(store.clone());
    let mut last = [None; 2];
    let mut found = std::collections::BTreeSet::new();
    for seen in &all.records {
        let stream = seen.stream[0];
        assert_eq!(seen.bytes, content(stream, seen.number));
        assert!(last[usize::from(stream)] < Some(seen.number), "order");
        last[usize::from(stream)] = Some(seen.number);
        found.insert((stream, seen.number));
    }
    let told = recovery.damaged_places + recovery.missing_segments > 0 || all.damaged_bytes > 0;
    let every = chunks.iter().flatten().copied();
    (every.filter(|record| !found.contains(record)).collect(), told)
}

#[test]
fn whatever_the_last_segment_is_cut_to_the_chunks_before_the_cut_are_there() {
    let written = write(60);
    let last = written.names.iter().rfind(|name| name.ends_with("segment")).unwrap();
    let full = written.store.bytes(last);
    let used = full.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    let mut lost_before = 0;
    for len in (used.saturating_sub(1200)..=used).rev() {
        // With what was published last, and as after a power cut that lost it.
        for keep_position in [true, false] {
            let store = written.store.fork(1);
            store.edit(last, |bytes| bytes.truncate(len));
            if !keep_position {
                tallylink_journal::Store::remove(&store, "position").unwrap();
            }
            let (missing, told) = missing(&store, &written.chunks);
            // In the order they were written, all chunks but the last few.
            let intact = written.chunks.iter().take_while(|c| c.iter().all(|r| !missing.contains(r)));
            let kept = intact.count();
            let lost: usize = written.chunks[kept..].iter().map(Vec::len).sum();
            assert_eq!(missing.len(), lost, "length {len}: {missing:?}");
            assert!(lost >= lost_before || !keep_position, "length {len}");
            assert!(missing.is_empty() || told || !keep_position, "length {len}: unreported");
            lost_before = lost;
            if len % 32 == 0 {
                goes_on(&store);
            }
        }
    }
    assert!(lost_before > 10);
}

/// Whatever was found, appending goes on.
fn goes_on(store: &MemStore) {
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    let stream = journal.stream(PEER, &[0]).unwrap();
    let next = journal.epoch_state(stream, EPOCH).unwrap().stored_below;
    append(&mut journal, stream, EPOCH, next, &[content(0, next)]).unwrap();
    journal.commit().unwrap();
    drop(journal);
    let (journal, _) = Journal::open(store.clone(), options()).unwrap();
    assert_eq!(journal.epoch_state(stream, EPOCH).unwrap().stored_below, next + 1);
}

#[test]
fn a_lost_segment_is_reported_and_the_others_stay_readable() {
    let written = write(80);
    let segments: Vec<&String> = written.names.iter().filter(|n| n.ends_with("segment")).collect();
    for (nth, name) in segments.iter().enumerate() {
        let store = written.store.fork(1);
        tallylink_journal::Store::remove(&store, name).unwrap();
        // The checkpoints cover some of them: then opening does not look, and the reader tells.
        let (_, recovery) = Journal::open(store.clone(), options()).unwrap();
        let all = read_all(store);
        let gaps = all.gaps.iter().filter(|gap| gap.2.is_none()).count();
        let at_an_end = nth == 0 || nth == segments.len() - 1;
        assert!(gaps > 0 || recovery.missing_segments == 1 || at_an_end, "{name}: {recovery:?}");
        assert!(all.records.len() > 100);
    }
}

#[test]
fn without_any_checkpoint_all_segments_are_read_and_tell_the_same() {
    let written = write(80);
    let before = Journal::open(written.store.fork(1), options()).unwrap();
    let store = written.store.fork(1);
    for file in ["checkpoint-a", "checkpoint-b", "position"] {
        tallylink_journal::Store::remove(&store, file).unwrap();
    }
    let (journal, recovery) = Journal::open(store.clone(), options()).unwrap();
    assert!(!recovery.created && recovery.scanned_bytes > before.1.scanned_bytes);
    for (stream, ..) in before.0.streams() {
        assert_eq!(journal.newest_epoch(stream), before.0.newest_epoch(stream));
    }
    drop(journal);
    assert!(missing(&store, &written.chunks).0.is_empty());
}

#[test]
fn an_opening_that_is_asked_to_stop_changes_nothing_and_the_next_one_finishes() {
    let written = write(80);
    for file in ["checkpoint-a", "checkpoint-b"] {
        tallylink_journal::Store::remove(&written.store, file).unwrap();
    }
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let asked = Journal::open_until(written.store.clone(), options(), &stop);
    assert!(matches!(asked, Err(tallylink_journal::Error::Stopped)));
    drop(asked);
    assert!(missing(&written.store, &written.chunks).0.is_empty());
}
