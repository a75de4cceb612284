//! Repair: at whatever moment the power goes, nothing undamaged is lost, and the next try comes to the same.

use std::collections::BTreeSet;

use tallylink_journal::testing::{Kind, MemStore, entries};
use tallylink_journal::{Check, Error, Journal, Reader, SET_ASIDE_FILE, Store, SyncSite, check, repair};

use crate::common::{EPOCH, PEER};
use crate::sample::{Name, Sample, read, segment_name};

fn look(store: &MemStore) -> Check {
    check(store, &mut |_| {}).unwrap()
}

/// Damages a header, a whole sector and single bytes in several segments. What is left, and the bytes of each place.
fn damage(sample: &Sample, store: &MemStore) -> (BTreeSet<Name>, Vec<Vec<u8>>) {
    let ids: Vec<u64> = sample.segments.keys().copied().collect();
    let mut left = sample.records.clone();
    store.edit(&segment_name(ids[1]), |bytes| bytes[10] ^= 1);
    for (id, bytes) in [(ids[0], 5000..5001), (ids[1], 6144..6656), (ids[2], 4500..4501), (ids[2], 7000..7002)] {
        store.edit(&segment_name(id), |file| file[bytes.start as usize..bytes.end as usize].fill(0xa5));
        bytes.for_each(|byte| left.retain(|record| !sample.cost(id, byte).contains(record)));
    }
    let places = look(store).segments.into_iter().flat_map(|segment| segment.damage);
    let lost = places.map(|d| store.bytes(&segment_name(d.segment))[d.from as usize..d.to as usize].to_vec());
    (left, lost.collect())
}

fn keeps(store: &MemStore, lost: &[Vec<u8>]) -> bool {
    let Ok(names) = store.names() else { return false };
    let is_there = names.iter().any(|name| name == SET_ASIDE_FILE);
    let kept = if is_there { store.bytes(SET_ASIDE_FILE) } else { Vec::new() };
    lost.iter().all(|bytes| kept.windows(bytes.len()).any(|part| part == bytes))
}

#[test]
fn power_cuts_at_every_step_of_a_repair_lose_nothing() {
    let sample = Sample::gateway(60, 16 << 10);
    let mut steps = 0;
    'seeds: for seed in 0..3 {
        for operations in 0.. {
            let store = sample.store.fork(seed * 1000 + operations);
            let (left, lost) = damage(&sample, &store);
            assert!(lost.len() >= 4 && left.len() < sample.records.len());
            store.die_after(operations);
            let ended = repair(store.clone(), &mut |_| {});
            store.revive();
            store.power_cut();
            if ended.is_ok() {
                assert!(look(&store).is_whole() && keeps(&store, &lost), "seed {seed}: done is done");
                continue 'seeds;
            }
            steps += 1;
            repair(store.clone(), &mut |_| {}).unwrap();
            assert!(look(&store).is_whole(), "seed {seed}, step {operations}");
            assert_eq!(read(store.clone()).records, left, "seed {seed}, step {operations}");
            assert!(keeps(&store, &lost), "seed {seed}, step {operations}: every damaged byte is kept");
        }
    }
    assert!(steps > 100, "{steps}");
}

#[test]
fn each_sync_of_a_repair_is_needed() {
    let sample = Sample::gateway(60, 16 << 10);
    for site in SyncSite::REPAIR {
        let broken = (0..200).any(|seed| {
            let store = sample.store.fork(seed);
            let (_, lost) = damage(&sample, &store);
            store.ignore(Some(site));
            repair(store.clone(), &mut |_| {}).unwrap();
            store.power_cut();
            !look(&store).is_whole() || !keeps(&store, &lost)
        });
        assert!(broken, "{site:?} seems not to be needed");
    }
}

