//! Addresses of version 6, also beside those of version 4.

use crate::cable::{Port, udp_of};
use crate::setup::{AMPLE, GATEWAY_PORT, on_a_bare_cable};
use crate::world::{World, record};
use smoltcp::time::Duration;
use smoltcp::wire::{IpAddress, IpEndpoint};
use std::cell::Cell;
use std::rc::Rc;

const DEVICE: [IpAddress; 2] = [IpAddress::v4(10, 0, 2, 15), IpAddress::v6(0xfd00, 0, 0, 0, 0, 0, 0, 15)];
const GATEWAY: [IpAddress; 2] = [IpAddress::v4(10, 0, 2, 2), IpAddress::v6(0xfd00, 0, 0, 0, 0, 0, 0, 2)];

/// Each datagram's version, first those of the device.
fn count_versions(w: &mut World<Port>) -> [[Rc<Cell<usize>>; 2]; 2] {
    let counts: [[Rc<Cell<usize>>; 2]; 2] = Default::default();
    for (host, counts) in w.hosts.iter_mut().zip(&counts) {
        let [four, six] = counts.clone();
        host.phy.lose = Box::new(move |frame| {
            let count = if frame[14] >> 4 == 4 { &four } else { &six };
            count.set(count.get() + usize::from(udp_of(frame).is_some()));
            false
        });
    }
    counts
}

#[test]
fn a_stream_goes_on_when_the_gateway_gets_an_address_of_the_other_version_and_back() {
    let mut w = on_a_bare_cable(&DEVICE, &GATEWAY, AMPLE);
    let counts = count_versions(&mut w);
    let stream = w.device.open(w.now, "temperature", 4096).unwrap();
    let mut pushed = 0;
    let mut before = [0; 4];
    for version in [0, 1, 0, 1] {
        w.device.connect(w.now, IpEndpoint::new(GATEWAY[version], GATEWAY_PORT)).unwrap();
        let until = pushed + 100;
        assert!(w.run(Duration::from_secs(60), |w| {
            while pushed < until && w.device.push(w.now, stream, &record(pushed, 61)).is_ok() {
                pushed += 1;
            }
            w.device.stream(stream).unwrap().stored_below() == until as u64
        }));
        let [[up4, up6], [down4, down6]] = &counts;
        let now = [up4.get(), down4.get(), up6.get(), down6.get()];
        let (used, unused) = (2 * version, 2 - 2 * version);
        assert!(now[used] > before[used] && now[used + 1] > before[used + 1], "{before:?} {now:?}");
        assert_eq!(now[unused], before[unused], "the device sends to its gateway's address");
        before = now;
    }
    let received = &w.gateway_inbox.streams;
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].records(), (0..400).map(|n| record(n, 61)).collect::<Vec<_>>());
}
