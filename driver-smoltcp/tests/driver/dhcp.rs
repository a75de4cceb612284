//! A DHCP socket beside the driver's: the device has no address at first, and not the same one for ever.

use crate::cable::Port;
use crate::services::Services;
use crate::setup::{AMPLE, GATEWAY_PORT, on_a_bare_cable};
use crate::world::{World, record};
use smoltcp::iface::SocketHandle;
use smoltcp::socket::dhcpv4::{Event, Socket};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{IpAddress, IpCidr, IpEndpoint, Ipv4Address};

const GATEWAY: Ipv4Address = Ipv4Address::new(10, 0, 2, 2);
const FIRST: Ipv4Address = Ipv4Address::new(10, 0, 2, 15);
const SECOND: Ipv4Address = Ipv4Address::new(10, 0, 2, 77);

/// What an application does with its DHCP socket's events.
pub(crate) fn configure(w: &mut World<Port>, dhcp: SocketHandle) {
    let host = &mut w.hosts[0];
    let lease = match host.sockets.get_mut::<Socket<'_>>(dhcp).poll() {
        Some(Event::Configured(lease)) => Some(IpCidr::Ipv4(lease.address)),
        Some(Event::Deconfigured) => None,
        None => return,
    };
    host.interface.update_ip_addrs(|all| {
        all.retain(|address| matches!(address, IpCidr::Ipv6(_)));
        all.extend(lease);
    });
}

fn without_an_address() -> (World<Port>, Services, SocketHandle) {
    let mut w = on_a_bare_cable(&[], &[IpAddress::Ipv4(GATEWAY)], AMPLE);
    let services = Services::beside_the_gateway(&mut w, GATEWAY, FIRST);
    let dhcp = w.hosts[0].sockets.add(Socket::new());
    // Told before there is an address to send from.
    w.device.connect(Instant::ZERO, IpEndpoint::new(GATEWAY.into(), GATEWAY_PORT)).unwrap();
    (w, services, dhcp)
}

#[test]
fn records_pushed_before_there_is_an_address_leave_with_the_first_one() {
    let (mut w, mut services, dhcp) = without_an_address();
    let stream = w.device.open(w.now, "temperature", 4096).unwrap();
    for number in 0..20 {
        w.device.push(w.now, stream, &record(number, 61)).unwrap();
    }
    assert!(!w.run(Duration::from_secs(30), |_| false), "nobody answers yet");
    assert_eq!(w.gateway_inbox.streams.len(), 0);
    assert!(w.steps < 300, "{} steps without an address", w.steps);
    let stored = w.run(Duration::from_secs(60), |w| {
        services.serve(w);
        configure(w, dhcp);
        w.device.stream(stream).unwrap().stored_below() == 20
    });
    assert!(stored);
    assert_eq!(services.leases, 1);
    let records = w.gateway_inbox.streams[0].records();
    assert_eq!(records, (0..20).map(|n| record(n, 61)).collect::<Vec<_>>());
}

#[test]
fn a_lease_that_ends_with_another_address_costs_no_record_and_no_session() {
    let (mut w, mut services, dhcp) = without_an_address();
    services.lease_seconds = 120;
    let stream = w.device.open(w.now, "temperature", 4096).unwrap();
    // A reading each second for ten minutes, and the other address from the third on.
    for number in 0..600 {
        if number == 180 {
            services.lease = SECOND;
        }
        assert_eq!(w.device.push(w.now, stream, &record(number, 61)), Ok(number as u64), "at {}", w.now);
        w.run(Duration::from_secs(1), |w| {
            services.serve(w);
            configure(w, dhcp);
            false
        });
    }
    assert_eq!(w.device.stream(stream).unwrap().stored_below(), 600);
    assert_eq!(services.refusals, 1, "the first address was taken away");
    assert!(services.leases >= 4, "{} leases", services.leases);
    assert_eq!(w.hosts[0].interface.ipv4_addr(), Some(SECOND));
    assert_eq!(w.gateway_inbox.streams[0].records(), (0..600).map(|n| record(n, 61)).collect::<Vec<_>>());
    assert_eq!(w.device.driver().endpoint().totals().sessions, 1);
}
