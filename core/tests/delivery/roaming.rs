//! F13: a device may move, but only a fresh authentic packet says so, and the new address must answer.

use crate::hostile::{chunk, open};
use crate::support::raw::{WIDE, lone};
use crate::support::{Node, PEER, Pair, Raw, at, bytes_of, frames_in, record, small_config};
use std::net::SocketAddr;
use tallylink_core::wire::{Frame, PacketRange, Writer, frame::write_ack};
use tallylink_core::{Discard, End, Event, Name, OutIx};

fn elsewhere() -> SocketAddr {
    "10.1.1.1:7".parse().unwrap()
}

/// A gateway with much to send to a device that the test plays; what it sends has reached the first address and is
/// acknowledged, so that address is proved.
fn downlink() -> (Node, Raw, u64) {
    let mut gateway = lone(End::Gateway, small_config());
    let mut device = Raw::device(&mut gateway, 0, 1, WIDE);
    let frames = device.go_live(&mut gateway, 0);
    assert!(frames.iter().any(|f| frames_in(f).contains(&Frame::Ping)), "the first address is asked for an answer");
    let now = 50_000;
    acknowledge(&mut device, &mut gateway, now);
    (gateway, device, now)
}

/// Acknowledges all that the device has seen.
fn acknowledge(device: &mut Raw, gateway: &mut Node, now: u64) {
    let ack = ack_of(0, device.seen - 1);
    device.send_bytes(gateway, now, &ack).unwrap();
}

fn ack_of(low: u64, high: u64) -> Vec<u8> {
    let mut buffer = [0; 64];
    let mut w = Writer::new(&mut buffer);
    write_ack(&mut w, 0, &[PacketRange { low, high }]).unwrap();
    w.into_written().to_vec()
}

fn fill(gateway: &mut Node, now: u64) {
    let source = tallylink_core::EpochSource::FirstSession;
    let name = Name::new("down").unwrap();
    gateway.endpoint.open(at(now), OutIx(0), PEER, name, source, 0, 0..1 << 17).unwrap();
    for i in 0..100 {
        gateway.endpoint.push(at(now), OutIx(0), &record(i, 1000)).unwrap();
    }
}

fn path(gateway: &Node) -> SocketAddr {
    gateway.endpoint.storage().peers[0].path().remote
}

#[test]
fn an_old_a_repeated_or_a_forged_packet_moves_nothing() {
    let (mut gateway, mut device, now) = downlink();
    device.next = 20;
    device.send(&mut gateway, now, &[Frame::Ping]).unwrap();
    let home = path(&gateway);
    device.address = elsewhere();
    // Withheld until now: authentic, but not the newest.
    let mut old = device.seal(15, &[1]);
    assert!(gateway.take(now, elsewhere(), &mut old.clone()).is_ok());
    assert_eq!(gateway.take(now, elsewhere(), &mut old), Err(Discard::Duplicate));
    let mut forged = device.seal(30, &[1]);
    forged[20] ^= 1;
    assert_eq!(gateway.take(now, elsewhere(), &mut forged), Err(Discard::Forged));
    assert_eq!(path(&gateway), home);
    let answers = gateway.transmit(now);
    assert!(answers.iter().all(|(to, _)| *to == home));
}

#[test]
fn an_address_that_has_not_answered_gets_three_times_what_came_from_it() {
    let (mut gateway, mut device, mut now) = downlink();
    fill(&mut gateway, now);
    gateway.transmit(now);
    device.address = elsewhere();
    let mut packet = device.seal(device.next, &[1; 30]);
    device.next += 1;
    let brought = packet.len();
    gateway.take(now, elsewhere(), &mut packet).unwrap();
    assert_eq!(path(&gateway), elsewhere());
    let (mut to_new, mut asked) = (0, false);
    for _ in 0..2_000 {
        for (to, bytes) in gateway.transmit(now) {
            if to == elsewhere() {
                to_new += bytes.len();
                asked |= device.open(&bytes).is_some_and(|f| frames_in(&f).iter().any(Frame::elicits_ack));
            }
        }
        now += 1_000;
        if gateway.next_timeout_us() <= now {
            gateway.endpoint.handle_timeout(at(now));
        }
    }
    assert!(to_new <= 3 * brought, "{to_new} for {brought}");
    assert!(asked, "the new address is asked for an answer");
    assert_ne!(path(&gateway), elsewhere(), "it did not answer: the old one counts again");
    assert!(!gateway.told(Event::Moved(PEER)));
}

