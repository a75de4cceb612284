//! Deep sleep (wire-format §9): a device that wakes up goes on where it was, whatever has happened meanwhile.

use crate::support::{PEER, Pair, at, record, small_config};
use std::collections::HashSet;
use tallylink_core::crypto::{Suite, Suites};
use tallylink_core::wire::{DataHeader, Packet};
use tallylink_core::*;

const RING: u32 = 1 << 14;
const S: OutIx = OutIx(0);

/// Limits under which a device may sleep.
pub(crate) fn sleepy() -> Config {
    Config { suites: Suites::from(Suite::Aes128GcmSiv), ..small_config() }
}

/// A pair whose session lives and whose first record is stored.
pub(crate) fn pair() -> Pair {
    let mut pair = Pair::new(sleepy(), RING as usize);
    pair.delay_us = 10_000;
    pair.open(0, "s", RING);
    pair.push(S, &record(0, 61)).unwrap();
    pair.run_until_stored(1, 5_000_000);
    pair.run(pair.now + 1_000_000);
    pair.capture = Some(vec![]);
    pair
}

/// The device falls asleep; what is returned is all that is left of it.
pub(crate) fn fall_asleep(pair: &mut Pair) -> Vec<u8> {
    let len = pair.device.endpoint.image_len(PEER);
    let mut image = vec![0xaa; len + 7];
    assert_eq!(pair.device.endpoint.suspend(at(pair.now), PEER, &mut image), Ok(len));
    assert!(pair.device.transmit(pair.now).is_empty(), "nothing is sealed after the image");
    assert_eq!(pair.device.endpoint.push(at(pair.now), S, b"late"), Err(PushError::NoStream));
    image
}

/// It wakes up: a start like any other, with the image.
pub(crate) fn wake_up(pair: &mut Pair, image: &mut [u8]) -> Result<(), ResumeError> {
    pair.device.restart();
    pair.open(0, "s", RING);
    let (now, to) = (at(pair.now), Path::to(pair.gateway.address));
    let device = &mut pair.device;
    let resumed = device.endpoint.resume(now, PEER, to, image, &mut device.inbox);
    assert!(image.iter().all(|b| *b == 0), "the image is destroyed whatever comes of it");
    resumed
}

fn hellos(pair: &Pair) -> usize {
    let all = pair.capture.as_ref().unwrap();
    all.iter().filter(|(_, bytes)| matches!(Packet::parse(bytes), Ok(Packet::Hello(_)))).count()
}

/// No packet number of a session leaves the device twice.
fn assert_numbers_are_spent_once(pair: &Pair) {
    let mut seen = HashSet::new();
    for (_, bytes) in pair.capture.as_ref().unwrap().iter().filter(|(up, _)| *up) {
        if let Ok(Packet::Data(DataHeader { label, truncated, .. })) = Packet::parse(bytes) {
            assert!(seen.insert((label.0, truncated & 0xffff)), "number {truncated:x} of {label:?} twice");
        }
    }
}

fn assert_stored_once(pair: &Pair, count: usize) {
    let records = pair.gateway.inbox.stream("s").records();
    assert_eq!(records.len(), count);
    for (i, r) in records.iter().enumerate() {
        assert_eq!(*r, record(i, 61), "record {i}");
    }
}

#[test]
fn the_first_packet_after_waking_up_carries_the_record() {
    let mut pair = pair();
    for i in 1..40 {
        let mut image = fall_asleep(&mut pair);
        pair.run(pair.now + 60_000_000);
        wake_up(&mut pair, &mut image).unwrap();
        assert_eq!(pair.push(S, &record(i, 61)), Ok(i as u64), "numbers go on");
        let before = pair.now;
        let delivered = |p: &Pair| p.gateway.inbox.stream("s").records().len() > i;
        assert!(pair.run_while(before + 1_000_000, |p| !delivered(p)));
        assert_eq!(pair.now - before, pair.delay_us, "no round trip comes before it");
        pair.run_until_stored(i as u64 + 1, 1_000_000);
    }
    assert_eq!(hellos(&pair), 0);
    assert_eq!(pair.gateway.endpoint.totals().sessions, 1);
    assert_numbers_are_spent_once(&pair);
    assert_stored_once(&pair, 40);
}