#[test]
fn a_missing_segment_stays_missing_but_is_reported_once() {
    let sample = Sample::gateway(60, 16 << 10);
    for &id in sample.segments.keys() {
        let store = sample.store.fork(id);
        store.remove(&segment_name(id)).unwrap();
        assert_eq!(look(&store).missing_segments, [id]);
        let (journal, recovery) = Journal::open(store.clone(), sample.options.clone()).unwrap();
        let is_last = id == sample.last();
        assert!(recovery.missing_segments == 1 || !is_last, "{id}: {recovery:?}");
        drop(journal);
        repair(store.clone(), &mut |_| {}).unwrap();
        let after = look(&store);
        assert!(after.is_whole(), "{id}: {after:?}");
        let lost: BTreeSet<Name> = sample.segments[&id].iter().flat_map(|(_, records)| records.clone()).collect();
        let left: BTreeSet<Name> = sample.records.difference(&lost).copied().collect();
        assert_eq!(read(store).records, left, "{id}");
        assert!(after.streams.iter().any(|s| s.lost_records > 0) || is_last || id == 1, "{id}");
    }
}

#[test]
fn a_segment_without_a_header_gets_one() {
    let sample = Sample::gateway(60, 16 << 10);
    for &id in sample.segments.keys() {
        let store = sample.store.fork(id);
        store.edit(&segment_name(id), |bytes| bytes[..4096].fill(0));
        assert!(!look(&store).is_whole(), "{id}");
        repair(store.clone(), &mut |_| {}).unwrap();
        assert!(look(&store).is_whole(), "{id}: {:?}", look(&store));
        assert_eq!(read(store).records, sample.records, "{id}");
    }
}

#[test]
fn after_a_repair_readers_show_the_gap_and_appending_goes_on() {
    let sample = Sample::gateway(60, 16 << 10);
    let store = sample.store.fork(1);
    let (left, _) = damage(&sample, &store);
    repair(store.clone(), &mut |_| {}).unwrap();
    let mut reader = Reader::open(store.clone()).unwrap();
    let mut missing = 0;
    while let Some(item) = reader.next().unwrap() {
        match item {
            tallylink_journal::Item::Gap(gap) => missing += gap.below - gap.next,
            tallylink_journal::Item::Damage(damage) => panic!("{damage:?}"),
            tallylink_journal::Item::Record(_) => {}
        }
    }
    assert_eq!(missing as usize, sample.records.len() - left.len());
    let lost: u64 = look(&store).streams.iter().map(|stream| stream.lost_records).sum();
    assert_eq!(lost, missing, "what is lost is still told");
    let (mut journal, _) = Journal::open(store.clone(), sample.options.clone()).unwrap();
    let stream = journal.stream(PEER, &[0]).unwrap();
    let next = journal.epoch_state(stream, EPOCH).unwrap().stored_below;
    crate::common::append(&mut journal, stream, EPOCH, next, &[crate::sample::content(0, next)]).unwrap();
    journal.commit().unwrap();
    assert_eq!(read(store).records.len(), left.len() + 1);
}

#[test]
fn a_journal_in_use_is_checked_and_not_repaired() {
    let sample = Sample::gateway(60, 16 << 10);
    let store = sample.store.fork(1);
    damage(&sample, &store);
    let (journal, _) = Journal::open(store.clone(), sample.options.clone()).unwrap();
    assert!(!look(&store).is_whole());
    assert!(matches!(repair(store.clone(), &mut |_| {}), Err(Error::Locked { .. })));
    drop(journal);
}

#[test]
fn a_check_changes_nothing() {
    let sample = Sample::gateway(60, 16 << 10);
    let store = sample.store.fork(1);
    damage(&sample, &store);
    let files =
        |store: &MemStore| -> Vec<_> { store.names().unwrap().iter().map(|n| (n.clone(), store.bytes(n))).collect() };
    let before = files(&store);
    look(&store);
    assert!(before == files(&store));
}

