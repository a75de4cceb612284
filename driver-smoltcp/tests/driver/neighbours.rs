//! F39: a neighbour that must be resolved first costs time and nothing else.

use crate::cable::{Port, resolves_neighbour};
use crate::setup::{AMPLE, Room, on_a_cable};
use crate::world::World;
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{IpAddress, IpEndpoint};

const V4: [IpAddress; 2] = [IpAddress::v4(10, 0, 2, 15), IpAddress::v4(10, 0, 2, 2)];
const V6: [IpAddress; 2] = [IpAddress::v6(0xfd00, 0, 0, 0, 0, 0, 0, 15), IpAddress::v6(0xfd00, 0, 0, 0, 0, 0, 0, 2)];

fn delivers_although_requests_are_lost(lost: usize, [device, gateway]: [IpAddress; 2], by: i64) {
    let mut w = on_a_cable(device, gateway, AMPLE);
    let mut left = lost;
    w.hosts[0].phy.lose = Box::new(move |frame| {
        let lost = left > 0 && resolves_neighbour(frame);
        left -= usize::from(lost);
        lost
    });
    w.deliver("temperature", 20, |_| 61);
    assert!(w.now <= Instant::from_millis(by), "{}", w.now);
    let totals = w.device.driver().endpoint().totals();
    assert_eq!(totals.packets_lost, 0, "nothing was taken for congestion");
    assert!(w.steps < 200, "{} steps", w.steps);
}

#[test]
fn f39_a_resolved_neighbour_costs_no_time() {
    delivers_although_requests_are_lost(0, V4, 100);
    delivers_although_requests_are_lost(0, V6, 100);
}

#[test]
fn f39_the_first_datagram_waits_for_its_neighbour() {
    delivers_although_requests_are_lost(1, V4, 1_200);
    delivers_although_requests_are_lost(1, V6, 1_200);
}

#[test]
fn f39_three_lost_requests_cost_about_three_seconds() {
    delivers_although_requests_are_lost(3, V4, 3_500);
    delivers_although_requests_are_lost(3, V6, 3_500);
}

/// smoltcp forgets a neighbour after a minute.
#[test]
fn f39_a_neighbour_forgotten_in_mid_session_is_ordinary_loss() {
    let [device, gateway] = V4;
    let room = Room { packets: 2, bytes: 2400 };
    let mut w = on_a_cable(device, gateway, room);
    w.deliver("before", 20, |_| 61);
    assert!(!w.run(Duration::from_secs(90), |_| false));
    let hellos = w.device.driver().endpoint().totals().hellos_sent;
    let lost_before = w.device.driver().endpoint().totals().packets_lost;
    let start = w.now;
    let mut left = 1;
    w.hosts[0].phy.lose = Box::new(move |frame| {
        let lost = left > 0 && resolves_neighbour(frame);
        left -= usize::from(lost);
        lost
    });
    w.deliver("after", 20, |_| 61);
    assert!(w.now - start < Duration::from_millis(2_500), "{}", w.now);
    let totals = w.device.driver().endpoint().totals();
    assert!(totals.hellos_sent <= hellos + 2, "the session goes on");
    println!("lost {}", totals.packets_lost - lost_before);
}

#[test]
fn f39_a_gateway_that_does_not_exist_holds_up_nothing_after_the_next_connect() {
    for [device, gateway] in [V4, V6] {
        let mut w = on_a_cable(device, gateway, AMPLE);
        let stream = w.device.open(w.now, "temperature", 4096).unwrap();
        let nobody = match gateway {
            IpAddress::Ipv4(_) => IpAddress::v4(10, 0, 2, 99),
            IpAddress::Ipv6(_) => IpAddress::v6(0xfd00, 0, 0, 0, 0, 0, 0, 99),
        };
        w.device.connect(w.now, IpEndpoint::new(nobody, 7433)).unwrap();
        w.device.push(w.now, stream, &[0x55; 61]).unwrap();
        assert!(!w.run(Duration::from_secs(300), |_| false));
        assert!(w.steps < 700, "{} steps in five minutes", w.steps);
        w.device.connect(w.now, IpEndpoint::new(gateway, 7433)).unwrap();
        let stored = |w: &mut World<Port>| w.device.stream(stream).unwrap().stored_below() == 1;
        assert!(w.run(Duration::from_secs(3), stored));
    }
}
