//! A session comes to be: one round trip, or a reason why not.

use crate::support::raw::{WIDE, hello, hello_packet, lone};
use crate::support::{Fleet, KEY, PEER, Pair, Raw, at, record, small_config};
use tallylink_core::crypto::{Suite, Suites};
use tallylink_core::wire::{Packet, RejectReason};
use tallylink_core::{Config, Discard, End, Event, Handled, Provision};

const DELAY: u64 = 10_000;
const ROUND_TRIP: u64 = 2 * DELAY;

/// A pair whose device has one record to send, with 10 ms each way.
pub(crate) fn pair_with_a_record() -> Pair {
    let mut pair = Pair::new(small_config(), 1 << 16);
    pair.delay_us = DELAY;
    let stream = pair.open(0, "s", 1 << 16);
    pair.push(stream, &record(0, 61)).unwrap();
    pair
}

#[test]
fn the_first_record_leaves_after_one_round_trip() {
    let mut pair = pair_with_a_record();
    pair.run(ROUND_TRIP + DELAY);
    assert_eq!(pair.gateway.inbox.stream("s").records(), [record(0, 61)]);
    pair.run(2 * ROUND_TRIP);
    assert_eq!(pair.device.outbound(0).stored_below(), 1);
    assert!((ROUND_TRIP..ROUND_TRIP + 30_000).contains(&pair.device.endpoint.storage().peers[0].rtt().as_micros()));
    for node in [&pair.device, &pair.gateway] {
        assert!(node.told(Event::Connected(PEER)));
        assert_eq!(node.endpoint.storage().peers[0].suite(), Some(Suite::Aes128Gcm), "the fastest that both have");
    }
}

#[test]
fn a_lost_hello_or_welcome_is_asked_for_again_after_a_second() {
    for lost_up in [true, false] {
        let mut pair = pair_with_a_record();
        let mut lost = false;
        pair.lose = Box::new(move |up, _| up == lost_up && !std::mem::replace(&mut lost, true));
        pair.run_until_stored(1, 1_000_000 + 131_072 + 2 * ROUND_TRIP);
        assert_eq!(pair.device.endpoint.totals().hellos_sent, 2);
        assert_eq!(pair.device.endpoint.totals().sessions, 1);
    }
}

/// Back-off: 1 s, 2 s, 4 s … 60 s, and up to half as much at random.
#[test]
fn hellos_without_an_answer_back_off_to_a_minute() {
    let mut device = lone(End::Device, small_config());
    let mut now = 0;
    let hellos = device.alone(&mut now, 3_600_000_000);
    assert!(hellos.iter().all(|h| h.len() == 128 && h[..2] == [0, 1]));
    assert!((45..66).contains(&hellos.len()), "{} HELLOs in an hour", hellos.len());
    let before = hellos.len();
    let many = device.alone(&mut now, 30 * 24 * 3_600_000_000);
    assert!(many.len() < 30 * 24 * 50, "{} in a month, {before} in the first hour", many.len());
}

#[test]
fn both_ends_keep_to_the_smaller_of_their_limits() {
    let device = Config { suites: Suites::NONE.with(Suite::Aes128GcmSiv), ..small_config() };
    let gateway = Config { max_datagram: 1300, ..small_config() };
    let mut pair = Pair::of(device, gateway, 1 << 16);
    let stream = pair.open(0, "s", 1 << 16);
    pair.capture = Some(vec![]);
    for i in 0..50 {
        pair.push(stream, &record(i, 1000)).unwrap();
    }
    pair.run_until_stored(50, 10_000_000);
    assert_eq!(pair.gateway.endpoint.storage().peers[0].suite(), Some(Suite::Aes128GcmSiv));
    assert!(pair.capture.unwrap().iter().all(|(_, bytes)| bytes.len() <= 1300));
}

/// Whoever has no AES instructions gets the suite that needs none.
#[test]
fn the_suite_suits_both_processors() {
    for (device, gateway) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut pair = Pair::new(small_config(), 1 << 16);
        for (node, fast_aes) in [(&mut pair.device, device), (&mut pair.gateway, gateway)] {
            node.fast_aes = fast_aes;
            node.restart();
        }
        pair.connect();
        let stream = pair.open(0, "s", 1 << 16);
        pair.push(stream, &record(0, 61)).unwrap();
        pair.run_until_stored(1, 10_000_000);
        let best = if device && gateway { Suite::Aes128Gcm } else { Suite::ChaCha20Poly1305 };
        for node in [&pair.device, &pair.gateway] {
            assert_eq!(node.endpoint.storage().peers[0].suite(), Some(best), "{device} and {gateway}");
        }
    }
}

/// A device that counts its boots offers what survives a repeated nonce, and no more.
#[test]
fn without_entropy_only_the_suite_that_survives_a_repeated_nonce_is_used() {
    for fast_aes in [true, false] {
        let mut pair = Pair::new(small_config(), 1 << 16);
        pair.gateway.fast_aes = fast_aes;
        pair.gateway.restart();
        pair.device.fast_aes = fast_aes;
        pair.device.restart_without_entropy();
        pair.connect();
        let stream = pair.open(0, "s", 1 << 16);
        pair.push(stream, &record(0, 61)).unwrap();
        pair.run_until_stored(1, 10_000_000);
        assert_eq!(pair.gateway.endpoint.storage().peers[0].suite(), Some(Suite::Aes128GcmSiv));
    }
}

