//! A DNS socket beside the driver's: the device knows its gateway by name.

use crate::cable::Port;
use crate::dhcp::configure;
use crate::services::Services;
use crate::setup::{AMPLE, GATEWAY_PORT, on_a_bare_cable};
use crate::world::World;
use smoltcp::iface::SocketHandle;
use smoltcp::socket::{dhcpv4, dns};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{DnsQueryType, IpAddress, IpEndpoint, Ipv4Address};

const GATEWAY_V4: Ipv4Address = Ipv4Address::new(10, 0, 2, 2);
const GATEWAY: [IpAddress; 2] = [IpAddress::Ipv4(GATEWAY_V4), IpAddress::v6(0xfd00, 0, 0, 0, 0, 0, 0, 2)];
const DEVICE_V4: Ipv4Address = Ipv4Address::new(10, 0, 2, 15);
const DEVICE_V6: IpAddress = IpAddress::v6(0xfd00, 0, 0, 0, 0, 0, 0, 15);

/// Asks for a name until it is answered; `None` when there is no such name.
fn resolve(
    w: &mut World<Port>,
    services: &mut Services,
    at: SocketHandle,
    name: &str,
    kind: DnsQueryType,
) -> Option<IpAddress> {
    let host = &mut w.hosts[0];
    let context = host.interface.context();
    let query = host.sockets.get_mut::<dns::Socket<'_>>(at).start_query(context, name, kind).unwrap();
    let mut found = None;
    let answered = w.run(Duration::from_secs(30), |w| {
        services.serve(w);
        let socket = w.hosts[0].sockets.get_mut::<dns::Socket<'_>>(at);
        match socket.get_query_result(query) {
            Ok(addresses) => found = addresses.first().copied(),
            Err(dns::GetQueryResultError::Pending) => return false,
            Err(dns::GetQueryResultError::Failed) => {}
        }
        true
    });
    assert!(answered, "the name server is silent");
    found
}

/// The device starts with DHCP and DNS sockets, and with no address of version 4.
fn delivers_to_a_name(kind: DnsQueryType) {
    let mut w = on_a_bare_cable(&[DEVICE_V6], &GATEWAY, AMPLE);
    let mut services = Services::beside_the_gateway(&mut w, GATEWAY_V4, DEVICE_V4);
    services.known.1 = GATEWAY.to_vec();
    let dhcp = w.hosts[0].sockets.add(dhcpv4::Socket::new());
    let dns = w.hosts[0].sockets.add(dns::Socket::new(&[GATEWAY[0]], vec![]));
    assert!(w.run(Duration::from_secs(30), |w| {
        services.serve(w);
        configure(w, dhcp);
        w.hosts[0].interface.ipv4_addr().is_some()
    }));
    assert_eq!(resolve(&mut w, &mut services, dns, "nobody.example", kind), None);
    let gateway = resolve(&mut w, &mut services, dns, "gateway.example", kind).expect("an address");
    assert!(GATEWAY.contains(&gateway) && matches!(gateway, IpAddress::Ipv6(_)) == (kind == DnsQueryType::Aaaa));
    w.device.connect(w.now, IpEndpoint::new(gateway, GATEWAY_PORT)).unwrap();
    w.deliver("temperature", 200, |i| i * 5 % 1025);
    assert_eq!(w.device.faults(), Default::default());
    assert!(w.now < Instant::from_secs(60), "{}", w.now);
    // The driver's traffic leaves the other sockets theirs.
    assert_eq!(resolve(&mut w, &mut services, dns, "gateway.example", kind), Some(gateway));
}

#[test]
fn a_device_that_gets_an_address_and_a_name_delivers_over_ipv4() {
    delivers_to_a_name(DnsQueryType::A);
}

#[test]
fn a_device_that_gets_an_address_and_a_name_delivers_over_ipv6() {
    delivers_to_a_name(DnsQueryType::Aaaa);
}
