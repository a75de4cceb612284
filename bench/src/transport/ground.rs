//! Where the two ends of a transport work: on loopback, or at the two sides of a network in the lab.
use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket},
    thread,
};

use anyhow::{Result, anyhow};
use rustix::net::sockopt;
use socket2::SockRef;

use super::side::End;
use crate::lab::Namespace;

/// Asked for in both directions on loopback; the kernel's usual bound (`rmem_max`) here, which it then doubles.
const BUFFER: usize = 4 << 20;

/// Both ends' places.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    pub(crate) sender: Place,
    pub(crate) receiver: Place,
    /// How much may be under way; each side's own choice for loopback when absent.
    pub(crate) room: Option<Room>,
}

/// One end's place.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) address: IpAddr,
    pub(crate) namespace: Option<Namespace>,
    /// Bytes that a socket holds, in each direction.
    pub(crate) buffer: usize,
}

/// What may be under way on a long path, the same for all sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Bytes that are sent and not confirmed.
    pub(crate) bytes: u32,
    /// Packets that are sent and not confirmed, and packets that wait for one before them: powers of two.
    pub(crate) packets: u16,
    /// UDP payload of the largest datagram that Tallylink sends at first, and of the largest that it sends or takes.
    pub(crate) datagram: (u16, u16),
}

impl Ground {
    pub(crate) fn loopback() -> Self {
        let place = Place { address: Ipv4Addr::LOCALHOST.into(), namespace: None, buffer: BUFFER };
        Self { sender: place.clone(), receiver: place, room: None }
    }

    pub(crate) fn place(&self, end: End) -> &Place {
        match end {
            End::Sender => &self.sender,
            End::Receiver => &self.receiver,
        }
    }
}

impl Place {
    /// Moves the calling thread there.
    pub(crate) fn enter(&self) -> io::Result<()> {
        self.namespace.as_ref().map_or(Ok(()), Namespace::enter)
    }

    /// The address, with a port of the system's choice.
    pub(crate) fn any_port(&self) -> SocketAddr {
        SocketAddr::new(self.address, 0)
    }

    /// A UDP socket with the same buffers for every side.
    pub(crate) fn udp(&self) -> Result<UdpSocket> {
        let socket = UdpSocket::bind(self.any_port())?;
        let options = SockRef::from(&socket);
        // Above the kernel's bound for root only.
        if sockopt::set_socket_recv_buffer_size_force(&socket, self.buffer).is_err() {
            options.set_recv_buffer_size(self.buffer)?;
        }
        options.set_send_buffer_size(self.buffer)?;
        Ok(socket)
    }

    /// The same, from a thread that is elsewhere: a socket stays where it was made.
    pub(crate) fn udp_there(&self) -> Result<UdpSocket> {
        let make = || -> Result<UdpSocket> {
            self.enter()?;
            self.udp()
        };
        thread::scope(|scope| scope.spawn(make).join()).map_err(|_| anyhow!("a thread panicked"))?
    }
}
