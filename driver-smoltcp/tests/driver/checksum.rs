//! F41: a network card that leaves the UDP checksum zero.

use crate::cable::udp_of;
use crate::setup::{AMPLE, on_a_cable};
use smoltcp::time::Duration;
use smoltcp::wire::IpAddress;
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

const V4: [IpAddress; 2] = [IpAddress::v4(10, 0, 2, 15), IpAddress::v4(10, 0, 2, 2)];
const V6: [IpAddress; 2] = [IpAddress::v6(0xfd00, 0, 0, 0, 0, 0, 0, 15), IpAddress::v6(0xfd00, 0, 0, 0, 0, 0, 0, 2)];

/// RFC 8200 §8.1 has a receiver discard them over IPv6; smoltcp takes them, and the key protects what they hold.
#[test]
fn f41_datagrams_without_a_checksum_are_taken() {
    for [device, gateway] in [V4, V6] {
        let mut w = on_a_cable(device, gateway, AMPLE);
        for host in &mut w.hosts {
            host.phy.lose = Box::new(|frame| {
                if let Some(mut udp) = udp_of(frame) {
                    udp.set_checksum(0);
                }
                false
            });
        }
        w.deliver("temperature", 100, |i| i);
        assert_eq!(w.device.driver().endpoint().totals().packets_lost, 0);
    }
}

#[test]
fn f41_damage_that_no_checksum_shows_is_a_loss() {
    for [device, gateway] in [V4, V6] {
        let mut w = on_a_cable(device, gateway, AMPLE);
        for host in &mut w.hosts {
            let mut seen = 0;
            host.phy.lose = Box::new(move |frame| {
                if let Some(mut udp) = udp_of(frame) {
                    udp.set_checksum(0);
                    seen += 1;
                    if seen % 5 == 0 {
                        let payload = udp.payload_mut();
                        let at = seen * 31 % payload.len();
                        payload[at] ^= 1 << (seen % 8);
                    }
                }
                false
            });
        }
        w.deliver("temperature", 300, |i| i * 5 % 1025);
        assert!(w.device.driver().endpoint().totals().chunks_repeated > 0);
    }
}

#[test]
fn f41_a_retransmission_has_other_bytes() {
    let mut w = on_a_cable(V4[0], V4[1], AMPLE);
    w.deliver("before", 5, |_| 61);
    let sent = Rc::new(RefCell::new(Vec::new()));
    let all = sent.clone();
    w.hosts[0].phy.lose = Box::new(move |frame| {
        let Some(mut udp) = udp_of(frame) else {
            return false;
        };
        all.borrow_mut().push(udp.payload_mut().to_vec());
        true
    });
    let stream = w.device.open(w.now, "after", 4096).unwrap();
    w.device.push(w.now, stream, &[0x55; 61]).unwrap();
    assert!(!w.run(Duration::from_secs(20), |_| false));
    let sent = sent.borrow();
    let data: Vec<_> = sent.iter().filter(|p| p[0] & 0xc0 == 0x40).collect();
    assert!(data.len() >= 3, "{} packets", data.len());
    let bodies: HashSet<_> = data.iter().map(|p| &p[9..]).collect();
    assert_eq!(bodies.len(), data.len());
}
