//! One slow sender: a microcontroller's limits and arrays, on a socket of its own.
use std::{
    io::ErrorKind,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    time::Instant,
};

use anyhow::{Context, Result};
use tallylink_core::{Config, Ecn, Endpoint, EpochSource, Event, Fixed, Name, OutIx, Path, PeerIx};
use tallylink_linux::{
    Clock, SendsOnly, boot_seed,
    crypto::{AwsLc, AwsLcKey},
};

use super::Provided;
use crate::clock;

/// Bytes of the ring, and of a datagram.
const RING: usize = 2_048;
const DATAGRAM: usize = 1_200;
const PEER: PeerIx = PeerIx(0);
const STREAM: OutIx = OutIx(0);

pub(super) struct Slow {
    pub(super) socket: UdpSocket,
    endpoint: Endpoint<AwsLc, Fixed<AwsLcKey, 1, 1, 1, 8, RING, 2, DATAGRAM, 1>>,
    path: Path,
    /// When the record that is under way was pushed.
    pushed: Option<Instant>,
}

/// What happened to one sender, or to all of them.
#[derive(Default)]
pub(super) struct Happened {
    /// From push to STORED.
    pub(super) milliseconds: Vec<f64>,
    pub(super) sessions_ended: u64,
}

impl Slow {
    pub(super) fn new(key: &Provided, gateway: SocketAddr, clock: &Clock) -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(gateway)?;
        socket.set_nonblocking(true)?;
        let mut endpoint = Endpoint::new(Config::small(), AwsLc, Fixed::new(), boot_seed()?)?;
        let (now, path) = (clock.now(), Path::to(gateway));
        endpoint.add_peer(PEER, key.device())?;
        endpoint.connect(now, PEER, path)?;
        let name = Name::new("slow").context("a name")?;
        endpoint.open(now, STREAM, PEER, name, EpochSource::FirstSession, 0, 0..RING as u32)?;
        Ok(Self { socket, endpoint, path, pushed: None })
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.pushed.is_none()
    }

    pub(super) fn push(&mut self, record: &[u8], clock: &Clock, happened: &mut Happened) -> Result<()> {
        self.pushed = Some(clock::wall());
        self.endpoint.push(clock.now(), STREAM, record)?;
        self.go_on(clock, happened)
    }

    /// Takes what came.
    pub(super) fn receive(&mut self, clock: &Clock, happened: &mut Happened) -> Result<()> {
        let mut datagram = [0; DATAGRAM];
        loop {
            match self.socket.recv(&mut datagram) {
                Ok(length) => {
                    // What it makes of it, it counts itself.
                    let (now, came) = (clock.now(), &mut datagram[..length]);
                    let _ = self.endpoint.handle_datagram(now, &self.path, Ecn::NotEct, came, &mut SendsOnly);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return self.go_on(clock, happened),
                Err(error) => return Err(error).context("a slow sender's socket"),
            }
        }
    }

    /// Does what is due.
    pub(super) fn look_at_the_time(&mut self, clock: &Clock, happened: &mut Happened) -> Result<()> {
        let now = clock.now();
        if self.endpoint.next_timeout().is_none_or(|due| due > now) {
            return Ok(());
        }
        self.endpoint.handle_timeout(now);
        self.go_on(clock, happened)
    }

    fn go_on(&mut self, clock: &Clock, happened: &mut Happened) -> Result<()> {
        let mut datagram = [0; DATAGRAM];
        let now = clock.now();
        while let Some(envelope) = self.endpoint.peek_transmit(now) {
            let place = &mut datagram[..usize::from(envelope.len)];
            if !self.endpoint.seal_transmit(now, &envelope, place) {
                break;
            }
            match self.socket.send(place) {
                Ok(_) => {}
                // Lost on the way.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error).context("a slow sender's socket"),
            }
        }
        while let Some(event) = self.endpoint.next_event() {
            match event {
                Event::Stored(..) => {
                    let pushed = self.pushed.take();
                    happened.milliseconds.extend(pushed.map(|pushed| pushed.elapsed().as_secs_f64() * 1e3));
                }
                Event::Ended(..) => happened.sessions_ended += 1,
                _ => {}
            }
        }
        Ok(())
    }
}
