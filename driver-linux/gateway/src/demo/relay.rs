//! A simulated bad network: a UDP relay inside this process that loses, reorders and duplicates datagrams.
//!
//! Senders reach it at one address. Towards the gateway each of them gets a socket of its own, so that the gateway sees
//! as many addresses as there are senders. Both directions are equally bad.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::random::Random;

/// What is done to datagrams, of each ten thousand.
#[derive(Clone, Copy, Debug)]
pub struct Impairment {
    lost: u64,
    late: u64,
    doubled: u64,
}

impl Impairment {
    /// So many of a hundred are lost, 3 are late and 1 is doubled.
    #[must_use]
    pub fn bad(loss_percent: u8) -> Self {
        Self { lost: u64::from(loss_percent) * 100, late: 300, doubled: 100 }
    }
}

/// What was done.
#[derive(Debug, Default)]
pub struct Relayed {
    /// Datagrams passed on at once.
    pub passed: AtomicU64,
    /// Never passed on.
    pub lost: AtomicU64,
    /// Passed on after later ones.
    pub late: AtomicU64,
    /// Passed on twice.
    pub doubled: AtomicU64,
}

/// A datagram that is late lets at most so many others pass.
const LATE_BY: u64 = 20;
/// Where nothing else passes it, it leaves after this.
const LATE_AT_MOST: Duration = Duration::from_millis(5);
/// The most senders that get a socket; one that is started again is another.
const SENDERS_MAX: usize = 256;
const LARGEST: usize = 65_536;

/// A running relay.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    gateway: Mutex<SocketAddr>,
    relayed: Relayed,
}

impl Shared {
    fn gateway(&self) -> MutexGuard<'_, SocketAddr> {
        self.gateway.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Relay {
    /// Starts to relay to the gateway at this address.
    ///
    /// # Errors
    /// The system gives no sockets or threads.
    pub fn start(gateway: SocketAddr, how: Impairment, seed: u64) -> io::Result<Self> {
        let front = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?);
        front.set_read_timeout(Some(LATE_AT_MOST))?;
        let address = front.local_addr()?;
        let (stop, gateway) = (AtomicBool::new(false), Mutex::new(gateway));
        let shared = Arc::new(Shared { stop, gateway, relayed: Relayed::default() });
        let forth = Forth { front, how, seed, shared: Arc::clone(&shared), backs: HashMap::new() };
        let thread = thread::Builder::new().name("relay".into()).spawn(move || forth.run())?;
        Ok(Self { address, shared, thread })
    }

    /// Where senders reach it.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// To be called, from any thread, when the gateway has another address.
    pub fn redirector(&self) -> impl Fn(SocketAddr) + Send + 'static {
        let shared = Arc::clone(&self.shared);
        move |gateway| *shared.gateway() = gateway
    }

    /// Ends it and tells what it did.
    #[must_use]
    pub fn stop(self) -> Relayed {
        self.shared.stop.store(true, Ordering::Relaxed);
        // A panic there was reported there; what is counted is counted.
        let _ = self.thread.join();
        let of = |counter: &AtomicU64| AtomicU64::new(counter.load(Ordering::Relaxed));
        let Relayed { passed, lost, late, doubled } = &self.shared.relayed;
        Relayed { passed: of(passed), lost: of(lost), late: of(late), doubled: of(doubled) }
    }
}

/// From senders to the gateway.
struct Forth {
    front: Arc<UdpSocket>,
    how: Impairment,
    seed: u64,
    shared: Arc<Shared>,
    backs: HashMap<SocketAddr, (Lane, JoinHandle<()>)>,
}

impl Forth {
    fn run(mut self) {
        let mut buffer = vec![0; LARGEST];
        while !self.shared.stop.load(Ordering::Relaxed) {
            match self.front.recv_from(&mut buffer) {
                Ok((len, from)) => {
                    if let Some(lane) = self.lane(from) {
                        lane.pass(&buffer[..len]);
                    }
                }
                Err(_) => self.backs.values_mut().for_each(|(lane, _)| lane.release_all()),
            }
        }
        for (_, (_, back)) in self.backs.drain() {
            let _ = back.join();
        }
    }

    /// The way of one sender to the gateway; its way back runs on a thread.
    fn lane(&mut self, from: SocketAddr) -> Option<&mut Lane> {
        if !self.backs.contains_key(&from) {
            if self.backs.len() >= SENDERS_MAX {
                return None;
            }
            let made = self.make_lane(from);
            self.backs.insert(from, made.ok()?);
        }
        self.backs.get_mut(&from).map(|(lane, _)| lane)
    }

    fn make_lane(&self, from: SocketAddr) -> io::Result<(Lane, JoinHandle<()>)> {
        let back = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?);
        back.set_read_timeout(Some(LATE_AT_MOST))?;
        let port = u64::from(from.port());
        let lane = |socket: &Arc<UdpSocket>, to, way| Lane {
            socket: Arc::clone(socket),
            to,
            how: self.how,
            random: Random::new(self.seed, &[port, way]),
            shared: Arc::clone(&self.shared),
            late: Vec::new(),
        };
        let mut homewards = lane(&self.front, Some(from), 1);
        let (gateway, shared) = (Arc::clone(&back), Arc::clone(&self.shared));
        let thread = thread::Builder::new().name("relay back".into()).spawn(move || {
            let mut buffer = vec![0; LARGEST];
            while !shared.stop.load(Ordering::Relaxed) {
                // An error says that the gateway is dead, or that nothing came: both pass.
                match gateway.recv(&mut buffer) {
                    Ok(len) => homewards.pass(&buffer[..len]),
                    Err(_) => homewards.release_all(),
                }
            }
        })?;
        Ok((lane(&back, None, 0), thread))
    }
}

/// One direction of one sender.
struct Lane {
    socket: Arc<UdpSocket>,
    /// Where it leads; none is the gateway, wherever that is.
    to: Option<SocketAddr>,
    how: Impairment,
    random: Random,
    shared: Arc<Shared>,
    /// Datagrams that wait, and how many others they still let pass.
    late: Vec<(u64, Vec<u8>)>,
}

impl Lane {
    fn pass(&mut self, datagram: &[u8]) {
        let Relayed { passed, lost, late, doubled } = &self.shared.relayed;
        let fate = self.random.below(10_000);
        let Impairment { lost: lose, late: delay, doubled: double } = self.how;
        if fate < lose {
            lost.fetch_add(1, Ordering::Relaxed);
        } else if fate < lose + delay {
            late.fetch_add(1, Ordering::Relaxed);
            self.late.push((1 + self.random.below(LATE_BY), datagram.to_vec()));
        } else {
            passed.fetch_add(1, Ordering::Relaxed);
            self.send(datagram);
            if fate < lose + delay + double {
                doubled.fetch_add(1, Ordering::Relaxed);
                self.send(datagram);
            }
        }
        self.let_pass();
    }

    /// Another one has passed those that are late.
    fn let_pass(&mut self) {
        let mut at = 0;
        while at < self.late.len() {
            self.late[at].0 -= 1;
            if self.late[at].0 == 0 {
                let (_, datagram) = self.late.swap_remove(at);
                self.send(&datagram);
            } else {
                at += 1;
            }
        }
    }

    fn release_all(&mut self) {
        for (_, datagram) in std::mem::take(&mut self.late) {
            self.send(&datagram);
        }
    }

    fn send(&self, datagram: &[u8]) {
        // What cannot be sent is lost, as in any network.
        let to = self.to.unwrap_or_else(|| *self.shared.gateway());
        let _ = self.socket.send_to(datagram, to);
    }
}
