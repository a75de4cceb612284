//! A socket for datagrams that are not Tallylink's: they are taken as they come, and what the kernel drops is counted.

use super::{Buffers, io, kernel};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// A UDP socket that only receives. It never waits: [`receive`](Self::receive) says `WouldBlock`, and the file descriptor is
/// there to be polled.
#[derive(Debug)]
pub struct PlainSocket {
    socket: UdpSocket,
    buffers: Buffers,
}

impl PlainSocket {
    /// No datagram has more bytes than this.
    pub const MAX_DATAGRAM: usize = 65_535;

    /// Binds to `listen` and asks for a receive buffer. An unspecified IPv6 address takes IPv4 too; where there is no IPv6, it
    /// becomes the IPv4 one.
    ///
    /// # Errors
    /// What the system says.
    pub fn bind(listen: SocketAddr, receive_buffer: usize) -> std::io::Result<Self> {
        let socket = io::bind_or_ipv4(listen)?;
        let buffers = kernel::set_buffers(&socket, receive_buffer, 0)?;
        Ok(Self { socket: socket.into(), buffers })
    }

    /// Takes the next datagram. One that is longer than `buffer` is cut: with [`MAX_DATAGRAM`](Self::MAX_DATAGRAM) bytes none is.
    ///
    /// # Errors
    /// `WouldBlock` when there is none, and what else the system says.
    #[inline]
    pub fn receive(&self, buffer: &mut [u8]) -> std::io::Result<(usize, SocketAddr)> {
        self.socket.recv_from(buffer)
    }

    /// How many datagrams the kernel dropped because the receive buffer was full, modulo 2^32, or because their checksum was
    /// wrong; none where the kernel does not tell.
    #[must_use]
    pub fn kernel_drops(&self) -> Option<u64> {
        kernel::drops(&self.socket)
    }

    /// The address and port.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The buffers that the kernel gave.
    #[must_use]
    pub fn buffers(&self) -> Buffers {
        self.buffers
    }
}

impl AsFd for PlainSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::PlainSocket;
    use std::io::ErrorKind;
    use std::net::UdpSocket;

    #[test]
    fn what_finds_no_room_is_counted_by_the_kernel_and_the_rest_is_received() {
        const SENT: u64 = 1000;
        let receiver = PlainSocket::bind(([127, 0, 0, 1], 0).into(), 1 << 14).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..SENT {
            sender.send_to(&[7; 1000], receiver.local_addr().unwrap()).unwrap();
        }
        let mut buffer = [0; PlainSocket::MAX_DATAGRAM];
        let mut received = 0;
        let ended = loop {
            match receiver.receive(&mut buffer) {
                Ok((len, from)) => {
                    assert_eq!((len, from), (1000, sender.local_addr().unwrap()));
                    received += 1;
                }
                Err(error) => break error.kind(),
            }
        };
        assert_eq!(ended, ErrorKind::WouldBlock);
        let dropped = receiver.kernel_drops().unwrap();
        assert!(received > 0 && dropped > 0);
        assert_eq!(received + dropped, SENT);
    }
}
