//! Records from the gateway to the device.

use crate::cable::Port;
use crate::setup::{AMPLE, Room, on_a_cable};
use crate::world::{World, record};
use smoltcp::time::Duration;
use smoltcp::wire::IpAddress;
use tallylink_core::{EpochSource, Instant, Name, OutIx, PeerIx, Storage as _};

const DEVICE: IpAddress = IpAddress::v6(0xfd00, 0, 0, 0, 0, 0, 0, 15);
const GATEWAY: IpAddress = IpAddress::v6(0xfd00, 0, 0, 0, 0, 0, 0, 2);
const COUNT: usize = 300;

fn delivers_both_ways(transmit: Room, full_at_first: bool) {
    let mut w = on_a_cable(DEVICE, GATEWAY, transmit);
    w.deliver("up", 20, |_| 61);
    if full_at_first {
        w.device_inbox.room = Some(0);
    }
    let stream = OutIx(0);
    let name = Name::new("down").unwrap();
    let at = |w: &World<Port>| Instant::from_micros(w.now.total_micros() as u64);
    let now = at(&w);
    w.gateway.endpoint_mut().open(now, stream, PeerIx(0), name, EpochSource::FirstSession, 0, 0..8192).unwrap();
    let mut pushed = 0;
    let mut deliver = |w: &mut World<Port>| {
        let now = at(w);
        let gateway = w.gateway.endpoint_mut();
        while pushed < COUNT && gateway.push(now, stream, &record(pushed, pushed * 7 % 1025)).is_ok() {
            pushed += 1;
        }
        let arrays = w.gateway.endpoint_mut().storage_mut();
        arrays.parts().outbound[0].stored_below() == COUNT as u64
    };
    if full_at_first {
        let sent = w.gateway.endpoint().totals().packets_sent;
        assert!(!w.run(Duration::from_secs(60), &mut deliver));
        let sent = w.gateway.endpoint().totals().packets_sent - sent;
        assert!(sent < 60, "{sent} packets in a minute");
        w.device_inbox.room = None;
        w.device.room(w.now, &mut w.device_inbox);
    }
    assert!(w.run(Duration::from_secs(60), &mut deliver), "not all are stored");
    let records = w.device_inbox.streams[0].records();
    assert_eq!(records.len(), COUNT);
    for (i, r) in records.iter().enumerate() {
        assert_eq!(*r, record(i, i * 7 % 1025), "record {i}");
    }
}

#[test]
fn the_gateways_records_reach_the_device_in_order_and_once() {
    delivers_both_ways(AMPLE, false);
}

#[test]
fn a_tight_ring_for_acknowledgements_only_delays_them() {
    let tight = Room { packets: 1, bytes: 1200 };
    delivers_both_ways(tight, false);
}

#[test]
fn an_application_without_room_stops_the_gateway_until_it_has_some() {
    delivers_both_ways(AMPLE, true);
}