#[test]
fn without_a_common_suite_the_hello_is_rejected() {
    let only = |suite| Config { suites: Suites::NONE.with(suite), ..small_config() };
    let mut pair = Pair::of(only(Suite::Aes128GcmSiv), only(Suite::Aes128Gcm), 1 << 16);
    let stream = pair.open(0, "s", 1 << 16);
    pair.push(stream, b"x").unwrap();
    pair.run(59_000_000);
    assert!(pair.device.told(Event::Rejected(PEER, RejectReason::Suite)));
    assert_eq!(pair.device.endpoint.totals().hellos_sent, 1, "it waits a minute");
    pair.run(200_000_000);
    assert!((3..=4).contains(&pair.device.endpoint.totals().hellos_sent));
    assert_eq!(pair.gateway.endpoint.totals().sessions, 0);
}

#[test]
fn without_a_common_version_the_hello_is_rejected() {
    let mut gateway = lone(End::Gateway, small_config());
    for (low, high, rejected) in [(2, 9, true), (0, 0, true), (0, 2, false), (1, 1, false)] {
        let hello = tallylink_core::wire::Hello { version_min: low, version_max: high, ..hello(1, 1, 3, WIDE) };
        let mut packet = hello_packet(&hello, KEY);
        let answer = gateway.take(0, "127.0.0.1:1000".parse().unwrap(), &mut packet);
        let Ok(Handled::Reply(len)) = answer else { panic!("{answer:?}") };
        assert!(len <= 128);
        match Packet::parse(&packet[..len]) {
            Ok(Packet::Reject(reject)) => {
                assert!(rejected);
                assert_eq!((reject.reason, reject.version_min, reject.version_max), (RejectReason::Version, 1, 1));
            }
            Ok(Packet::Welcome(_)) => assert!(!rejected, "{low} to {high}"),
            other => panic!("{other:?}"),
        }
    }
}

/// A gateway without a free link says so, and serves the device when one is free.
#[test]
fn without_a_free_link_the_hello_is_answered_busy() {
    let mut fleet = Fleet::new(&small_config(), 2, 1, 1 << 14);
    fleet.gateway.inbox.room = Some(0);
    for device in 0..2 {
        fleet.push(device, b"record").unwrap();
    }
    // The link of the first is not idle while it waits for room. The session of the second lives without one.
    fleet.run(3_000_000);
    assert!(fleet.gateway.discarded(Discard::NoLink) > 0);
    assert_eq!(fleet.gateway.endpoint.totals().sessions, 2);
    assert!(!fleet.devices[1].told(Event::Rejected(PEER, RejectReason::Busy)));
    fleet.devices[1].endpoint.end_session(at(fleet.now), PEER);
    fleet.run(10_000_000);
    assert!(fleet.devices[1].told(Event::Rejected(PEER, RejectReason::Busy)));
    assert_eq!(fleet.gateway.endpoint.totals().sessions, 2);
    fleet.gateway.inbox.room = None;
    let gateway = &mut fleet.gateway;
    gateway.endpoint.room(at(fleet.now), &mut gateway.inbox);
    fleet.run(60_000_000);
    for device in &fleet.devices {
        assert_eq!(device.outbound(0).stored_below(), 1);
    }
}

#[test]
fn two_devices_with_one_id_are_reported_and_the_older_waits() {
    let mut gateway = lone(End::Gateway, small_config());
    for boot in [1, 2] {
        Raw::device_of_boot(&mut gateway, 0, boot, boot).go_live(&mut gateway, 0);
    }
    // A HELLO of the first boot may be a replayed one: no report, and no refusal.
    let mut packet = hello_packet(&hello(3, 1, 3, WIDE), KEY);
    let Ok(Handled::Reply(len)) = gateway.take(0, "127.0.0.1:1000".parse().unwrap(), &mut packet) else { panic!() };
    assert!(matches!(Packet::parse(&packet[..len]), Ok(Packet::Welcome(_))));
    gateway.transmit(0);
    assert!(!gateway.told(Event::IdUsedTwice(PEER)));
    // It goes live: that is proof.
    Raw::device_of_boot(&mut gateway, 0, 4, 1).go_live(&mut gateway, 0);
    assert!(gateway.told(Event::IdUsedTwice(PEER)));
    let mut packet = hello_packet(&hello(5, 2, 3, WIDE), KEY);
    let Ok(Handled::Reply(len)) = gateway.take(0, "127.0.0.1:1000".parse().unwrap(), &mut packet) else { panic!() };
    let Ok(Packet::Reject(reject)) = Packet::parse(&packet[..len]) else { panic!("no REJECT") };
    assert_eq!(reject.reason, RejectReason::Busy);
    // A boot that is new is served.
    Raw::device_of_boot(&mut gateway, 0, 6, 6).go_live(&mut gateway, 0);
}

