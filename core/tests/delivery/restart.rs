//! F26: whichever end restarts, or both, data flows again soon; and nothing old changes anything.

use crate::session::pair_with_a_record;
use crate::support::{Pair, record};
use tallylink_core::{Discard, Event, OutIx};

const DELAY: u64 = 10_000;
const ROUND_TRIP: u64 = 2 * DELAY;
const STREAM: OutIx = OutIx(0);

/// A pair that has exchanged enough for a good estimate of the round-trip time, and is idle.
fn warm() -> Pair {
    let mut pair = pair_with_a_record();
    pair.run_until_stored(1, 1_000_000);
    for i in 1..40 {
        pair.push(STREAM, &record(i, 61)).unwrap();
        pair.run_until_stored(i as u64 + 1, 1_000_000);
    }
    pair.run(pair.now + 5_000_000);
    pair
}

/// Runs until the gateway has been given `count` records, and returns how long that took.
fn until_delivered(pair: &mut Pair, count: usize) -> u64 {
    let start = pair.now;
    let done = pair
        .run_while(start + 20_000_000, |p| p.gateway.inbox.streams.first().is_none_or(|s| s.records().len() < count));
    assert!(done, "{count} records were not delivered");
    pair.now - start
}

#[test]
fn after_a_restart_of_the_device_data_flows_after_one_round_trip() {
    let mut pair = warm();
    pair.restart_device();
    let stream = pair.open(0, "s", 1 << 16);
    pair.push(stream, &record(99, 61)).unwrap();
    assert!(until_delivered(&mut pair, 41) <= ROUND_TRIP + DELAY);
    assert_eq!(pair.gateway.inbox.stream("s").records()[40], record(99, 61));
}

/// F28: numbers start at 0 again in a new epoch, and no new record is taken for an old one.
#[test]
fn a_device_without_storage_numbers_anew_and_loses_nothing() {
    let mut pair = warm();
    for boot in 0..5 {
        pair.restart_device();
        let stream = pair.open(0, "s", 1 << 16);
        assert_eq!(pair.push(stream, &record(boot, 61)), Ok(0));
        pair.run_until_stored(1, 1_000_000);
    }
    assert_eq!(pair.gateway.inbox.stream("s").records().len(), 45);
}

#[test]
fn after_a_restart_of_the_gateway_data_flows_two_round_trips_after_the_next_packet() {
    let mut pair = warm();
    pair.gateway.restart();
    pair.push(STREAM, &record(40, 61)).unwrap();
    assert!(until_delivered(&mut pair, 41) <= 2 * ROUND_TRIP + DELAY);
    // The record, and the PING beside the HELLO.
    assert_eq!(pair.gateway.discarded(Discard::UnknownLabel), 2);
    pair.run_until_stored(41, 1_000_000);
    assert_eq!(pair.gateway.inbox.stream("s").records().len(), 41);
}

#[test]
fn when_the_hint_is_lost_it_takes_two_probe_timeouts_and_a_round_trip() {
    let mut pair = warm();
    pair.gateway.restart();
    pair.lose = Box::new(|_, bytes| bytes[..2] == [0, 5]);
    pair.push(STREAM, &record(40, 61)).unwrap();
    // The estimate has settled: a probe timeout is the round trip, four times its variation, and the delay of an ACK.
    let probe_timeout = ROUND_TRIP + 25_000 + 25_000 + 5_000;
    // The second comes after twice the first.
    assert!(until_delivered(&mut pair, 41) <= 3 * probe_timeout + ROUND_TRIP + DELAY);
}

#[test]
fn both_ends_may_restart_at_once() {
    let mut pair = warm();
    pair.gateway.restart();
    pair.restart_device();
    let stream = pair.open(0, "s", 1 << 16);
    pair.push(stream, &record(99, 61)).unwrap();
    assert!(until_delivered(&mut pair, 41) <= ROUND_TRIP + DELAY);
}

