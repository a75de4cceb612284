//! F40: a transmit ring without room spends no packet number and queues nothing empty.

use crate::cable::udp_of;
use crate::setup::{AMPLE, Room, on_a_cable, socket};
use crate::world::record;
use smoltcp::time::Duration;
use smoltcp::wire::IpAddress;
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use tallylink_core::wire::Packet;
use tallylink_smoltcp::{RETRY_AFTER, SENT_PER_STEP, SocketError};

const DEVICE: IpAddress = IpAddress::v4(10, 0, 2, 15);
const GATEWAY: IpAddress = IpAddress::v4(10, 0, 2, 2);

/// Rings whose room never suits what is to be sent.
const TIGHT: [Room; 5] = [
    Room { packets: 1, bytes: 1200 },
    Room { packets: 2, bytes: 1200 },
    Room { packets: 2, bytes: 1300 },
    Room { packets: 3, bytes: 2500 },
    Room { packets: 16, bytes: 1999 },
];

#[test]
fn f40_every_datagram_that_leaves_is_a_packet_and_no_number_leaves_twice() {
    for room in TIGHT {
        println!("{} packets, {} bytes", room.packets, room.bytes);
        let mut w = on_a_cable(DEVICE, GATEWAY, room);
        let seen = Rc::new(RefCell::new(HashSet::new()));
        let packets = seen.clone();
        w.hosts[0].phy.lose = Box::new(move |frame| {
            let Some(mut udp) = udp_of(frame) else {
                return false;
            };
            match Packet::parse(udp.payload_mut()).expect("a packet in each datagram") {
                Packet::Data(header) => {
                    let number = (header.label.0, u64::from(header.truncated));
                    assert!(packets.borrow_mut().insert(number), "{header:?} twice");
                }
                Packet::LongData(long) => {
                    assert!(packets.borrow_mut().insert((u32::MAX, long.number)));
                }
                _ => {}
            }
            false
        });
        w.deliver("temperature", 400, |i| i * 13 % 1025);
        let sent = w.device.driver().endpoint().totals().packets_sent;
        assert_eq!(sent, seen.borrow().len() as u64, "each number spent has left");
        assert!(w.device.faults().transmit_full > 0);
        assert_eq!(w.device.faults().unsendable, 0);
    }
}

#[test]
fn f40_a_step_without_room_spends_nothing_and_comes_back_later() {
    let room = Room { packets: 1, bytes: 1200 };
    let mut w = on_a_cable(DEVICE, GATEWAY, room);
    w.deliver("first", 5, |_| 61);
    let stream = w.device.open(w.now, "second", 4096).unwrap();
    for i in 0..3 {
        w.device.push(w.now, stream, &record(i, 1000)).unwrap();
    }
    let before = w.device.driver().endpoint().totals().packets_sent;
    w.step_device();
    assert!(!w.device_socket().can_send());
    let wait = Duration::from_micros(RETRY_AFTER.as_micros());
    for _ in 0..50 {
        assert_eq!(w.step_device(), Some(w.now + wait));
    }
    let after = w.device.driver().endpoint().totals().packets_sent;
    assert_eq!(after, before + 1, "the one that is in the ring");
}

#[test]
fn a_step_sends_its_share_and_asks_to_go_on() {
    let mut w = on_a_cable(DEVICE, GATEWAY, AMPLE);
    w.deliver("first", 40, |_| 900);
    let before = w.device.driver().endpoint().totals().packets_sent;
    let stream = w.device.open(w.now, "second", 8192).unwrap();
    while w.device.push(w.now, stream, &record(0, 1024)).is_ok() {}
    w.step_device();
    let sent = w.device.driver().endpoint().totals().packets_sent - before;
    assert!(sent >= 1 && sent <= SENT_PER_STEP as u64, "{sent}");
}

#[test]
fn a_ring_that_never_suits_is_named_and_does_not_spin() {
    let room = Room { packets: 4, bytes: 1199 };
    let mut w = on_a_cable(DEVICE, GATEWAY, room);
    assert_eq!(w.device.driver().check_socket(&socket(room)), Err(SocketError::Closed));
    let mut bound = socket(room);
    bound.bind(1).unwrap();
    assert_eq!(w.device.driver().check_socket(&bound), Err(SocketError::TransmitTooSmall));
    let stream = w.device.open(w.now, "temperature", 4096).unwrap();
    while w.device.push(w.now, stream, &record(0, 1024)).is_ok() {}
    assert!(!w.run(Duration::from_secs(60), |_| false));
    assert!(w.device.faults().unsendable > 0);
    assert!(w.steps < 500, "{} steps in a minute", w.steps);
}

#[test]
fn a_closed_socket_does_not_spin_and_delivers_once_it_is_open() {
    let mut w = on_a_cable(DEVICE, GATEWAY, AMPLE);
    w.device_socket().close();
    let stream = w.device.open(w.now, "temperature", 4096).unwrap();
    w.device.push(w.now, stream, &record(0, 61)).unwrap();
    assert!(!w.run(Duration::from_secs(60), |_| false));
    assert!(w.device.faults().unsendable > 0);
    assert!(w.steps < 200, "{} steps in a minute", w.steps);
    assert_eq!(w.device.driver().endpoint().totals().packets_sent, 0);
    w.device_socket().bind(50_000).unwrap();
    assert!(w.run(Duration::from_secs(3), |w| { w.device.stream(stream).unwrap().stored_below() == 1 }));
}
