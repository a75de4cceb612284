//! One flipped bit anywhere: exactly what it hits is missing and reported, and repair makes the rest whole again.

use std::collections::BTreeSet;

use tallylink_journal::testing::{Chance, MemStore};
use tallylink_journal::{FileCheck, Journal, SET_ASIDE_FILE, Store, check, repair};

use crate::common::EPOCH;
use crate::sample::{Sample, checkpoint_len, read, segment_name};

const FLIPS: u64 = 1000;

fn flip(store: &MemStore, name: &str, bit: u64) {
    store.edit(name, |bytes| bytes[bit as usize / 8] ^= 1 << (bit % 8));
}

/// Whether a segment's byte at `offset` is one that counts: the header's copies and the entries.
fn counts(offset: u64, end: u64) -> bool {
    offset < 64 || (2048..2112).contains(&offset) || (4096..end).contains(&offset)
}

fn flip_segments(sample: &Sample, seed: u64) {
    let mut chance = Chance::new(seed);
    let (mut lossless, mut lossy) = (0, 0);
    for round in 0..FLIPS {
        let segment = *sample.segments.keys().nth(chance.below(sample.segments.len() as u64) as usize).unwrap();
        let (name, end) = (segment_name(segment), sample.end(segment));
        let bit = chance.below(end * 8);
        let what = format!("seed {seed} round {round}: {name} bit {bit}");
        let store = sample.fork(round);
        flip(&store, &name, bit);
        let damaged = store.bytes(&name);
        let cost = sample.cost(segment, bit / 8);
        let left: BTreeSet<_> = sample.records.difference(&cost).copied().collect();

        let found = check(&store, &mut |_| {}).unwrap();
        assert_eq!(found.is_whole(), !counts(bit / 8, end), "{what}");
        assert_eq!(found.streams.iter().map(|s| s.records).sum::<u64>(), left.len() as u64, "{what}");
        let (journal, _) = Journal::open(store.clone(), sample.options.clone()).unwrap();
        for (stream, number) in &left {
            let id = journal.find_stream(crate::common::PEER, &[*stream]).unwrap();
            assert!(journal.epoch_state(id, EPOCH).unwrap().stored_below > *number, "{what}");
        }
        drop(journal);
        let shown = read(store.clone());
        assert_eq!(shown.records, left, "{what}");
        assert!(cost.is_empty() || shown.damaged_bytes > 0, "{what}: unreported");
        *if cost.is_empty() { &mut lossless } else { &mut lossy } += 1;

        store.set_capacity(u64::MAX);
        let repaired = repair(store.clone(), &mut |_| {}).unwrap();
        assert_eq!((repaired.places + repaired.headers) > 0, !found.is_whole(), "{what}");
        let after = check(&store, &mut |_| {}).unwrap();
        assert!(after.is_whole(), "{what}: {after:?}");
        assert_eq!(read(store.clone()).records, left, "{what}: repaired");
        if repaired.places > 0 {
            let damage = found.segments.iter().find(|s| s.segment == segment).unwrap().damage[0];
            let kept = store.bytes(SET_ASIDE_FILE);
            let lost = &damaged[damage.from as usize..damage.to as usize];
            assert!(kept.windows(lost.len()).any(|part| part == lost), "{what}: set aside");
        }
        let again = repair(store.clone(), &mut |_| {}).unwrap();
        assert_eq!((again.places, again.headers), (0, 0), "{what}");
    }
    assert!(lossless > 50 && lossy > 500, "{lossless} {lossy}");
}

#[test]
fn a_flipped_bit_of_a_gateways_journal_costs_the_records_it_is_in_and_repair_keeps_the_rest() {
    flip_segments(&Sample::gateway(60, 16 << 10), 11);
}

#[test]
fn a_flipped_bit_of_an_outbox_costs_the_records_it_is_in_and_repair_keeps_the_rest() {
    flip_segments(&Sample::outbox(90, 16 << 10), 12);
}

#[test]
fn a_flipped_bit_of_a_checkpoint_costs_nothing_and_is_reported() {
    let sample = Sample::gateway(20, 16 << 10);
    let mut chance = Chance::new(13);
    for round in 0..FLIPS {
        let slot = chance.below(2) as usize;
        let name = ["checkpoint-a", "checkpoint-b"][slot];
        let used = checkpoint_len(&sample.store.bytes(name)) as u64;
        // The header and the table; nothing stands between.
        let byte = chance.below(80 + used - 512);
        let bit = (if byte < 80 { byte } else { byte - 80 + 512 }) * 8 + chance.below(8);
        let what = format!("round {round}: {name} bit {bit}");
        let store = sample.fork(round);
        flip(&store, name, bit);
        let found = check(&store, &mut |_| {}).unwrap();
        assert_eq!(found.checkpoints[slot], FileCheck::Damaged, "{what}");
        assert!(!found.is_whole());
        let (_, recovery) = Journal::open(store.clone(), sample.options.clone()).unwrap();
        assert_eq!((recovery.broken_checkpoints, recovery.damaged_places), (1, 0), "{what}");
        assert_eq!(read(store.clone()).records, sample.records, "{what}");
        assert!(check(&store, &mut |_| {}).unwrap().is_whole(), "{what}: opening writes it anew");
    }
}

#[test]
fn a_flipped_bit_of_the_published_position_costs_nothing_and_is_reported() {
    let sample = Sample::gateway(20, 16 << 10);
    for bit in 0..44 * 8 {
        let store = sample.fork(bit);
        flip(&store, "position", bit);
        assert_eq!(check(&store, &mut |_| {}).unwrap().position, FileCheck::Damaged, "bit {bit}");
        drop(Journal::open(store.clone(), sample.options.clone()).unwrap());
        assert_eq!(read(store.clone()).records, sample.records, "bit {bit}");
        assert!(check(&store, &mut |_| {}).unwrap().is_whole(), "bit {bit}");
    }
}

#[test]
fn segments_without_anything_that_names_their_journal_are_left_alone() {
    let sample = Sample::gateway(20, 16 << 10);
    let store = sample.fork(1);
    for name in ["checkpoint-a", "checkpoint-b", "position"] {
        store.remove(name).unwrap();
    }
    for &segment in sample.segments.keys() {
        store.edit(&segment_name(segment), |bytes| bytes[..4096].fill(0xff));
    }
    let segments = |store: &MemStore| store.names().unwrap().iter().filter(|n| n.ends_with("segment")).count();
    let before = segments(&store);
    let refused = Journal::open(store.clone(), sample.options.clone()).err().expect("refused").to_string();
    assert!(refused.contains("tells which journal they are of"), "{refused}");
    assert_eq!(segments(&store), before);
}