#[test]
fn nothing_is_sent_when_there_is_nothing_to_say() {
    let mut pair = pair();
    let mut image = fall_asleep(&mut pair);
    wake_up(&mut pair, &mut image).unwrap();
    pair.run(pair.now + 600_000_000);
    assert!(pair.capture.as_ref().unwrap().is_empty());
    assert_eq!(pair.device.next_timeout_us(), u64::MAX);
    assert!(pair.device.told(Event::Connected(PEER)));
}

#[test]
fn records_that_wait_in_the_ring_sleep_too() {
    let mut pair = pair();
    pair.cut(true);
    for i in 1..60 {
        pair.push(S, &record(i, 61)).unwrap();
        // Some are in flight, some are lost, some were never sent.
        if i == 20 || i == 40 {
            pair.run(pair.now + 200_000);
        }
        if i % 25 == 0 {
            let mut image = fall_asleep(&mut pair);
            wake_up(&mut pair, &mut image).unwrap();
        }
    }
    let mut image = fall_asleep(&mut pair);
    assert!(image.len() > 59 * 62);
    pair.cut(false);
    wake_up(&mut pair, &mut image).unwrap();
    pair.run_until_stored(60, 60_000_000);
    assert_numbers_are_spent_once(&pair);
    assert_stored_once(&pair, 60);
}

#[test]
fn what_was_received_and_not_stored_is_asked_about_and_not_sent_again() {
    let mut pair = pair();
    pair.gateway.storing = false;
    for i in 1..10 {
        pair.push(S, &record(i, 61)).unwrap();
    }
    pair.run(pair.now + 400_000);
    assert_eq!(pair.device.outbound(0).received_below(), 10);
    let mut image = fall_asleep(&mut pair);
    pair.gateway.storing = true;
    pair.gateway.store(pair.now);
    // STORED finds nobody awake.
    pair.cut(true);
    pair.run(pair.now + 60_000_000);
    pair.cut(false);
    wake_up(&mut pair, &mut image).unwrap();
    assert_eq!(pair.device.outbound(0).received_below(), 10);
    pair.run_until_stored(10, 5_000_000);
    assert_eq!(pair.device.endpoint.totals().chunks_repeated, 0);
    assert_eq!(hellos(&pair), 0);
    assert_stored_once(&pair, 10);
}

#[test]
fn a_record_that_was_cut_goes_on_in_the_same_session() {
    let mut pair = pair();
    let large = record(1, 9000);
    pair.push(S, &large).unwrap();
    // Two packets arrive, and no ACK of them comes back in time.
    pair.lose = Box::new(|up, _| !up);
    pair.flush();
    pair.run(pair.now + 15_000);
    let mut image = fall_asleep(&mut pair);
    pair.cut(false);
    wake_up(&mut pair, &mut image).unwrap();
    pair.push(S, &record(2, 61)).unwrap();
    pair.run_until_stored(3, 20_000_000);
    let records = pair.gateway.inbox.stream("s").records();
    assert_eq!(records, [record(0, 61), large, record(2, 61)]);
    assert_numbers_are_spent_once(&pair);
}

/// The window sleeps, too: what the gateway sent before is not taken again.
#[test]
fn a_packet_of_the_gateway_is_taken_once_before_and_after_the_sleep() {
    let mut pair = pair();
    for i in 1..9 {
        pair.push(S, &record(i, 61)).unwrap();
        pair.run_until_stored(i as u64 + 1, 1_000_000);
    }
    pair.run(pair.now + 1_000_000);
    let heard: Vec<_> = pair.capture.as_ref().unwrap().iter().filter(|(up, _)| !up).cloned().collect();
    assert!(heard.len() >= 8);
    let mut image = fall_asleep(&mut pair);
    wake_up(&mut pair, &mut image).unwrap();
    for (_, mut bytes) in heard {
        assert_eq!(pair.device.take(pair.now, pair.gateway.address, &mut bytes), Err(Discard::Duplicate));
    }
}

#[test]
fn a_gateway_that_was_restarted_meanwhile_gets_everything_once() {
    let mut pair = pair();
    for i in 1..5 {
        pair.push(S, &record(i, 61)).unwrap();
    }
    pair.flush();
    let mut image = fall_asleep(&mut pair);
    pair.run(pair.now + 1_000_000);
    pair.gateway.restart();
    wake_up(&mut pair, &mut image).unwrap();
    pair.push(S, &record(5, 61)).unwrap();
    pair.run_until_stored(6, 20_000_000);
    assert_eq!(hellos(&pair), 1);
    assert_numbers_are_spent_once(&pair);
    assert_stored_once(&pair, 6);
}