#[test]
fn only_an_ack_of_a_packet_that_was_sent_there_proves_an_address() {
    let (mut gateway, mut device, now) = downlink();
    fill(&mut gateway, now);
    device.receive(&mut gateway, now);
    let before = device.seen - 1;
    device.address = elsewhere();
    device.send(&mut gateway, now, &[Frame::Ping]).unwrap();
    let sent = device.receive(&mut gateway, now);
    assert!(!sent.is_empty());
    // Packets that went to the old address prove nothing.
    device.send_bytes(&mut gateway, now, &ack_of(0, before)).unwrap();
    gateway.transmit(now);
    assert!(!gateway.told(Event::Moved(PEER)));
    let newest = device.seen - 1;
    device.send_bytes(&mut gateway, now, &ack_of(newest, newest)).unwrap();
    gateway.transmit(now);
    assert!(gateway.told(Event::Moved(PEER)));
    assert_eq!(path(&gateway), elsewhere());
}

/// Until the answer comes the device sends on, from where it is; the gateway takes it all.
#[test]
fn a_device_that_moves_there_and_back_loses_nothing() {
    let mut pair = Pair::new(small_config(), 1 << 16);
    pair.delay_us = 5_000;
    let stream = pair.open(0, "s", 1 << 16);
    let addresses = ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.1:1", "10.0.0.1:2", "[fd00::1]:5"];
    for (i, address) in addresses.iter().enumerate() {
        pair.device.address = address.parse().unwrap();
        for n in 0..50 {
            pair.push(stream, &record(i * 50 + n, 300)).unwrap();
        }
        pair.run(pair.now + 20_000);
    }
    pair.run_until_stored(250, 20_000_000);
    pair.run(pair.now + 5_000_000);
    assert_eq!(path(&pair.gateway), "[fd00::1]:5".parse().unwrap());
    assert_eq!(pair.device.endpoint.totals().sessions, 1);
    let records = pair.gateway.inbox.stream("s").records();
    assert!(records.iter().enumerate().all(|(i, r)| *r == record(i, 300)));
}

/// The device moved while nothing was outstanding: its next packet brings everything along.
#[test]
fn an_idle_device_may_move() {
    let mut pair = Pair::new(small_config(), 1 << 16);
    let stream = pair.open(0, "s", 1 << 16);
    pair.push(stream, &record(0, 300)).unwrap();
    pair.run_until_stored(1, 1_000_000);
    pair.run(600_000_000);
    pair.device.address = elsewhere();
    pair.push(stream, &record(1, 300)).unwrap();
    pair.run_until_stored(2, 1_000_000);
    assert!(pair.strays.is_empty());
}

/// The first address of a session is not proved either: somebody may have sent the device's packet from elsewhere.
#[test]
fn the_first_address_gets_three_times_what_came_from_it_until_it_answers() {
    let mut gateway = lone(End::Gateway, small_config());
    let device = Raw::device(&mut gateway, 0, 1, WIDE);
    let mut now = 0;
    fill(&mut gateway, now);
    let mut packet = device.seal(0, &bytes_of(&[Frame::Open(open(1)), Frame::Chunk(chunk(1, 0, &[0]))]));
    let brought = packet.len();
    gateway.take(now, elsewhere(), &mut packet).unwrap();
    let sent: usize = gateway.alone(&mut now, 3_600_000_000).iter().map(Vec::len).sum();
    assert!(sent > 0 && sent <= 3 * brought, "{sent} for {brought}");
}
