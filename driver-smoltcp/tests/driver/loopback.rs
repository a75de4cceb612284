//! Delivery over smoltcp's loopback interface.

use crate::setup::{AMPLE, on_one_interface};
use crate::world::{World, record};
use smoltcp::phy::{FaultInjector, Loopback, Medium};
use smoltcp::time::Duration;
use smoltcp::wire::IpAddress;
use tallylink_core::Event;

const V4: IpAddress = IpAddress::v4(127, 0, 0, 1);
const V6: IpAddress = IpAddress::v6(0, 0, 0, 0, 0, 0, 0, 1);
/// On Ethernet smoltcp resolves no neighbour of the name `::1`.
const V6_ETHERNET: IpAddress = IpAddress::v6(0xfd00, 0, 0, 0, 0, 0, 0, 1);

fn delivers(medium: Medium, address: IpAddress) {
    let mut w = on_one_interface(Loopback::new(medium), address, AMPLE);
    w.deliver("temperature", 500, |i| [61, 0, 1, 1024, 17][i % 5]);
    let all = |f: fn(&Event) -> Option<u64>| w.device_events.iter().filter_map(f).max();
    let received = |e: &Event| match e {
        Event::Received(_, below) => Some(*below),
        _ => None,
    };
    let stored = |e: &Event| match e {
        Event::Stored(_, below) => Some(*below),
        _ => None,
    };
    assert!(all(received).is_some());
    assert_eq!(all(stored), Some(500));
    assert_eq!(w.device.faults(), Default::default());
}

#[test]
fn records_are_stored_over_ipv4_without_a_link_layer() {
    delivers(Medium::Ip, V4);
}

#[test]
fn records_are_stored_over_ipv6_without_a_link_layer() {
    delivers(Medium::Ip, V6);
}

#[test]
fn records_are_stored_over_ipv4_on_ethernet() {
    delivers(Medium::Ethernet, V4);
}

#[test]
fn records_are_stored_over_ipv6_on_ethernet() {
    delivers(Medium::Ethernet, V6_ETHERNET);
}

fn delivers_through_faults(address: IpAddress) {
    for seed in 1..=5 {
        println!("seed {seed}");
        let mut phy = FaultInjector::new(Loopback::new(Medium::Ethernet), seed);
        phy.set_drop_chance(7);
        phy.set_corrupt_chance(3);
        let mut w = on_one_interface(phy, address, AMPLE);
        w.deliver("temperature", 300, |i| i * 5 % 1025);
        assert!(w.device.driver().endpoint().totals().chunks_repeated > 0);
    }
}

#[test]
fn frames_lost_and_damaged_both_ways_only_delay_ipv4() {
    delivers_through_faults(V4);
}

#[test]
fn frames_lost_and_damaged_both_ways_only_delay_ipv6() {
    delivers_through_faults(V6_ETHERNET);
}

#[test]
fn a_gateway_without_room_keeps_its_session_and_is_asked_seldom() {
    let mut w = on_one_interface(Loopback::new(Medium::Ip), V4, AMPLE);
    w.gateway_inbox.room = Some(0);
    let stream = w.device.open(w.now, "temperature", 4096).unwrap();
    for i in 0..30 {
        w.device.push(w.now, stream, &record(i, 100)).unwrap();
    }
    assert!(!w.run(Duration::from_secs(60), |_| false));
    let totals = *w.device.driver().endpoint().totals();
    assert_eq!(totals.sessions, 1);
    assert!(totals.packets_sent < 60, "{} in a minute", totals.packets_sent);
    w.gateway_inbox.room = None;
    let now = tallylink_core::Instant::from_micros(w.now.total_micros() as u64);
    w.gateway.endpoint_mut().room(now, &mut w.gateway_inbox);
    let stored = |w: &mut World<Loopback>| w.device.stream(stream).unwrap().stored_below() == 30;
    assert!(w.run(Duration::from_secs(6), stored));
}
