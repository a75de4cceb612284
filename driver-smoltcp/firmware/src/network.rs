//! The network: smoltcp's interface on the board's controller, with one UDP socket. All of it lies in statics.

use cortex_m::singleton;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet, SocketStorage};
use smoltcp::socket::udp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpCidr, Ipv4Address, Ipv4Cidr};
use tallylink_board::Ethernet;

/// Bytes and datagrams of the socket's buffers, each way: three of the largest.
const BUFFER: usize = 3600;
const DATAGRAMS: usize = 8;
/// The port that datagrams leave from.
const PORT: u16 = 40_000;
/// QEMU's user network: the host is 10.0.2.2.
const NETWORK: [u8; 3] = [10, 0, 2];

/// An interface and its sockets.
pub(crate) struct Network {
    ethernet: &'static mut Ethernet,
    interface: &'static mut Interface,
    pub(crate) sockets: SocketSet<'static>,
    /// The UDP socket.
    pub(crate) socket: SocketHandle,
}

impl Network {
    /// A board whose addresses end in `host`.
    #[inline(never)]
    pub(crate) fn start(host: u8, seed: u64, now: Instant) -> Result<Self, &'static str> {
        let hardware = hardware_address(host);
        let ethernet = singleton!(: Ethernet = Ethernet::new(hardware)).ok_or("taken")?;
        let mut config = Config::new(EthernetAddress(hardware).into());
        config.random_seed = seed;
        let interface = singleton!(: Option<Interface> = None).ok_or("taken")?;
        let interface = interface.insert(Interface::new(config, ethernet, now));
        let [a, b, c] = NETWORK;
        let address = Ipv4Cidr::new(Ipv4Address::new(a, b, c, host), 24);
        let mut added = Ok(());
        interface.update_ip_addrs(|all| added = all.push(IpCidr::Ipv4(address)));
        added.map_err(|_| "no room for an address")?;

        let received = singleton!(: [udp::PacketMetadata; DATAGRAMS] = [udp::PacketMetadata::EMPTY; DATAGRAMS]);
        let sent = singleton!(: [udp::PacketMetadata; DATAGRAMS] = [udp::PacketMetadata::EMPTY; DATAGRAMS]);
        let received_bytes = singleton!(: [u8; BUFFER] = [0; BUFFER]).ok_or("taken")?;
        let sent_bytes = singleton!(: [u8; BUFFER] = [0; BUFFER]).ok_or("taken")?;
        let mut socket = udp::Socket::new(
            udp::PacketBuffer::new(&mut received.ok_or("taken")?[..], &mut received_bytes[..]),
            udp::PacketBuffer::new(&mut sent.ok_or("taken")?[..], &mut sent_bytes[..]),
        );
        socket.bind(PORT).map_err(|_| "the socket does not bind")?;
        let storage = singleton!(: [SocketStorage<'static>; 1] = [SocketStorage::EMPTY]).ok_or("taken")?;
        let mut sockets = SocketSet::new(&mut storage[..]);
        let socket = sockets.add(socket);
        Ok(Self { ethernet, interface, sockets, socket })
    }

    /// Takes what has arrived, and lets go what is to be sent. Not inlined, so that what it takes of the stack is seen.
    #[inline(never)]
    pub(crate) fn poll(&mut self, now: Instant) {
        self.interface.poll(now, self.ethernet, &mut self.sockets);
    }

    /// When it is to be called again.
    pub(crate) fn poll_at(&mut self, now: Instant) -> Option<Instant> {
        self.interface.poll_at(now, &self.sockets)
    }
}

/// A locally administered address.
const fn hardware_address(host: u8) -> [u8; 6] {
    [0x02, 0, 0, 0, 0, host]
}
