//! Floods from thousands of addresses at once, while a peer goes about its business.
use std::{
    fs,
    io::ErrorKind,
    net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, ensure};
use quinn_udp::{Transmit, UdpSockRef, UdpSocketState};

use super::{
    gateway::{Gateway, Home},
    noise::Noise,
    relay::Relay,
};
use crate::{clock, latency::Pulse, many, statistics::percentile};

/// Addresses on loopback that it comes from.
const ADDRESSES: u32 = 65_000;
const FIRST: u32 = u32::from_be_bytes([127, 64, 0, 0]);
/// How long as much is sent as can be.
const UNPACED: Duration = Duration::from_secs(10);
/// Records of the peer without a flood, and at a time beside one.
const ALONE: u64 = 2_000;
const BESIDE: u64 = 200;
/// Records of the session that strangers know.
const CAPTURED: u64 = 2_000;
/// Between two looks at the clock.
const BURST: u64 = 32;

/// What a flood came to.
#[derive(Default)]
pub(super) struct Flooded {
    pub(super) name: &'static str,
    pub(super) sent: u64,
    pub(super) seconds: f64,
    pub(super) received: u64,
    pub(super) bytes_received: u64,
    pub(super) bytes_sent: u64,
    pub(super) grown: u64,
    pub(super) log_lines: u64,
    /// Milliseconds from push to STORED that 99 of 100 records of the peer took before it and beside it.
    pub(super) p99: Option<(f64, f64)>,
    /// From its end until the peer's next record was STORED.
    pub(super) served_after: Option<f64>,
}

/// As much as can be sent for a while, and then this many datagrams at half the rate at which the gateway took them.
pub(super) fn all(datagrams: u64, seed: u64) -> Result<Vec<Flooded>> {
    let home = Home::new()?;
    home.add_peer("roof")?;
    let key = many::provision(&home, 1)?.pop().context("a peer")?;
    let mut gateway = Gateway::start(&home)?;
    let capture = captured(&home, gateway.address)?;
    let mut noise = Noise::with_replays(seed, &capture)?;
    let mut crowd = Crowd::new(gateway.address)?;
    let mut pulse = Pulse::start(&key, gateway.address, seed)?;
    let alone = percentile(&pulse.beat(ALONE)?.stored, 0.99);

    let before = Told::by(&home, &gateway)?;
    let began = clock::wall();
    while began.elapsed() < UNPACED {
        crowd.burst(BURST, &mut noise)?;
    }
    let seconds = began.elapsed().as_secs_f64();
    let over = clock::wall();
    pulse.beat(1)?;
    let served_after = Some(over.elapsed().as_secs_f64());
    let mut unpaced = before.until(Told::by(&home, &gateway)?);
    unpaced = Flooded { name: "unpaced", sent: crowd.take_sent(), seconds, served_after, ..unpaced };
    ensure!(gateway.ended()?.is_none(), "the gateway ended under the flood");

    let rate = unpaced.received as f64 / seconds / 2.0;
    let before = Told::by(&home, &gateway)?;
    let began = clock::wall();
    let mut beside = flood_beside(&mut pulse, || {
        while crowd.sent < datagrams {
            crowd.burst(BURST.min(datagrams - crowd.sent), &mut noise)?;
            pause_until(began + Duration::from_secs_f64(crowd.sent as f64 / rate));
        }
        Ok(())
    })?;
    let seconds = began.elapsed().as_secs_f64();
    beside.sort_by(f64::total_cmp);
    let mut paced = before.until(Told::by(&home, &gateway)?);
    let p99 = Some((alone, percentile(&beside, 0.99)));
    paced = Flooded { name: "at half the rate", sent: crowd.take_sent(), seconds, p99, ..paced };
    ensure!(gateway.ended()?.is_none(), "the gateway ended under the flood");
    gateway.stop()?;
    Ok(vec![unpaced, paced])
}

/// What a stranger on the path saw of a session, both ways: HELLO, WELCOME, long DATA and all that followed.
fn captured(home: &Home, gateway: SocketAddr) -> Result<Vec<Vec<u8>>> {
    let relay = Relay::to(gateway)?;
    let lines: Vec<u8> = (0..CAPTURED).flat_map(|number| format!("{number}\n").into_bytes()).collect();
    home.ok(&["send", "--to", &relay.address.to_string(), "--key", "roof.key", "--stream", "s"], &lines)?;
    relay.capture_both()
}

/// The waits of the peer's records while `flood` runs.
fn flood_beside(pulse: &mut Pulse, flood: impl FnOnce() -> Result<()>) -> Result<Vec<f64>> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let peer = scope.spawn(|| -> Result<Vec<f64>> {
            let mut waits = Vec::new();
            while !over.load(Ordering::Relaxed) {
                waits.append(&mut pulse.beat(BESIDE)?.stored);
            }
            Ok(waits)
        });
        let flooded = flood();
        over.store(true, Ordering::Relaxed);
        let waits = peer.join().map_err(|_| anyhow!("the peer's thread panicked"))?;
        flooded.and(waits)
    })
}

fn pause_until(due: Instant) {
    let left = due.saturating_duration_since(clock::wall());
    if !left.is_zero() {
        thread::sleep(left);
    }
}

/// One socket with many addresses, each datagram from the next.
struct Crowd {
    socket: UdpSocket,
    state: UdpSocketState,
    gateway: SocketAddr,
    next: u32,
    datagram: Vec<u8>,
    sent: u64,
}

impl Crowd {
    fn new(gateway: SocketAddr) -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        Ok(Self { socket, state, gateway, next: 0, datagram: Vec::new(), sent: 0 })
    }

    fn burst(&mut self, count: u64, noise: &mut Noise<'_>) -> Result<()> {
        for _ in 0..count {
            noise.fill(&mut self.datagram);
            let from = Ipv4Addr::from_bits(FIRST + self.next);
            self.next = (self.next + 1) % ADDRESSES;
            let transmit = Transmit {
                destination: self.gateway,
                ecn: None,
                contents: &self.datagram,
                segment_size: None,
                src_ip: Some(IpAddr::V4(from)),
            };
            match self.state.try_send(UdpSockRef::from(&self.socket), &transmit) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                sent => sent.context("the strangers' socket")?,
            }
            self.sent += 1;
        }
        Ok(())
    }

    /// How many were sent since this was asked.
    fn take_sent(&mut self) -> u64 {
        std::mem::take(&mut self.sent)
    }
}

/// What a gateway says of itself, and its log.
struct Told {
    received: u64,
    bytes_received: u64,
    bytes_sent: u64,
    memory: u64,
    log_lines: u64,
}

impl Told {
    fn by(home: &Home, gateway: &Gateway) -> Result<Self> {
        let status = gateway.status()?;
        let socket = status.counters.get("socket").context("no counters of the socket")?;
        let count = |name: &str| socket.get(name).copied().context("no such counter");
        Ok(Self {
            received: count("datagrams_received")?,
            bytes_received: count("bytes_received")?,
            bytes_sent: count("bytes_sent")?,
            memory: gateway.memory()?,
            log_lines: fs::read_to_string(home.path("gateway.log"))?.lines().count() as u64,
        })
    }

    fn until(&self, after: Self) -> Flooded {
        Flooded {
            received: after.received - self.received,
            bytes_received: after.bytes_received - self.bytes_received,
            bytes_sent: after.bytes_sent - self.bytes_sent,
            grown: after.memory.saturating_sub(self.memory),
            log_lines: after.log_lines - self.log_lines,
            ..Flooded::default()
        }
    }
}