/// The older of two devices with one id is told to wait as long again as it has waited. HELLOs that somebody repeats make
/// that no longer, and report nothing.
#[test]
fn the_wait_of_an_id_used_twice_grows_with_time_only() {
    let mut gateway = lone(End::Gateway, small_config());
    let began = 1_000_000_000;
    for (nonce, boot) in [(1, 1), (2, 2), (3, 1)] {
        Raw::device_of_boot(&mut gateway, began, nonce, boot).go_live(&mut gateway, began);
    }
    gateway.transmit(began);
    assert!(gateway.told(Event::IdUsedTwice(PEER)));
    gateway.events.clear();
    let mut waits = vec![];
    for seconds in [0, 10, 25, 60, 600, 3600, 100_000] {
        for _ in 0..20 {
            let mut packet = hello_packet(&hello(5, 2, 3, WIDE), KEY);
            let answer = gateway.take(began + seconds * 1_000_000, "127.0.0.1:1000".parse().unwrap(), &mut packet);
            let Ok(Handled::Reply(len)) = answer else { panic!("{answer:?}") };
            let Ok(Packet::Reject(reject)) = Packet::parse(&packet[..len]) else { panic!("no REJECT") };
            waits.push(reject.retry_after_s);
        }
    }
    waits.dedup();
    assert_eq!(waits, [10, 20, 60, 600, 3600]);
    gateway.transmit(began + 100_000_000_000);
    assert!(!gateway.told(Event::IdUsedTwice(PEER)));
}

/// Two keys are held while they are rotated; a session ends with its key.
#[test]
fn a_session_ends_when_its_key_is_removed() {
    use tallylink_core::KeyId;
    use tallylink_core::crypto::Psk;
    let mut pair = pair_with_a_record();
    pair.run_until_stored(1, 1_000_000);
    let old = (KeyId(1), Psk::from_bytes(KEY));
    let new = (KeyId(2), Psk::from_bytes([8; 16]));
    let both = |end| Provision { id: crate::support::peer_id(0), end, keys: [Some(new.clone()), Some(old.clone())] };
    pair.gateway.endpoint.set_keys(at(pair.now), PEER, both(End::Gateway)).unwrap();
    pair.device.endpoint.set_keys(at(pair.now), PEER, both(End::Device)).unwrap();
    assert!(pair.device.endpoint.storage().peers[0].has_session(), "the old key is still held");
    let only = Provision { keys: [Some(new.clone()), None], ..both(End::Gateway) };
    pair.gateway.endpoint.set_keys(at(pair.now), PEER, only).unwrap();
    assert!(!pair.gateway.endpoint.storage().peers[0].has_session());
    let stream = tallylink_core::OutIx(0);
    pair.push(stream, &record(1, 61)).unwrap();
    pair.run_until_stored(2, 3_000_000);
    assert!(pair.gateway.discarded(Discard::UnknownLabel) > 0);
}

/// Keys change in the middle of a transfer: first both are held, then the old one goes, at either end first.
#[test]
fn every_record_arrives_once_while_keys_are_rotated() {
    use tallylink_core::KeyId;
    use tallylink_core::crypto::Psk;
    let [old, new] = [(KeyId(1), KEY), (KeyId(2), [8; 16])].map(|(id, key)| (id, Psk::from_bytes(key)));
    for gateway_first in [true, false] {
        let mut pair = pair_with_a_record();
        let set = |pair: &mut Pair, end, keys: [Option<(KeyId, Psk)>; 2]| {
            let provision = Provision { id: crate::support::peer_id(0), end, keys };
            let node = if end == End::Device { &mut pair.device } else { &mut pair.gateway };
            node.endpoint.set_keys(at(pair.now), PEER, provision).unwrap();
        };
        let mut pushed = 1;
        for step in 0..40 {
            while pair.push(tallylink_core::OutIx(0), &record(pushed, 700)).is_ok() {
                pushed += 1;
            }
            pair.run(pair.now + 50_000);
            let both = [Some(new.clone()), Some(old.clone())];
            let last = [Some(new.clone()), None];
            let ends = [End::Gateway, End::Device];
            match step {
                5 => set(&mut pair, End::Gateway, both),
                7 => set(&mut pair, End::Device, both),
                10 => set(&mut pair, ends[usize::from(!gateway_first)], last),
                15 => set(&mut pair, ends[usize::from(gateway_first)], last),
                _ => {}
            }
        }
        pair.run_until_stored(pushed as u64, 20_000_000);
        let records = pair.gateway.inbox.stream("s").records();
        assert_eq!(records.len(), pushed);
        assert!(
            records.iter().enumerate().skip(1).all(|(i, r)| *r == record(i, 700)),
            "in order, each once, unchanged"
        );
        assert_eq!(pair.device.endpoint.newest_key(PEER), Some(KeyId(2)));
        assert!(pair.device.endpoint.totals().sessions >= 2 && pushed > 100);
    }
}
