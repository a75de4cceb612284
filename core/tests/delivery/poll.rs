//! A device that expects records asks now and then whether the gateway is there (wire-format §8.4).

use crate::support::{Pair, at, record, small_config};
use tallylink_core::{Config, Duration, EpochSource, Name, OutIx};

const POLL: u64 = 30_000_000;

/// A device that only receives, and a gateway that has a stream to it.
fn downlink() -> Pair {
    let device = Config { poll: Some(Duration::from_micros(POLL)), ..small_config() };
    let mut pair = Pair::of(device, small_config(), 1 << 16);
    pair.run(1_000_000);
    give_stream(&mut pair);
    pair
}

fn give_stream(pair: &mut Pair) {
    let name = Name::new("down").unwrap();
    let source = EpochSource::FirstSession;
    pair.gateway.endpoint.open(at(pair.now), OutIx(0), crate::support::PEER, name, source, 0, 0..1 << 16).unwrap();
}

fn received(pair: &Pair) -> usize {
    pair.device.inbox.streams.iter().map(|s| s.records().len()).sum()
}

fn push_down(pair: &mut Pair, number: usize) {
    pair.gateway.endpoint.push(at(pair.now), OutIx(0), &record(number, 50)).unwrap();
}

#[test]
fn a_record_for_an_idle_device_leaves_at_once() {
    let mut pair = downlink();
    push_down(&mut pair, 0);
    pair.run(pair.now + 100_000);
    assert_eq!(received(&pair), 1);
}

#[test]
fn polling_costs_one_exchange_an_interval() {
    let mut pair = downlink();
    let before = pair.sent;
    pair.run(pair.now + 20 * POLL);
    let cost = [pair.sent[0] - before[0], pair.sent[1] - before[1]];
    assert!(cost.iter().all(|c| (18..=22).contains(c)), "{cost:?} packets in 20 intervals");
}

/// F26: an idle receiver notices within its poll that the gateway has restarted.
#[test]
fn a_restart_of_the_gateway_is_noticed_within_the_interval() {
    let mut pair = downlink();
    pair.gateway.restart();
    give_stream(&mut pair);
    push_down(&mut pair, 0);
    pair.run(pair.now + POLL + 1_000_000);
    assert_eq!(received(&pair), 1);
}

/// A session that ended for whatever reason comes back: the device still expects records.
#[test]
fn a_session_that_ended_is_asked_for_again() {
    for by_device in [true, false] {
        let mut pair = downlink();
        let node = if by_device { &mut pair.device } else { &mut pair.gateway };
        node.endpoint.end_session(at(pair.now), crate::support::PEER);
        push_down(&mut pair, 0);
        pair.run(pair.now + POLL + 3_000_000);
        assert_eq!(received(&pair), 1, "ended by the device: {by_device}");
    }
}

/// Downlink to a device that went silent waits without a timer, and goes on when the device polls.
#[test]
fn records_for_a_silent_device_wait_until_it_is_heard() {
    let mut pair = downlink();
    pair.cut(true);
    push_down(&mut pair, 0);
    pair.run(pair.now + 10 * POLL);
    pair.cut(false);
    pair.run(pair.now + 2 * 61_000_000);
    assert_eq!(received(&pair), 1);
    pair.run(pair.now + 5_000_000);
    assert_eq!(pair.gateway.outbound(0).stored_below(), 1);
}

/// A lost STORED is asked for, however often a device with a long path polls meanwhile (F33).
#[test]
fn polling_does_not_put_the_question_off() {
    let device = Config { poll: Some(Duration::from_secs(1)), ..small_config() };
    let mut pair = Pair::of(device, small_config(), 1 << 16);
    pair.delay_us = 3_000_000;
    let stream = pair.open(0, "s", 1 << 16);
    pair.push(stream, &record(0, 61)).unwrap();
    pair.run_until_stored(1, 60_000_000);
    pair.push(stream, &record(1, 61)).unwrap();
    pair.gateway.storing = false;
    pair.run(pair.now + 10_000_000);
    // STORED leaves, and is lost.
    pair.gateway.store(pair.now);
    pair.cut(true);
    pair.flush();
    pair.cut(false);
    pair.run_until_stored(2, 120_000_000);
}