#[test]
fn a_session_that_ended_meanwhile_is_replaced() {
    let mut pair = pair();
    pair.push(S, &record(1, 61)).unwrap();
    let mut image = fall_asleep(&mut pair);
    pair.gateway.endpoint.end_sessions(at(pair.now));
    wake_up(&mut pair, &mut image).unwrap();
    pair.run_until_stored(2, 20_000_000);
    assert_numbers_are_spent_once(&pair);
    assert_stored_once(&pair, 2);
}

/// The hint does not come, as if the label were another's by now and the packet just did not open.
#[test]
fn silence_in_place_of_an_answer_ends_with_a_new_session() {
    let mut pair = pair();
    let mut image = fall_asleep(&mut pair);
    pair.gateway.endpoint.end_sessions(at(pair.now));
    pair.lose = Box::new(|up, bytes| !up && bytes[..2] == [0, 5]);
    wake_up(&mut pair, &mut image).unwrap();
    pair.push(S, &record(1, 61)).unwrap();
    pair.run_until_stored(2, 60_000_000);
    assert_stored_once(&pair, 2);
}

/// Power that is lost after the image was read leaves nothing to read: a new epoch begins, and no number comes again.
#[test]
fn power_lost_after_waking_up_begins_a_new_epoch() {
    let mut pair = pair();
    let mut image = fall_asleep(&mut pair);
    wake_up(&mut pair, &mut image).unwrap();
    pair.push(S, &record(1, 61)).unwrap();
    pair.run_until_stored(2, 5_000_000);
    let epoch = pair.device.outbound(0).epoch();
    assert_eq!(wake_up(&mut pair, &mut image), Err(ResumeError::NoImage));
    assert_eq!(pair.push(S, &record(2, 61)), Ok(0));
    pair.run_until_stored(1, 5_000_000);
    assert_ne!(pair.device.outbound(0).epoch(), epoch);
    assert_numbers_are_spent_once(&pair);
    assert_stored_once(&pair, 3);
}

#[test]
fn a_device_without_a_session_keeps_its_records() {
    let mut pair = Pair::new(sleepy(), RING as usize);
    pair.cut(true);
    pair.open(0, "s", RING);
    for i in 0..10 {
        pair.push(S, &record(i, 61)).unwrap();
    }
    pair.run(pair.now + 5_000_000);
    let mut image = fall_asleep(&mut pair);
    pair.cut(false);
    wake_up(&mut pair, &mut image).unwrap();
    pair.run_until_stored(10, 5_000_000);
    assert_stored_once(&pair, 10);
}

/// WELCOME came and nothing since: packets would be long, and the image has the streams alone.
#[test]
fn a_session_in_which_the_gateway_was_not_heard_is_made_anew() {
    let mut pair = Pair::new(sleepy(), RING as usize);
    pair.capture = Some(vec![]);
    pair.open(0, "s", RING);
    pair.push(S, &record(0, 61)).unwrap();
    assert!(pair.run_while(1_000_000, |p| !p.device.told(Event::Connected(PEER))));
    let epoch = pair.device.outbound(0).epoch();
    let mut image = fall_asleep(&mut pair);
    pair.run(pair.now + 1_000_000);
    wake_up(&mut pair, &mut image).unwrap();
    pair.run_until_stored(1, 5_000_000);
    assert_eq!(pair.device.outbound(0).epoch(), epoch, "the epoch goes on");
    assert_stored_once(&pair, 1);
}

#[test]
fn a_gap_that_is_owed_is_told_after_the_sleep() {
    let mut pair = pair();
    pair.cut(true);
    for i in 1..6 {
        pair.push(S, &record(i, 61)).unwrap();
    }
    pair.device.endpoint.skip(at(pair.now), S, 3, 1);
    let mut image = fall_asleep(&mut pair);
    pair.cut(false);
    wake_up(&mut pair, &mut image).unwrap();
    pair.run_until_stored(6, 5_000_000);
    let stream = pair.gateway.inbox.stream("s");
    assert_eq!(stream.gaps, [(1, 3, 1)]);
    assert_eq!(stream.records().len(), 4);
}
