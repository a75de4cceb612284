//! One socket for all devices, each of which has an address of its own on loopback.
use std::{
    io::{self, ErrorKind, IoSliceMut},
    net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket},
    time::Duration,
};

use anyhow::{Context, Result};
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::device::DATAGRAM;

/// The first device's address; the others follow.
const FIRST: u32 = u32::from_be_bytes([127, 64, 0, 0]);
const BUFFER: usize = 4 << 20;

pub(super) struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
    gateway: SocketAddr,
    buffer: Vec<u8>,
    /// Datagrams sent and received.
    pub(super) packets: u64,
}

impl Socket {
    pub(super) fn new(gateway: SocketAddr) -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket2::SockRef::from(&socket).set_recv_buffer_size(BUFFER)?;
        socket2::SockRef::from(&socket).set_send_buffer_size(BUFFER)?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // Replies to one device are never coalesced with those to another: no slot gets more than one device's.
        let buffer = vec![0; BATCH_SIZE * SLOT];
        Ok(Self { socket, state, gateway, buffer, packets: 0 })
    }

    /// Sends a datagram of a device.
    pub(super) fn send(&mut self, device: usize, datagram: &[u8]) -> Result<()> {
        let transmit = Transmit {
            destination: self.gateway,
            ecn: None,
            contents: datagram,
            segment_size: None,
            src_ip: Some(address(device).into()),
        };
        self.packets += 1;
        match self.state.try_send(UdpSockRef::from(&self.socket), &transmit) {
            // Lost on the way.
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            sent => sent.context("the devices' socket"),
        }
    }

    /// Gives what there is, a few datagrams at the most, to `take`, with the device that each is for. False when there was nothing.
    pub(super) fn receive(&mut self, mut take: impl FnMut(usize, &mut [u8])) -> Result<bool> {
        let mut meta = [RecvMeta::default(); BATCH_SIZE];
        let mut slots = self.buffer.chunks_exact_mut(SLOT).map(IoSliceMut::new);
        let mut slots: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| slots.next().unwrap_or(IoSliceMut::new(&mut [])));
        let received = match self.state.recv(UdpSockRef::from(&self.socket), &mut slots, &mut meta) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            received => received.context("the devices' socket")?,
        };
        for (slot, meta) in slots.iter_mut().zip(&meta).take(received) {
            let Some(IpAddr::V4(to)) = meta.dst_ip else { continue };
            let device = to.to_bits().wrapping_sub(FIRST) as usize;
            for datagram in slot[..meta.len].chunks_mut(meta.stride.max(1)) {
                self.packets += 1;
                take(device, datagram);
            }
        }
        Ok(true)
    }

    /// Returns when there is something to receive, or after `at_most`.
    pub(super) fn wait(&self, at_most: Duration) -> io::Result<()> {
        let timeout = Timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: at_most.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Bytes of a receive slot: a few datagrams of one device may lie in it.
const SLOT: usize = 64 * DATAGRAM;

fn address(device: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(FIRST + device as u32)
}
