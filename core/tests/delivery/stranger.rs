//! F21: whoever does not hold the key has no effect, gets no larger answer than what was sent, and is counted.

use crate::session::pair_with_a_record;
use crate::support::raw::{WIDE, hello, hello_packet, lone};
use crate::support::{KEY, Numbers, Raw, record, small_config};
use std::net::SocketAddr;
use tallylink_core::wire::Hello;
use tallylink_core::{Config, Discard, End, Handled, KeyId, OutIx, PeerId};

fn elsewhere() -> SocketAddr {
    "10.9.9.9:9".parse().unwrap()
}

#[test]
fn f21_f23_a_wrong_key_an_unknown_peer_and_an_unknown_key_id_look_the_same_outside() {
    let mut gateway = lone(End::Gateway, small_config());
    let good = hello(1, 1, 3, WIDE);
    let cases = [
        (good, [8; 16], Discard::Forged),
        (Hello { peer: PeerId([1; 8]), ..good }, KEY, Discard::UnknownPeer),
        (Hello { key: KeyId(2), ..good }, KEY, Discard::UnknownKey),
    ];
    for (hello, key, why) in cases {
        assert_eq!(gateway.take(0, elsewhere(), &mut hello_packet(&hello, key)), Err(why));
        assert_eq!(gateway.discarded(why), 1);
        assert!(gateway.transmit(0).is_empty());
    }
}

#[test]
fn every_altered_bit_of_a_hello_is_noticed() {
    let mut gateway = lone(End::Gateway, small_config());
    let packet = hello_packet(&hello(1, 1, 3, WIDE), KEY);
    for bit in 0..packet.len() * 8 {
        let mut altered = packet.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        // One bit makes a long DATA of another boot of it, which is answered with a hint.
        let handled = gateway.take(0, elsewhere(), &mut altered);
        assert!(matches!(handled, Err(_) | Ok(Handled::Reply(14))), "bit {bit}: {handled:?}");
    }
    assert!(matches!(gateway.take(0, elsewhere(), &mut packet.clone()), Ok(Handled::Reply(82))));
}

#[test]
fn every_altered_bit_of_a_sealed_packet_is_noticed() {
    let mut gateway = lone(End::Gateway, small_config());
    let mut device = Raw::device(&mut gateway, 0, 1, WIDE);
    let long = device.seal(0, &[1]);
    for bit in 0..long.len() * 8 {
        let mut altered = long.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        let handled = gateway.take(0, elsewhere(), &mut altered);
        assert!(matches!(handled, Err(_) | Ok(Handled::Reply(14))), "bit {bit}: {handled:?}");
        assert_eq!(gateway.endpoint.totals().sessions, 0);
    }
    device.go_live(&mut gateway, 0);
    let short = device.seal(7, &[1]);
    for bit in 0..short.len() * 8 {
        let mut altered = short.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        let handled = gateway.take(0, elsewhere(), &mut altered);
        assert!(matches!(handled, Err(_) | Ok(Handled::Reply(14))), "bit {bit}: {handled:?}");
    }
    assert_eq!(gateway.endpoint.totals().packets_received, 1);
}

/// F23: nothing of a packet that does not verify can be read afterwards.
#[test]
fn f23_the_bytes_of_a_forged_packet_are_wiped() {
    let mut gateway = lone(End::Gateway, small_config());
    let mut device = Raw::device(&mut gateway, 0, 1, WIDE);
    device.go_live(&mut gateway, 0);
    let mut forged = device.seal(3, &[1; 40]);
    *forged.last_mut().unwrap() ^= 1;
    assert_eq!(gateway.take(0, elsewhere(), &mut forged), Err(Discard::Forged));
    assert_eq!(forged[9..49], [0; 40]);
}

