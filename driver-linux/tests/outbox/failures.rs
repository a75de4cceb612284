//! A disk that fails under an outbox.

use crate::common::{Receiver, drain, epoch, group, open, record};
use std::io::ErrorKind;
use tallylink_journal::SyncSite;
use tallylink_journal::testing::{Fault, MemStore, Operation};

/// Appends and commits until it works; how often it did not.
fn insist(outbox: &mut tallylink_linux::outbox::Outbox<MemStore>, seed: u64, numbers: std::ops::Range<u64>) -> u32 {
    let group = group(seed, numbers);
    let mut failures = 0;
    loop {
        match outbox.append(&group, 1_000_000).and_then(|()| outbox.commit()) {
            Ok(()) => return failures,
            Err(_) => {
                failures += 1;
                outbox.rewind();
            }
        }
        assert!(failures < 20, "it never works again");
    }
}

#[test]
fn whatever_fails_and_whenever_a_group_goes_in_once_and_what_is_durable_goes_out() {
    let operations = [
        Operation::Create,
        Operation::Allocate,
        Operation::Write,
        Operation::Sync(SyncSite::SegmentName),
        Operation::Sync(SyncSite::Group),
    ];
    for operation in operations {
        let mut failures = 0;
        for (after, times) in (0..12).flat_map(|after| [(after, 1), (after, 3)]) {
            let store = MemStore::new(1);
            let mut outbox = open(&store, 1);
            let mut receiver = Receiver::default();
            assert_eq!(insist(&mut outbox, 1, 0..300), 0);
            store.add_fault(Fault { operation, after, times, kind: ErrorKind::StorageFull });
            for part in 1..6 {
                failures += insist(&mut outbox, 1, part * 300..(part + 1) * 300);
                let mut block = Vec::new();
                while let Some(next) = outbox.next(&mut block).unwrap() {
                    let stored = receiver.take(next, &block);
                    assert!(stored <= outbox.durable_below());
                    outbox.free(next.epoch, stored);
                }
            }
            store.clear_faults();
            drain(&mut outbox, &mut receiver);
            let stored = &receiver.stored[&epoch(1)];
            assert_eq!(stored.len(), 1_800, "{operation:?} {after} {times}");
            assert!((0..).zip(stored).all(|(n, r)| r.as_ref() == Some(&record(1, n))));
            drop(outbox);
            store.power_cut();
            assert_eq!(open(&store, 2).history(), 1_800, "{operation:?} {after} {times}");
        }
        assert!(failures > 3, "{operation:?} is never called");
    }
}

#[test]
fn a_full_disk_takes_records_again_when_some_are_delivered() {
    let store = MemStore::new(1);
    let mut outbox = open(&store, 1);
    // Checkpoints and the reserve, and some segments.
    store.set_capacity((384 << 10) + 100_000);
    let mut receiver = Receiver::default();
    let mut full = 0;
    for part in 0..60 {
        let group = group(1, part * 100..(part + 1) * 100);
        while let Err(why) = outbox.append(&group, 0).and_then(|()| outbox.commit()) {
            assert!(why.to_string().contains("segment"), "{why}");
            full += 1;
            assert!(full < 100, "never again");
            outbox.rewind();
            let mut block = Vec::new();
            while let Some(next) = outbox.next(&mut block).unwrap() {
                outbox.free(next.epoch, receiver.take(next, &block));
            }
            // The mark finds no room either; the checkpoints have theirs.
            if outbox.commit().is_err() {
                outbox.rewind();
            }
            outbox.maintain(0).unwrap();
        }
    }
    assert!(full > 0);
    drain(&mut outbox, &mut receiver);
    assert_eq!(receiver.stored[&epoch(1)].len(), 6_000);
}
