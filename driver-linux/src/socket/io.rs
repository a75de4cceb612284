//! The system's side of the socket.

use super::kernel::{self, Buffers};
use mio::net::UdpSocket;
use mio::{Interest, Registry, Token};
use nix::errno::Errno;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, Socket, Type};
use std::fmt::Debug;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use tallylink_core::{Ecn, Path};

/// How many coalesced receives one call can return.
pub(crate) const RECEIVE_SLOTS: usize = quinn_udp::BATCH_SIZE;

/// What the driver asks of the system. Tests put a faulty one in its place.
pub(crate) trait Datagrams: Debug + Send {
    /// Sends `bytes` with the mark `ecn` in one call: as one datagram, or as datagrams of `segment` bytes each, of which the
    /// last may be short.
    fn send(&self, to: &Path, ecn: Ecn, bytes: &[u8], segment: Option<usize>) -> io::Result<()>;

    /// Receives into as many slots as there are datagrams, or runs of datagrams, to be had now.
    fn receive(&self, slots: &mut [IoSliceMut<'_>], arrived: &mut [Arrived]) -> io::Result<usize>;

    /// How many segments one send may have; 1 when the system has no segmented sends.
    fn max_segments(&self) -> usize;

    /// Starts to wait for `interest`, or changes what is waited for.
    fn watch(&mut self, registry: &Registry, token: Token, interest: Interest) -> io::Result<()>;

    /// This end's address and port.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// How many datagrams the kernel dropped because the receive buffer was full.
    fn kernel_drops(&self) -> Option<u64>;

    /// The buffers that the kernel gave.
    fn buffers(&self) -> Buffers;
}

/// What one receive slot holds: one datagram of `len` bytes, or several of `stride` bytes, of which the last may be short.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) path: Path,
    pub(crate) ecn: Ecn,
    pub(crate) len: usize,
    pub(crate) stride: usize,
}

impl Arrived {
    pub(crate) const NOTHING: Self = Self {
        path: Path::to(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0)),
        ecn: Ecn::NotEct,
        len: 0,
        stride: 0,
    };
}

/// A UDP socket.
#[derive(Debug)]
pub(crate) struct Udp {
    socket: UdpSocket,
    state: UdpSocketState,
    v6: bool,
    watched: bool,
    buffers: Buffers,
}

impl Udp {
    /// Binds to `listen`. An unspecified IPv6 address takes IPv4 too; where there is no IPv6, it becomes the IPv4 one.
    pub(crate) fn bind(listen: SocketAddr, receive: usize, send: usize) -> io::Result<Self> {
        let socket = bind_or_ipv4(listen)?;
        let buffers = kernel::set_buffers(&socket, receive, send)?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // It asks for a time stamp with each receive, for which the room of its control messages is too small: with a coalesced
        // receive the mark is cut off. A system that knows no such time stamps has given it none.
        match setsockopt(&socket, ReceiveTimestampns, &false) {
            Ok(()) | Err(Errno::ENOPROTOOPT) => {}
            Err(error) => return Err(error.into()),
        }
        let v6 = socket.local_addr()?.is_ipv6();
        Ok(Self { socket: UdpSocket::from_std(socket.into()), state, v6, watched: false, buffers })
    }

    /// The address in the family of the socket.
    fn family(&self, ip: IpAddr) -> IpAddr {
        match ip {
            IpAddr::V4(v4) if self.v6 => IpAddr::V6(v4.to_ipv6_mapped()),
            other => other,
        }
    }
}

fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

fn mark(codepoint: Option<EcnCodepoint>) -> Ecn {
    match codepoint {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}

/// Binds to `listen`, or where there is no IPv6 and all of its addresses are meant, to those of IPv4.
pub(super) fn bind_or_ipv4(listen: SocketAddr) -> io::Result<Socket> {
    match bind(listen) {
        Err(_) if listen.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) => {
            bind((Ipv4Addr::UNSPECIFIED, listen.port()).into())
        }
        other => other,
    }
}

fn bind(to: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(to), Type::DGRAM, Some(Protocol::UDP))?;
    if to.is_ipv6() {
        socket.set_only_v6(to.ip() != IpAddr::V6(Ipv6Addr::UNSPECIFIED))?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&to.into())?;
    Ok(socket)
}

impl Datagrams for Udp {
    fn send(&self, to: &Path, ecn: Ecn, bytes: &[u8], segment: Option<usize>) -> io::Result<()> {
        let destination = match to.remote {
            SocketAddr::V4(v4) => SocketAddr::new(self.family(IpAddr::V4(*v4.ip())), v4.port()),
            v6 => v6,
        };
        let transmit = Transmit {
            destination,
            ecn: codepoint(ecn),
            contents: bytes,
            segment_size: segment,
            src_ip: to.local.map(|ip| self.family(ip)),
        };
        self.state.try_send(UdpSockRef::from(&self.socket), &transmit)
    }

    fn receive(&self, slots: &mut [IoSliceMut<'_>], arrived: &mut [Arrived]) -> io::Result<usize> {
        let mut meta = [RecvMeta::default(); RECEIVE_SLOTS];
        let n = self.state.recv(UdpSockRef::from(&self.socket), slots, &mut meta)?;
        for (to, from) in arrived.iter_mut().zip(meta.iter().take(n)) {
            let mut remote = from.addr;
            remote.set_ip(remote.ip().to_canonical());
            *to = Arrived {
                path: Path { local: from.dst_ip.map(|ip| ip.to_canonical()), remote },
                ecn: mark(from.ecn),
                len: from.len,
                stride: from.stride,
            };
        }
        Ok(n)
    }

    fn max_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    fn watch(&mut self, registry: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        if self.watched {
            return registry.reregister(&mut self.socket, token, interest);
        }
        registry.register(&mut self.socket, token, interest)?;
        self.watched = true;
        Ok(())
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn kernel_drops(&self) -> Option<u64> {
        kernel::drops(&self.socket)
    }

    fn buffers(&self) -> Buffers {
        self.buffers
    }
}
