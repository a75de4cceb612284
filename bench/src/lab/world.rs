//! Two network namespaces of this process's own, each with one TUN device.
//!
//! A namespace is entered by threads, has no name and belongs to no file: when the process ends, in whatever way, nothing of it is
//! left. Nothing outside of the two is touched.
use std::{
    fs::{self, File},
    io,
    net::UdpSocket,
    os::fd::{AsFd as _, OwnedFd},
    sync::Arc,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow, ensure};
use nix::sched::{CloneFlags, unshare};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tun_rs::{DeviceBuilder, SyncDevice};

use super::emulator::addresses;
use crate::transport::{
    ground::{Ground, Place, Room},
    side::End,
    sides::MAX_DATAGRAM,
};

/// Of both devices. What the path takes is the emulator's to say.
const MTU: u16 = 1500;
/// Packets that may wait for the router to fetch them.
const DEVICE_QUEUE: u32 = 10_000;

/// Enough for 1 Gbit/s over 50 ms. Sockets hold as much, so that no end loses what it allowed the other to send.
const ROOM: Room = Room { bytes: 16 << 20, packets: 16_384, datagram: (MAX_DATAGRAM, MAX_DATAGRAM) };

const SETTLE_TRIES: u32 = 2_000;
const SETTLE_PAUSE: Duration = Duration::from_millis(1);

/// Both ends, new with each run: no cached route, path MTU or TCP metric outlives one.
pub(crate) struct World {
    pub(crate) sender: Land,
    pub(crate) receiver: Land,
}

/// One end's namespace and device.
pub(crate) struct Land {
    pub(crate) namespace: Namespace,
    pub(crate) device: SyncDevice,
    end: End,
}

/// A network namespace that threads can enter.
#[derive(Clone, Debug)]
pub(crate) struct Namespace(Arc<OwnedFd>);

impl World {
    /// # Errors
    /// Without root, without TUN or without network namespaces; the error says which.
    pub(crate) fn new() -> Result<Self> {
        ensure!(rustix::process::geteuid().is_root(), "the lab makes network namespaces and devices: run it as root");
        Ok(Self { sender: Land::new(End::Sender)?, receiver: Land::new(End::Receiver)? })
    }

    /// Both ends' places, over IPv4 or IPv6.
    pub(crate) fn ground(&self, v6: bool) -> Ground {
        Ground { sender: self.sender.place(v6), receiver: self.receiver.place(v6), room: Some(ROOM) }
    }

    /// Packets that were lost because the router did not fetch them in time: the lab's own fault.
    pub(crate) fn overruns(&self) -> Result<u64> {
        Ok(self.sender.overruns()? + self.receiver.overruns()?)
    }

    /// Packets that arrived and found a socket's buffer full: an end was not fast enough.
    pub(crate) fn socket_drops(&self) -> Result<u64> {
        Ok(self.sender.socket_drops()? + self.receiver.socket_drops()?)
    }
}

impl Land {
    fn new(end: End) -> Result<Self> {
        let namespace = Namespace::new()?;
        namespace.clone().within(|| Self::found(namespace, end))
    }

    fn found(namespace: Namespace, end: End) -> Result<Self> {
        let device = DeviceBuilder::new()
            .name("lab")
            .ipv4(addresses::v4(end), addresses::V4_PREFIX, None)
            .ipv6(addresses::v6(end), addresses::V6_PREFIX)
            .mtu(MTU)
            .tx_queue_len(DEVICE_QUEUE)
            .offload(true)
            .build_sync()
            .context("cannot make a TUN device (/dev/net/tun)")?;
        device.set_nonblocking(true)?;
        settle(end)?;
        Ok(Self { namespace, device, end })
    }

    fn place(&self, v6: bool) -> Place {
        let address = if v6 { addresses::v6(self.end).into() } else { addresses::v4(self.end).into() };
        Place { address, namespace: Some(self.namespace.clone()), buffer: ROOM.bytes as usize }
    }

    fn overruns(&self) -> Result<u64> {
        // Of what is sent: bytes, packets, errs, drop.
        self.count("dev", |line| line.strip_prefix("lab:"), 11)
    }

    fn socket_drops(&self) -> Result<u64> {
        // The first such line has the names: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors.
        let v4 = self.count("snmp", |line| line.strip_prefix("Udp:").filter(|rest| !rest.contains("In")), 4)?;
        Ok(v4 + self.count("snmp6", |line| line.strip_prefix("Udp6RcvbufErrors"), 0)?)
    }

    /// The number at place `at` behind the name of a line, in a table of the namespace's own.
    fn count(&self, table: &str, named: impl Fn(&str) -> Option<&str>, at: usize) -> Result<u64> {
        let path = format!("/proc/thread-self/net/{table}");
        let text = self.namespace.within(|| fs::read_to_string(&path).context("the kernel keeps no accounts"))?;
        let rest = text.lines().find_map(|line| named(line.trim_start()));
        let number = rest.and_then(|rest| rest.split_whitespace().nth(at)?.parse().ok());
        number.with_context(|| format!("not the numbers that are expected in {path}"))
    }
}

/// Waits until the kernel lets the IPv6 address be used, which it decides in the background.
fn settle(end: End) -> Result<()> {
    let mut tries = SETTLE_TRIES;
    while let Err(error) = UdpSocket::bind((addresses::v6(end), 0)) {
        tries -= 1;
        if tries == 0 {
            return Err(error).context("the IPv6 address of a TUN device is of no use");
        }
        thread::sleep(SETTLE_PAUSE);
    }
    Ok(())
}

impl Namespace {
    /// An empty one.
    pub(crate) fn new() -> Result<Self> {
        // The thread stays in it, so it is one that ends.
        let found = || -> Result<Self> {
            unshare(CloneFlags::CLONE_NEWNET).context("this system makes no network namespaces")?;
            let namespace = File::open("/proc/thread-self/ns/net").context("/proc/thread-self/ns/net")?;
            Ok(Self(Arc::new(namespace.into())))
        };
        thread::scope(|scope| scope.spawn(found).join()).map_err(|_| anyhow!("a thread panicked"))?
    }

    /// Does something in it, and processes and threads that this starts begin there.
    pub(crate) fn within<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let there = || {
            self.enter()?;
            work()
        };
        thread::scope(|scope| scope.spawn(there).join()).map_err(|_| anyhow!("a thread panicked"))?
    }

    /// Moves the calling thread there; threads that it starts from then on begin there.
    pub(crate) fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network))?)
    }
}