/// A journal of one stream with so many records in each epoch, one in a group. Checkpoints know of all of them.
fn epochs(store: &MemStore, all: &[([u8; 8], u64)]) {
    let (mut journal, _) = Journal::open(store.clone(), crate::common::options()).unwrap();
    let stream = journal.stream(PEER, &[0]).unwrap();
    for &(epoch, records) in all {
        journal.begin_epoch(stream, epoch, 0, 0).unwrap();
        for number in 0..records {
            crate::common::append(&mut journal, stream, epoch, number, &[crate::sample::content(0, number)]).unwrap();
            journal.commit().unwrap();
            journal.maintain(0).unwrap();
        }
    }
    drop(journal);
    // With both checkpoints gone they are made anew, of everything: the last record, too.
    for name in ["checkpoint-a", "checkpoint-b"] {
        store.remove(name).unwrap();
    }
    drop(Journal::open(store.clone(), crate::common::options()).unwrap());
}

#[test]
fn a_lost_end_of_an_earlier_epoch_that_a_checkpoint_knows_of_is_shown_as_a_gap() {
    let store = MemStore::new(1);
    let newer = [[6; 8], [7; 8]];
    epochs(&store, &[(EPOCH, 60), (newer[0], 5), (newer[1], 7)]);
    let chunks: Vec<_> = (1..100)
        .filter(|&id| store.names().unwrap().contains(&segment_name(id)))
        .flat_map(|id| entries(&store, id).into_iter().map(move |(place, kind)| (id, place, kind)))
        .filter(|(.., kind)| matches!(kind, Kind::Chunk { .. }))
        .collect();
    // The last record of each of the older two.
    for (segment, place, _) in [&chunks[59], &chunks[64]] {
        store.edit(&segment_name(*segment), |file| file[place.end as usize - 3] ^= 1);
    }
    repair(store.clone(), &mut |_| {}).unwrap();
    assert!(look(&store).is_whole());
    let shown = |store: &MemStore| {
        let mut reader = Reader::open(store.clone()).unwrap();
        let (mut records, mut gaps) = (0, Vec::new());
        while let Some(item) = reader.next().unwrap() {
            match item {
                tallylink_journal::Item::Gap(gap) => {
                    assert_eq!(gap.reason, None);
                    gaps.push((gap.epoch, gap.next, gap.below, gap.index));
                }
                tallylink_journal::Item::Damage(damage) => panic!("{damage:?}"),
                tallylink_journal::Item::Record(_) => records += 1,
            }
        }
        (records, gaps)
    };
    let gaps = vec![(EPOCH, 59, 60, 59), (newer[0], 4, 5, 64)];
    assert_eq!(shown(&store), (70, gaps.clone()));
    assert_eq!(look(&store).streams[0].lost_records, 2);
    // The next try has nothing to do, and appending goes on in the newest epoch.
    repair(store.clone(), &mut |_| {}).unwrap();
    assert_eq!(shown(&store), (70, gaps.clone()));
    let (mut journal, _) = Journal::open(store.clone(), crate::common::options()).unwrap();
    let stream = journal.stream(PEER, &[0]).unwrap();
    crate::common::append(&mut journal, stream, newer[1], 7, &[crate::sample::content(0, 7)]).unwrap();
    journal.commit().unwrap();
    assert_eq!(journal.index_end(stream), 73);
    assert_eq!(shown(&store), (71, gaps));
}

#[test]
fn a_lost_end_that_a_checkpoint_knows_of_is_shown_as_a_gap() {
    let store = MemStore::new(1);
    epochs(&store, &[(EPOCH, 60)]);
    let (last, end) = {
        let found = look(&store).segments.pop().unwrap();
        (segment_name(found.segment), found.counted as usize)
    };
    store.edit(&last, |bytes| bytes[end - 3] ^= 1);
    assert_eq!(look(&store).streams[0].lost_records, 1);
    repair(store.clone(), &mut |_| {}).unwrap();
    assert!(look(&store).is_whole());
    let all = crate::common::read_all(store.clone());
    assert_eq!((all.records.len(), all.gaps), (59, vec![(59, 60, None)]));
    assert_eq!(look(&store).streams[0].lost_records, 1);
}
