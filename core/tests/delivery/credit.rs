//! Credit: a window that the sender asks for again; nothing shuts it for ever (F30, F31).

use crate::support::raw::{WIDE, frames_until, lone};
use crate::support::{Node, PEER, Pair, Raw, at, frames_in, record, small_config};
use tallylink_core::wire::{Frame, Limits, QueryFor};
use tallylink_core::{Config, End, EpochSource, Name, OutIx};

const HOUR: u64 = 3_600_000_000;

/// F30: whichever packet of a record larger than the first window is lost, the record arrives.
#[test]
fn a_record_larger_than_the_window_arrives_whichever_packet_of_it_is_lost() {
    let config = Config { first_credit: 4096, ..small_config() };
    let packets = {
        let mut pair = Pair::new(config.clone(), 1 << 16);
        let stream = pair.open(0, "s", 1 << 16);
        pair.push(stream, &record(0, 30_000)).unwrap();
        pair.run_until_stored(1, 5_000_000);
        pair.sent
    };
    for up in [true, false] {
        for lost in 0..packets[usize::from(!up)] + 2 {
            let mut pair = Pair::new(config.clone(), 1 << 16);
            let stream = pair.open(0, "s", 1 << 16);
            pair.push(stream, &record(0, 30_000)).unwrap();
            let mut sealed = 0;
            pair.lose = Box::new(move |to_gateway, _| {
                sealed += usize::from(to_gateway == up);
                to_gateway == up && sealed == lost + 1
            });
            pair.run_until_stored(1, 20_000_000);
            assert_eq!(pair.gateway.inbox.stream("s").records(), [record(0, 30_000)], "packet {lost}, up {up}");
        }
    }
}

#[test]
fn the_window_opens_as_it_is_used() {
    let mut pair = Pair::new(Config { first_credit: 4096, in_flight: 1024, ..small_config() }, 1 << 20);
    pair.delay_us = 10_000;
    let stream = pair.open(0, "s", 1 << 20);
    for i in 0..800 {
        pair.push(stream, &record(i, 1000)).unwrap();
    }
    // With the first window alone 800 kB took 200 round trips of 20 ms.
    pair.run_until_stored(800, 1_000_000);
}

/// A device with much to send, and a gateway that the test plays: it grants `credit` and acknowledges nothing by itself.
fn sender(credit: u32) -> (Node, Raw) {
    let mut device = lone(End::Device, small_config());
    let gateway = Raw::gateway(&mut device, 0, Limits { credit, ..WIDE });
    let name = Name::new("s").unwrap();
    device.endpoint.open(at(0), OutIx(0), PEER, name, EpochSource::FirstSession, 0, 0..1 << 17).unwrap();
    for i in 0..100 {
        device.endpoint.push(at(0), OutIx(0), &record(i, 1000)).unwrap();
    }
    (device, gateway)
}

