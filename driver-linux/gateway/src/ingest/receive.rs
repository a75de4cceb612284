//! Receiving, until a signal.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tallylink_linux::PlainSocket;

use super::drops::Watch;
use super::stop::Stop;
use crate::{Error, clock};

/// One datagram.
#[derive(Clone, Copy, Debug)]
pub(super) struct Datagram<'a> {
    pub(super) arrival_us: u64,
    pub(super) from: SocketAddr,
    pub(super) bytes: &'a [u8],
}

/// Where datagrams go next.
pub(super) trait Taker {
    /// Takes one, or drops it and counts that. False when nobody takes any more.
    fn take(&mut self, datagram: &Datagram<'_>) -> Result<bool, Error>;

    /// When [`tend`](Self::tend) is due.
    fn due_in(&self) -> Option<Duration>;

    /// Does what is due, when nothing came.
    fn tend(&mut self) -> Result<(), Error>;

    /// Datagrams dropped.
    fn dropped(&self) -> u64;
}

/// The receiving end, and what it has received.
#[derive(Debug)]
pub(super) struct Received {
    socket: PlainSocket,
    pub(super) datagrams: u64,
    pub(super) bytes: u64,
    /// Those that the kernel dropped, if it tells.
    pub(super) kernel_drops: Option<u64>,
}

/// A datagram takes at least so much of the kernel's buffer (its `SKB_TRUESIZE` of nothing is larger).
const LEAST_IN_BUFFER: usize = 256;
/// Errors in a row after which the socket is given up.
const ERRORS_MAX: u32 = 16;

impl Received {
    pub(super) fn new(socket: PlainSocket) -> Self {
        Self { socket, datagrams: 0, bytes: 0, kernel_drops: None }
    }

    /// Receives until a signal, and then what the kernel's buffer still holds.
    ///
    /// # Errors
    /// Receiving fails, or [`Taker::take`] does.
    pub(super) fn all(&mut self, stop: &Stop, to: &mut impl Taker) -> Result<(), Error> {
        let received = self.receive(stop, to);
        self.kernel_drops = self.socket.kernel_drops();
        received
    }

    fn receive(&mut self, stop: &Stop, to: &mut impl Taker) -> Result<(), Error> {
        let mut buffer = vec![0; PlainSocket::MAX_DATAGRAM];
        let mut watch = Watch::default();
        let mut errors_in_a_row = 0;
        // What was there before the signal; a sender that goes on is not waited for.
        let mut left = 2 * self.socket.buffers().receive / LEAST_IN_BUFFER;
        loop {
            let stopping = stop.is_asked();
            if stopping {
                left = left.saturating_sub(1);
                if left == 0 {
                    return Ok(());
                }
            }
            match self.socket.receive(&mut buffer) {
                Ok((len, from)) => {
                    errors_in_a_row = 0;
                    self.datagrams += 1;
                    self.bytes += len as u64;
                    let datagram = Datagram { arrival_us: clock::unix_micros(), from, bytes: &buffer[..len] };
                    if !to.take(&datagram)? {
                        return Ok(());
                    }
                    if watch.is_due_after(self.datagrams) {
                        watch.look(&self.socket, to.dropped());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if stopping {
                        return Ok(());
                    }
                    self.wait(stop, to.due_in())?;
                    to.tend()?;
                }
                Err(error) => {
                    errors_in_a_row += 1;
                    if errors_in_a_row == ERRORS_MAX {
                        return Err(Error::Network(error));
                    }
                }
            }
        }
    }

    /// Returns when there may be a datagram or a signal, or after `at_most`.
    fn wait(&self, stop: &Stop, at_most: Option<Duration>) -> Result<(), Error> {
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        let at_most = at_most.map(|span| Timespec::try_from(span).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 }));
        match poll(&mut fds, at_most.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(Error::Network(error.into())),
        }
    }
}
