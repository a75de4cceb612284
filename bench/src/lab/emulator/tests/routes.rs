//! The sender's address changes, and someone else sends what the sender sent before.
use std::net::IpAddr;

use super::{SEED, between, departures, is_whole, ms, number, udp};
use crate::{
    lab::emulator::{Emulator, Profile, Script, addresses, ip::Header},
    transport::side::End,
};

fn source(packet: &[u8]) -> IpAddr {
    Header::parse(packet).expect("a packet").source
}

fn destination(packet: &[u8]) -> IpAddr {
    Header::parse(packet).expect("a packet").destination
}

#[test]
fn answers_reach_the_sender_at_its_newest_address_only() {
    for v6 in [false, true] {
        let script = Script { moves: vec![ms(10), ms(20)], ..Script::default() };
        let mut emulator = Emulator::new(Profile::default(), script, SEED);
        let inner = source(&udp(End::Sender, v6, 0, 100));
        let receiver = source(&udp(End::Receiver, v6, 0, 100));
        let mut outers = Vec::new();
        for (time, sent) in [(0, 0), (10, 1), (20, 2)] {
            emulator.arrive(ms(time), End::Sender, &udp(End::Sender, v6, sent, 100));
            let left = departures(&mut emulator, ms(time));
            assert_eq!(left.len(), 1);
            assert!(is_whole(&left[0].2));
            outers.push(source(&left[0].2));
        }
        assert_eq!(outers[0], inner);
        assert!(outers[1] != inner && outers[2] != inner && outers[1] != outers[2]);
        assert_eq!(emulator.counters().moves, 2);

        for (index, outer) in outers.iter().enumerate() {
            emulator.arrive(ms(30), End::Receiver, &between(receiver, *outer, index as u32, 100));
        }
        let left = departures(&mut emulator, ms(30));
        assert_eq!(left.len(), 1, "the addresses before are nobody's");
        assert_eq!((number(&left[0].2), destination(&left[0].2)), (2, inner));
        assert!(is_whole(&left[0].2));
        assert_eq!(emulator.counters().to_old_address, 2);
    }
}

#[test]
fn old_packets_are_replayed_from_elsewhere_unchanged_but_for_the_address() {
    let script = Script { replay_every: Some(ms(100)), ..Script::default() };
    let mut emulator = Emulator::new(Profile::default(), script, SEED);
    let mut left = Vec::new();
    for sent in 0..50 {
        emulator.arrive(ms(100) * sent, End::Sender, &udp(End::Sender, false, sent, 100));
        left.extend(departures(&mut emulator, ms(100) * sent));
    }
    let elsewhere = addresses::elsewhere(source(&udp(End::Sender, false, 0, 100)));
    let replayed: Vec<_> = left.iter().filter(|(_, _, packet)| source(packet) == elsewhere).collect();
    assert_eq!(replayed.len() as u64, emulator.counters().replayed);
    assert!(replayed.len() > 30, "{}", replayed.len());
    for (at, to, packet) in replayed {
        assert_eq!(*to, End::Receiver);
        assert!(is_whole(packet));
        assert!(*at >= ms(100) * number(packet) + ms(1_000), "old enough to have arrived");
    }
}

#[test]
fn neighbour_and_listener_discovery_stays_where_it_is() {
    let mut emulator = Emulator::new(Profile::default(), Script::default(), SEED);
    let router_solicitation = between(addresses::v6(End::Sender).into(), "ff02::2".parse().expect("an address"), 0, 60);
    emulator.arrive(ms(0), End::Sender, &router_solicitation);
    emulator.arrive(ms(0), End::Sender, &[]);
    emulator.arrive(ms(0), End::Sender, &[0x45]);
    assert!(departures(&mut emulator, ms(1)).is_empty());
    assert_eq!(emulator.counters().not_forwarded, 3);
}