/// What the gateway had acknowledged, but not stored, is sent again.
#[test]
fn records_that_were_received_but_not_stored_are_sent_again() {
    let mut pair = warm();
    pair.gateway.storing = false;
    for i in 40..60 {
        pair.push(STREAM, &record(i, 61)).unwrap();
    }
    pair.run(pair.now + 300_000);
    assert_eq!(pair.device.outbound(0).received_below(), 60);
    assert_eq!(pair.device.outbound(0).stored_below(), 40);
    pair.gateway.restart();
    pair.gateway.storing = true;
    pair.run_until_stored(60, 10_000_000);
    let records = pair.gateway.inbox.stream("s").records();
    assert_eq!(records.len(), 60);
    assert!(records.iter().enumerate().all(|(i, r)| *r == record(i, 61)));
}

/// The gateway gave its session up, without a restart: the hint is believed once the PING has gone unanswered.
#[test]
fn a_session_that_the_gateway_ended_is_replaced() {
    let mut pair = warm();
    pair.gateway.endpoint.end_sessions(crate::support::at(pair.now));
    pair.push(STREAM, &record(40, 61)).unwrap();
    pair.run_until_stored(41, 1_000_000 + 131_072 + 3 * ROUND_TRIP);
}

/// A whole earlier session, sent again at any time, changes nothing and brings no larger answers.
#[test]
fn a_replayed_session_changes_nothing() {
    for case in ["same session", "next session", "gateway restarted", "session ended"] {
        let mut pair = pair_with_a_record();
        pair.capture = Some(vec![]);
        pair.run_until_stored(1, 1_000_000);
        for i in 1..30 {
            pair.push(STREAM, &record(i, 700)).unwrap();
        }
        pair.run_until_stored(30, 10_000_000);
        let captured = pair.capture.take().unwrap();
        let mut expected = 30;
        match case {
            "next session" => {
                pair.restart_device();
                let stream = pair.open(0, "s", 1 << 16);
                pair.push(stream, &record(30, 61)).unwrap();
                pair.run_until_stored(1, 1_000_000);
                expected = 31;
            }
            "gateway restarted" => pair.gateway.restart(),
            "session ended" => pair.gateway.endpoint.end_sessions(crate::support::at(pair.now)),
            _ => {}
        }
        pair.run(pair.now + 10_000_000);
        replay(&mut pair, &captured, case);
        let delivered: usize = pair.gateway.inbox.streams.iter().map(|s| s.records().len()).sum();
        assert_eq!(delivered, expected, "{case}");
    }
}

fn replay(pair: &mut Pair, captured: &[(bool, Vec<u8>)], case: &str) {
    let sessions = pair.gateway.endpoint.totals().sessions;
    let counted = |pair: &Pair| Discard::ALL.iter().map(|why| pair.gateway.discarded(*why)).sum::<u64>();
    let before = counted(pair);
    let (mut brought, mut answered, mut hellos) = (0, 0, 0);
    let elsewhere = "10.9.9.9:9".parse().unwrap();
    for (_, bytes) in captured.iter().filter(|(up, _)| *up) {
        brought += bytes.len();
        hellos += u64::from(bytes[..2] == [0, 1]);
        let mut bytes = bytes.clone();
        if let Ok(tallylink_core::Handled::Reply(len)) = pair.gateway.take(pair.now, elsewhere, &mut bytes) {
            assert!(len <= bytes.len());
            answered += len;
        }
        let sent = pair.gateway.transmit(pair.now);
        assert!(sent.is_empty(), "{case}: a replay made the gateway send");
    }
    assert!(answered <= brought, "{case}");
    assert_eq!(pair.gateway.endpoint.totals().sessions, sessions, "{case}");
    let replayed = captured.iter().filter(|(up, _)| *up).count() as u64;
    assert!(counted(pair) - before >= replayed - hellos, "{case}: each packet but HELLO is counted by name");
    assert_eq!(pair.gateway.next_timeout_us(), u64::MAX, "{case}: no timer runs");
    assert!(!pair.gateway.told(Event::IdUsedTwice(crate::support::PEER)), "{case}");
    // What came down is replayed to the device too.
    for (_, bytes) in captured.iter().filter(|(up, _)| !up) {
        let handled = pair.device.take(pair.now, pair.gateway.address, &mut bytes.clone());
        assert!(handled.is_err(), "{case}: {handled:?}");
        assert!(pair.device.transmit(pair.now).is_empty(), "{case}");
    }
}
