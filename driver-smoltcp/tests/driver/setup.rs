//! Makes worlds.

use crate::cable::{Port, cable};
use crate::inbox::Inbox;
use crate::world::{Device, DeviceArrays, Gateway, GatewayArrays, Host, World};
use smoltcp::iface::{Config as InterfaceConfig, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{self, Medium};
use smoltcp::socket::udp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr, IpEndpoint};
use std::convert::Infallible;
use tallylink_core::crypto::{Psk, Soft};
use tallylink_core::{BootSeed, Config, End, KeyId, PeerId, PeerIx, Provision};
use tallylink_smoltcp::{Board, Declared, identity};

pub(crate) const PEER: [u8; 8] = [0x70, 0xb3, 0xd5, 0xff, 0xfe, 0, 0, 1];
pub(crate) const KEY: [u8; 16] = [7; 16];
const DEVICE_PORT: u16 = 50_000;
pub(crate) const GATEWAY_PORT: u16 = 7433;

pub(crate) struct TestBoard;

impl Board for TestBoard {
    type Error = Infallible;

    fn declare(&mut self) -> Result<Declared, Infallible> {
        Ok(Declared::Entropy([1; 16]))
    }
}

/// Room for packets and bytes in each of a socket's rings.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    pub(crate) packets: usize,
    pub(crate) bytes: usize,
}

pub(crate) const AMPLE: Room = Room { packets: 16, bytes: 16_384 };

pub(crate) fn socket(transmit: Room) -> udp::Socket<'static> {
    let ring = |room: Room| udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; room.packets], vec![0; room.bytes]);
    udp::Socket::new(ring(AMPLE), ring(transmit))
}

fn host<P: phy::Device>(mut phy: P, number: u8, addresses: &[IpAddress]) -> Host<P> {
    let hardware = match phy.capabilities().medium {
        Medium::Ethernet => HardwareAddress::Ethernet(EthernetAddress([2, 0, 0, 0, 0, number])),
        _ => HardwareAddress::Ip,
    };
    let mut interface = Interface::new(InterfaceConfig::new(hardware), &mut phy, Instant::ZERO);
    interface.update_ip_addrs(|all| all.extend(addresses.iter().map(|a| IpCidr::new(*a, 24))));
    Host { phy, interface, sockets: SocketSet::new(vec![]) }
}

fn bound<P>(host: &mut Host<P>, port: u16, transmit: Room) -> SocketHandle {
    let mut socket = socket(transmit);
    socket.bind(port).unwrap();
    host.sockets.add(socket)
}

pub(crate) fn device_config() -> Config {
    Config { in_flight: 16, held: 4, max_peers: 1, ..Config::small() }
}

pub(crate) fn device() -> Device {
    let me = identity(PEER, 1, KEY);
    Device::with(device_config(), Soft, DeviceArrays::new(), &mut TestBoard, me).unwrap()
}

fn gateway() -> Gateway {
    let config = Config { in_flight: 64, held: 16, ack_window: 256, max_peers: 1, ..Config::default() };
    let boot = BootSeed::entropy([2; 16]);
    let mut gateway = Gateway::new(config, Soft, GatewayArrays::new(), boot).unwrap();
    let psk = Psk::from_bytes(KEY);
    let peer = Provision::new(PeerId(PEER), End::Gateway, KeyId(1), psk);
    gateway.endpoint_mut().add_peer(PeerIx(0), peer).unwrap();
    gateway
}

fn world<P: phy::Device>(mut hosts: Vec<Host<P>>, transmit: Room) -> World<P> {
    let last = hosts.len() - 1;
    let device_at = (0, bound(&mut hosts[0], DEVICE_PORT, transmit));
    let gateway_at = (last, bound(&mut hosts[last], GATEWAY_PORT, AMPLE));
    World {
        now: Instant::ZERO,
        hosts,
        device: device(),
        device_at,
        device_inbox: Inbox::default(),
        device_events: vec![],
        gateway: gateway(),
        gateway_at,
        gateway_inbox: Inbox::default(),
        steps: 0,
    }
}

fn connected<P: phy::Device>(mut world: World<P>, gateway: IpAddress) -> World<P> {
    world.device.connect(Instant::ZERO, IpEndpoint::new(gateway, GATEWAY_PORT)).unwrap();
    world
}

/// Both ends on one interface, whose device returns what it is given.
pub(crate) fn on_one_interface<P: phy::Device>(phy: P, address: IpAddress, transmit: Room) -> World<P> {
    connected(world(vec![host(phy, 1, &[address])], transmit), address)
}

/// Each end on an interface of its own, with an Ethernet cable between them.
pub(crate) fn on_a_cable(device: IpAddress, gateway: IpAddress, transmit: Room) -> World<Port> {
    connected(on_a_bare_cable(&[device], &[gateway], transmit), gateway)
}

/// The same with whatever addresses each has. The device knows of no gateway.
pub(crate) fn on_a_bare_cable(device: &[IpAddress], gateway: &[IpAddress], transmit: Room) -> World<Port> {
    let [near, far] = cable();
    world(vec![host(near, 1, device), host(far, 2, gateway)], transmit)
}