/// Acknowledges everything that was seen, with these frames besides.
fn answer(gateway: &mut Raw, device: &mut Node, now: u64, frames: &[Frame<'_>]) {
    gateway.acknowledge(device, now, frames).unwrap();
}

fn bytes_sent(packets: &[Vec<u8>]) -> usize {
    packets.iter().flat_map(|p| frames_in(p)).map(|f| if let Frame::Chunk(c) = f { c.bytes.len() } else { 0 }).sum()
}

fn queries(packets: &[Vec<u8>]) -> Vec<QueryFor> {
    let frames = packets.iter().flat_map(|p| frames_in(p));
    frames.filter_map(|f| if let Frame::Query(what) = f { Some(what) } else { None }).collect()
}

/// F31: CREDIT is asked for at once, then with back-off, and one answer is enough.
#[test]
fn a_shut_window_is_asked_about_seldom_and_its_opening_counts_at_once() {
    let (mut device, mut gateway) = sender(3_100);
    let mut now = 0;
    let sent = gateway.receive(&mut device, now);
    assert_eq!(bytes_sent(&sent), 3 * 1002);
    now = 20_000;
    answer(&mut gateway, &mut device, now, &[Frame::Opened { stream: 1, stored_below: 0 }]);
    let (mut asked, mut packets) = (0, 0);
    while now < HOUR {
        let until = now + 10_000_000;
        let sent = frames_until(&mut gateway, &mut device, &mut now, until);
        let queries = queries(&sent);
        asked += queries.len();
        packets += sent.len();
        assert!(queries.contains(&QueryFor::Credit(4 * 1002)), "{queries:?}");
        answer(&mut gateway, &mut device, now, &[]);
    }
    assert!(packets < 1_000 && asked >= 700, "{packets} packets, {asked} questions in an hour");
    answer(&mut gateway, &mut device, now, &[Frame::Credit(1 << 20)]);
    assert!(bytes_sent(&gateway.receive(&mut device, now)) > 3 * 1002, "it goes on at once");
}

/// On a path of a minute such answers come all the time: probes that start anew with each would push every packet out of a small
/// table before its ACK comes.
#[test]
fn credit_that_is_no_news_does_not_start_back_off_anew() {
    let (mut device, mut gateway) = sender(3_100);
    let mut now = 0;
    gateway.receive(&mut device, now);
    let mut packets = 0;
    while now < 600_000_000 {
        let until = now + 5_000_000;
        packets += frames_until(&mut gateway, &mut device, &mut now, until).len();
        gateway.send(&mut device, now, &[Frame::Credit(3_100)]).unwrap();
    }
    assert!(packets < 60, "{packets} packets in ten minutes");
}

#[test]
fn credit_of_the_highest_numbered_packet_counts() {
    let (mut device, mut gateway) = sender(3_100);
    gateway.receive(&mut device, 0);
    gateway.next = 10;
    gateway.send(&mut device, 0, &[Frame::Credit(5_010)]).unwrap();
    assert_eq!(bytes_sent(&gateway.receive(&mut device, 0)), 2 * 1002);
    gateway.next = 5;
    gateway.send(&mut device, 0, &[Frame::Credit(1 << 20)]).unwrap();
    assert_eq!(bytes_sent(&gateway.receive(&mut device, 0)), 0, "an older CREDIT came late");
}

/// A lower window holds back new records only.
#[test]
fn a_record_that_was_begun_may_be_finished_under_a_lower_window() {
    let mut device = lone(End::Device, small_config());
    let mut gateway = Raw::gateway(&mut device, 0, Limits { credit: 100_000, ..WIDE });
    let name = Name::new("s").unwrap();
    device.endpoint.open(at(0), OutIx(0), PEER, name, EpochSource::FirstSession, 0, 0..1 << 17).unwrap();
    device.endpoint.push(at(0), OutIx(0), &record(0, 40_000)).unwrap();
    device.endpoint.push(at(0), OutIx(0), &record(1, 100)).unwrap();
    let first = bytes_sent(&gateway.receive(&mut device, 0));
    assert!(first < 40_000, "the congestion window holds the rest back");
    let (mut now, mut total) = (0, first);
    for _ in 0..10 {
        now += 20_000;
        answer(&mut gateway, &mut device, now, &[Frame::Credit(0)]);
        let until = now + 10_000;
        total += bytes_sent(&frames_until(&mut gateway, &mut device, &mut now, until));
    }
    assert_eq!(total, 40_004, "the first record, and nothing of the second");
}

/// STORED is asked for with back-off as well, and its coming starts the back-off anew.
#[test]
fn stored_is_asked_for_seldom() {
    let (mut device, mut gateway) = sender(1 << 20);
    let mut now = 0;
    let mut until = 0;
    while device.outbound(0).received_below() < 100 {
        until += 20_000;
        frames_until(&mut gateway, &mut device, &mut now, until);
        answer(&mut gateway, &mut device, now, &[Frame::Opened { stream: 1, stored_below: 0 }]);
        assert!(now < 10_000_000, "{}", device.outbound(0).received_below());
    }
    let mut packets = 0;
    while now < HOUR {
        until = now + 1_000_000;
        let sent = frames_until(&mut gateway, &mut device, &mut now, until);
        assert!(queries(&sent).iter().all(|q| *q == QueryFor::Stored(1)));
        if !sent.is_empty() {
            packets += sent.len();
            answer(&mut gateway, &mut device, now, &[]);
        }
    }
    assert!((700..1_000).contains(&packets), "{packets} questions in an hour");
    assert_eq!(device.outbound(0).stored_below(), 0);
}

/// A receiver whose application takes nothing for an hour costs less than a thousand packets, and goes on at once.
#[test]
fn a_stalled_receiver_costs_less_than_a_thousand_packets_an_hour() {
    let mut pair = Pair::new(small_config(), 1 << 16);
    pair.gateway.inbox.room = Some(3);
    pair.gateway.storing = false;
    let stream = pair.open(0, "s", 1 << 16);
    for i in 0..60 {
        pair.push(stream, &record(i, 1000)).unwrap();
    }
    pair.run(HOUR);
    assert!(pair.sent[0] < 1_000 && pair.sent[1] < 1_000, "{:?} packets", pair.sent);
    assert_eq!(pair.device.endpoint.totals().sessions, 1);
    pair.gateway.inbox.room = None;
    pair.gateway.storing = true;
    let now = at(pair.now);
    pair.gateway.endpoint.room(now, &mut pair.gateway.inbox);
    pair.run_until_stored(60, 300_000);
}
