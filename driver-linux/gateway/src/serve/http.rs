//! `/readyz`, `/livez` and `/metrics` over HTTP/1.1 (RFC 9112), for supervisors and Prometheus.
//!
//! One thread and one table of connections, each of one request and a fixed time to make and take it: an asker that is
//! slow, silent or many keeps nobody waiting but itself. Where the table is full, the oldest connection makes room.

mod connection;
mod pages;

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tracing::warn;

use super::health::{Health, Subject};
use crate::config::Door;
use crate::{Error, clock};
use connection::Connection;
use pages::Pages;

/// Connections at a time.
const CONNECTIONS: usize = 32;
/// How long one may last.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long nothing is accepted after that failed, as it does when the process has no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// A socket that listens.
#[derive(Debug)]
pub(super) struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens where the configuration says, or not at all.
    ///
    /// # Errors
    /// An address that was asked for cannot be had. One that nobody asked for is done without.
    pub(super) fn bind(door: Door, listening: SocketAddr, health: &Health) -> Result<Option<Self>, Error> {
        let address = match door {
            Door::Off => return Ok(None),
            Door::Auto => SocketAddr::from((Ipv4Addr::LOCALHOST, listening.port())),
            Door::At(address) => address,
        };
        let bound = TcpListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok(Self { listener, address })
        });
        match bound {
            Ok(server) => {
                if !address.ip().is_loopback() {
                    warn!("whoever reaches {} can read how this gateway is: there is no password", server.address);
                }
                Ok(Some(server))
            }
            Err(error) if door == Door::Auto => {
                let what = format!("cannot listen on {address} (TCP): {error}; the gateway works without");
                health.wrong(Subject::Http, what, "choose another address with --http, or give --http off");
                Ok(None)
            }
            Err(error) => Err(Error::Http { address, error }),
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers as long as the process lives.
    pub(super) fn run(self, pages: &impl Pages) {
        let mut connections: Vec<Connection> = Vec::with_capacity(CONNECTIONS);
        let mut paused: Option<Instant> = None;
        loop {
            let now = clock::monotonic();
            connections.retain(|connection| connection.until > now);
            paused = paused.filter(|until| *until > now);
            let ready = match self.wait(&connections, paused, now) {
                Ok(ready) => ready,
                Err(why) => {
                    warn!("HTTP is not answered for a moment: {why}");
                    std::thread::sleep(PAUSE);
                    continue;
                }
            };
            let mut at = 0;
            connections.retain_mut(|connection| {
                at += 1;
                // The listener is the first.
                !ready.get(at).copied().unwrap_or(false) || connection.go_on(pages)
            });
            if ready.first().copied().unwrap_or(false) && self.accept(&mut connections).is_err() {
                paused = Some(clock::monotonic() + PAUSE);
            }
        }
    }

    /// Waits until something can be done: for the listener, if it is not paused, and for each connection.
    fn wait(&self, connections: &[Connection], paused: Option<Instant>, now: Instant) -> io::Result<Vec<bool>> {
        let listens = if paused.is_none() { PollFlags::IN } else { PollFlags::empty() };
        let mut fds = vec![PollFd::new(&self.listener, listens)];
        fds.extend(
            connections.iter().map(|connection| PollFd::from_borrowed_fd(connection.as_fd(), connection.wants())),
        );
        let next = connections.iter().map(|connection| connection.until).chain(paused).min();
        let at_most = next.and_then(|next| Timespec::try_from(next.saturating_duration_since(now)).ok());
        match poll(&mut fds, at_most.as_ref()) {
            Ok(_) => Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect()),
            Err(rustix::io::Errno::INTR) => Ok(Vec::new()),
            Err(why) => Err(why.into()),
        }
    }

    fn accept(&self, connections: &mut Vec<Connection>) -> io::Result<()> {
        match self.listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(true)?;
                if connections.len() == CONNECTIONS {
                    connections.remove(0);
                }
                connections.push(Connection::new(stream, clock::monotonic() + PATIENCE));
                Ok(())
            }
            // It went away, or another call was in the way.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::ConnectionAborted | ErrorKind::Interrupted
                ) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
