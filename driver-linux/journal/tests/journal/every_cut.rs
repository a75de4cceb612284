//! The last 64 KiB, cut at every byte: opening finishes, what lies before the cut is there, and nothing else is.

use tallylink_journal::{Journal, Store, check};

use crate::common::EPOCH;
use crate::sample::{Name, Sample, checkpoint_len, read, segment_name};

const LAST: u64 = 64 << 10;

/// Cuts the last segment at every one of its last 65,536 bytes.
fn cut_everywhere(sample: &Sample, keeps_position: bool) {
    let last = sample.last();
    let end = sample.end(last);
    assert!(end > 4096 + LAST, "the last segment holds all of it: {end}");
    sample.store.edit(&segment_name(last), |bytes| bytes.truncate(end as usize));
    let full = sample.store.bytes(&segment_name(last));
    // What is whole of the journal with the entries up to each place, from the longest cut on.
    let mut there: Vec<Name> = sample.records.iter().copied().collect();
    let mut entries = sample.segments[&last].clone();
    for len in (end - LAST..=end).rev() {
        while let Some((_, records)) = entries.pop_if(|(place, _)| place.end > len) {
            there.retain(|record| !records.contains(record));
        }
        let store = sample.fork(1);
        store.edit(&segment_name(last), |bytes| {
            bytes.clear();
            bytes.extend_from_slice(&full[..len as usize]);
        });
        if !keeps_position {
            store.remove("position").unwrap();
        }
        let (journal, recovery) = Journal::open(store.clone(), sample.options.clone()).unwrap();
        for (stream, _, name) in journal.streams() {
            let below = journal.epoch_state(stream, EPOCH).unwrap().stored_below;
            let highest = there.iter().rfind(|record| record.0 == name[0]).map(|record| record.1);
            assert!(Some(below) > highest, "cut at {len}: {below} {highest:?}");
        }
        drop(journal);
        let shown = read(store.clone());
        assert!(shown.records.iter().eq(&there), "cut at {len}");
        if there.len() < sample.records.len() && keeps_position {
            assert!(recovery.damaged_places > 0 && shown.damaged_bytes > 0, "cut at {len}: unreported");
            if len % 1024 == 0 {
                assert!(!check(&store, &mut |_| {}).unwrap().is_whole(), "cut at {len}");
            }
        }
    }
}

#[test]
fn a_gateways_journal_cut_at_every_byte_keeps_what_lies_before() {
    cut_everywhere(&Sample::gateway(90, 1 << 20), true);
}

#[test]
fn a_gateways_journal_cut_at_every_byte_without_its_position() {
    cut_everywhere(&Sample::gateway(90, 1 << 20), false);
}

#[test]
fn an_outbox_cut_at_every_byte_keeps_what_lies_before() {
    cut_everywhere(&Sample::outbox(140, 1 << 20), true);
}

#[test]
fn a_checkpoint_cut_at_every_byte_costs_nothing() {
    let sample = Sample::gateway(20, 16 << 10);
    for name in ["checkpoint-a", "checkpoint-b"] {
        let full = sample.store.bytes(name);
        let used = checkpoint_len(&full);
        for len in 0..=used {
            let store = sample.fork(1);
            store.edit(name, |bytes| bytes.truncate(len));
            let (_, recovery) = Journal::open(store.clone(), sample.options.clone()).unwrap();
            assert_eq!(recovery.broken_checkpoints, u32::from(len < used), "{name} cut at {len}");
            assert_eq!(read(store.clone()).records, sample.records);
            assert!(check(&store, &mut |_| {}).unwrap().is_whole(), "{name} cut at {len}: opening writes it anew");
        }
    }
}