#[test]
fn f21_random_datagrams_change_nothing_and_get_back_less_than_they_bring() {
    let mut pair = pair_with_a_record();
    pair.run_until_stored(1, 1_000_000);
    pair.run(pair.now + 10_000_000);
    let mut numbers = Numbers(4711);
    let (mut brought, mut answered) = (0, 0);
    for i in 0..100_000u64 {
        let mut bytes: Vec<u8> = (0..numbers.below(120)).map(|_| numbers.below(256) as u8).collect();
        // Half of them look like packets at first sight.
        if i % 2 == 0 && bytes.len() > 2 {
            let heads = [[0, 1], [0, 2], [0, 3], [0, 4], [0, 5], [0x50, 0], [0x60, 0], [0x70, 0]];
            bytes[..2].copy_from_slice(&heads[numbers.below(8) as usize]);
        }
        brought += bytes.len();
        let now = pair.now + i * 50;
        if let Ok(Handled::Reply(len)) = pair.gateway.take(now, elsewhere(), &mut bytes) {
            assert!(len < bytes.len());
            answered += len;
        }
        assert!(pair.device.take(now, elsewhere(), &mut bytes).is_err() || bytes.is_empty());
    }
    assert!(answered * 2 < brought);
    pair.now += 5_000_000;
    assert!(pair.gateway.transmit(pair.now).is_empty());
    assert!(pair.device.transmit(pair.now).is_empty());
    pair.push(OutIx(0), &record(1, 61)).unwrap();
    pair.run_until_stored(2, 1_000_000);
    assert_eq!(pair.gateway.endpoint.totals().sessions, 1);
}

/// A flood of packets with labels that nobody knows must not keep the answers to HELLO away.
#[test]
fn f21_a_flood_of_unknown_labels_locks_no_device_out() {
    let mut gateway = lone(End::Gateway, Config { replies_per_second: 10, ..small_config() });
    let mut hints = 0;
    for i in 0..1000u32 {
        let mut junk = vec![0x50; 60];
        junk[1..5].copy_from_slice(&(i | 0x8000_0000).to_be_bytes());
        hints += u64::from(gateway.take(0, elsewhere(), &mut junk).is_ok());
    }
    assert_eq!(hints, 10, "hints are limited");
    assert_eq!(gateway.discarded(Discard::UnknownLabel), 1000);
    let mut packet = hello_packet(&hello(1, 1, 3, WIDE), KEY);
    let answer = gateway.take(0, "127.0.0.1:1000".parse().unwrap(), &mut packet);
    assert!(matches!(answer, Ok(Handled::Reply(_))), "{answer:?}");
}

/// A captured HELLO is genuine, and is answered whoever sends it: not so often that the others go without.
#[test]
fn f21_a_flood_of_replayed_hellos_locks_no_other_device_out() {
    let mut fleet = crate::support::Fleet::new(&small_config(), 2, 2, 1 << 14);
    let replayed = hello_packet(&hello(1, 1, 3, WIDE), KEY);
    let mut answers = 0;
    for _ in 0..10_000 {
        let handled = fleet.gateway.take(0, elsewhere(), &mut replayed.clone());
        answers += u64::from(matches!(handled, Ok(Handled::Reply(_))));
    }
    assert!((200..=256).contains(&answers), "{answers} answers");
    fleet.push(1, b"a record").unwrap();
    fleet.run(500_000);
    assert_eq!(fleet.devices[1].outbound(0).stored_below(), 1);
}

#[test]
fn a_hint_is_ignored_while_nothing_is_outstanding() {
    let mut pair = pair_with_a_record();
    pair.run_until_stored(1, 1_000_000);
    pair.run(pair.now + 10_000_000);
    let mut label = [0; 4];
    pair.capture = Some(vec![]);
    pair.push(OutIx(0), &record(1, 61)).unwrap();
    pair.flush();
    let sent = pair.capture.take().unwrap();
    label.copy_from_slice(&sent[0].1[1..5]);
    let hint = |pair: &mut crate::support::Pair| {
        let mut bytes = [&[0, 5][..], &label, &[0; 8]].concat();
        pair.device.take(pair.now, elsewhere(), &mut bytes)
    };
    // The record is outstanding: a HELLO goes out beside a PING, and the session stays, since it answers.
    assert_eq!(hint(&mut pair), Ok(Handled::Session));
    pair.run_until_stored(2, 1_000_000);
    pair.run(pair.now + 10_000_000);
    assert_eq!(pair.device.endpoint.totals().sessions, 1);
    assert_eq!(hint(&mut pair), Err(Discard::UnusedHint));
    assert_eq!(pair.device.transmit(pair.now).len(), 0);
}
