//! Delivery over a wire that works, and over one that loses.

use crate::support::{Numbers, Pair, record, small_config as config};
use tallylink_core::{Event, PushError};

/// Pushes `count` records of the sizes that `size` gives, as room comes, and runs until all are stored.
fn deliver(pair: &mut Pair, count: usize, size: impl Fn(usize) -> usize) {
    let stream = pair.open(0, "temperature", 1 << 18);
    let mut number = 0;
    let mut until = 0;
    while number < count || pair.device.endpoint.storage().outbound[0].stored_below() < count as u64 {
        while number < count {
            match pair.push(stream, &record(number, size(number))) {
                Ok(n) => assert_eq!(n, number as u64),
                Err(PushError::Full) => break,
                Err(e) => panic!("{e}"),
            }
            number += 1;
        }
        until += 10_000;
        assert!(until < 2_000_000_000, "no progress: {number} pushed");
        pair.run(until);
    }
    let records = pair.gateway.inbox.streams[0].records();
    assert_eq!(records.len(), count);
    for (i, r) in records.iter().enumerate() {
        assert_eq!(*r, record(i, size(i)), "record {i}");
    }
}

#[test]
fn one_record_travels_and_is_confirmed_twice() {
    let mut pair = Pair::new(config(), 1 << 18);
    deliver(&mut pair, 1, |_| 61);
    assert!(pair.device.events.iter().any(|e| matches!(e, Event::Received(_, 1))));
    assert!(pair.device.events.iter().any(|e| matches!(e, Event::Stored(_, 1))));
}

#[test]
fn small_records_fill_packets() {
    let mut pair = Pair::new(config(), 1 << 18);
    deliver(&mut pair, 20_000, |_| 61);
    assert!(pair.sent[0] < 20_000 / 15, "{} packets", pair.sent[0]);
}

#[test]
fn records_of_every_size_travel_whole() {
    let mut pair = Pair::new(config(), 1 << 18);
    deliver(&mut pair, 600, |i| [0, 1, 63, 64, 61, 1013, 16_013, 100_000][i % 8]);
}

#[test]
fn a_wire_that_loses_a_tenth_only_delays() {
    let mut pair = Pair::new(config(), 1 << 18);
    let mut numbers = Numbers(12345);
    pair.lose = Box::new(move |_, _| numbers.below(10) == 0);
    deliver(&mut pair, 5_000, |i| i % 300);
    assert!(pair.device.endpoint.totals().packets_lost > 0);
}

#[test]
fn an_idle_pair_sends_nothing_and_sets_no_timer() {
    let mut pair = Pair::new(config(), 1 << 18);
    deliver(&mut pair, 100, |_| 61);
    pair.run(20_000_000);
    let sent = pair.sent;
    pair.run(200_000_000_000);
    assert_eq!(pair.sent, sent);
    assert_eq!(pair.device.endpoint.next_timeout(), None);
    assert_eq!(pair.gateway.endpoint.next_timeout(), None);
}
