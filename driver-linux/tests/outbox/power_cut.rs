//! Seeded worlds in which an outbox is opened, cut off and delivered from in any order: what was told to be durable is
//! delivered once and in order, whatever the disk does.

use crate::common::{Receiver, epoch, group, open, record};
use std::collections::BTreeMap;
use tallylink_journal::testing::{Chance, MemStore};

const WORLDS: u64 = 300;

#[test]
fn what_was_durable_is_delivered_once_and_in_order() {
    let (mut cuts, mut delivered) = (0, 0);
    for seed in 0..WORLDS {
        let mut chance = Chance::new(seed);
        let store = MemStore::new(seed);
        let mut receiver = Receiver::default();
        // What each opening was told to be durable.
        let mut promised = BTreeMap::new();
        for opening in 1..=6 {
            let mut outbox = open(&store, opening);
            let history = outbox.history();
            assert!(history >= promised.values().sum::<u64>(), "seed {seed}");
            let mut block = Vec::new();
            let mut pushed = 0;
            for _ in 0..chance.below(30) {
                match chance.below(4) {
                    0 => {
                        let more = 1 + chance.below(60);
                        outbox.append(&group(opening, pushed..pushed + more), 0).unwrap();
                        pushed += more;
                    }
                    1 => {
                        outbox.commit().unwrap();
                        promised.insert(opening, outbox.durable_below());
                        assert_eq!(outbox.durable_below(), pushed);
                        outbox.maintain(0).unwrap();
                    }
                    _ => {
                        if let Some(next) = outbox.next(&mut block).unwrap() {
                            let stored = receiver.take(next, &block);
                            // The confirmation may never arrive.
                            if chance.percent(80) {
                                outbox.free(next.epoch, stored);
                            }
                        }
                    }
                }
            }
            drop(outbox);
            if chance.percent(70) {
                cuts += 1;
                store.power_cut();
            }
        }
        crate::common::drain(&mut open(&store, 7), &mut receiver);
        for (opening, count) in promised.into_iter().filter(|(_, count)| *count > 0) {
            let stored = receiver.stored.get(&epoch(opening)).map_or(&[][..], Vec::as_slice);
            assert!(stored.len() as u64 >= count, "seed {seed}: {} of {count} of opening {opening}", stored.len());
            assert!((0..).zip(stored).all(|(n, r)| r.as_ref() == Some(&record(opening, n))), "seed {seed}");
            delivered += stored.len();
        }
    }
    assert!(cuts > 500 && delivered > 10_000, "{cuts} {delivered}");
}
