//! One attack: what is thrown at the gateway, and what it did meanwhile.
use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, UdpSocket},
    thread,
    time::Duration,
};

use anyhow::{Result, ensure};

use super::gateway::Gateway;

/// Datagrams that are under way at a time: they fit the smallest receive buffer.
const BURST: u64 = 64;
/// The gateway is asked so often, so long after each other, until it has seen a burst; then what is missing counts as lost.
const TRIES: u32 = 2_000;
const PAUSE: Duration = Duration::from_micros(100);

/// What the gateway said before and after one attack.
pub(super) struct Attack {
    pub(super) name: &'static str,
    /// Reasons that must be among those it counted.
    pub(super) expected: &'static [&'static str],
    /// Replayed HELLOs of the peer: they are answered, as far as the limit of answers allows, and have no other effect.
    pub(super) genuine_hellos: u64,
    /// Whether the journal holds something else than before.
    pub(super) journal_changed: bool,
    before: Told,
    after: Told,
}

/// What a gateway says of itself.
struct Told {
    counters: BTreeMap<String, BTreeMap<String, u64>>,
    memory: u64,
}

impl Told {
    fn by(gateway: &Gateway) -> Result<Self> {
        Ok(Self { counters: gateway.status()?.counters, memory: gateway.memory()? })
    }

    fn count(&self, subject: &str, name: &str) -> Option<u64> {
        self.counters.get(subject)?.get(name).copied()
    }
}

impl Attack {
    /// Throws datagrams until the gateway has seen `count`.
    pub(super) fn run(
        name: &'static str,
        expected: &'static [&'static str],
        gateway: &Gateway,
        count: u64,
        next: impl FnMut(&mut Vec<u8>),
    ) -> Result<Self> {
        let before = Told::by(gateway)?;
        throw(gateway, count, next)?;
        let after = Told::by(gateway)?;
        Ok(Self { name, expected, genuine_hellos: 0, journal_changed: false, before, after })
    }

    /// How often something was counted during the attack; `None` for what has no counter.
    pub(super) fn counted(&self, subject: &str, name: &str) -> Option<u64> {
        Some(self.after.count(subject, name)?.saturating_sub(self.before.count(subject, name)?))
    }

    /// Every reason to discard, and how often it was given.
    pub(super) fn discarded(&self) -> impl Iterator<Item = (&str, u64)> {
        let names = self.after.counters.get("discarded").into_iter().flatten();
        names.map(|(name, _)| (name.as_str(), self.counted("discarded", name).unwrap_or(0)))
    }

    /// Bytes of memory that it uses more than before.
    pub(super) fn grown(&self) -> u64 {
        self.after.memory.saturating_sub(self.before.memory)
    }
}

fn throw(gateway: &Gateway, count: u64, mut next: impl FnMut(&mut Vec<u8>)) -> Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(gateway.address)?;
    let begun = seen(gateway)?;
    let (mut thrown, mut arrived) = (0, 0);
    let mut datagram = Vec::new();
    while arrived < count {
        ensure!(thrown <= 2 * count, "the gateway saw {arrived} of {thrown} datagrams");
        let burst = BURST.min(count - arrived);
        for _ in 0..burst {
            next(&mut datagram);
            socket.send(&datagram)?;
        }
        thrown += burst;
        let expected = begun + arrived + burst;
        let mut now = seen(gateway)?;
        for _ in 0..TRIES {
            if now >= expected {
                break;
            }
            thread::sleep(PAUSE);
            now = seen(gateway)?;
        }
        arrived = now - begun;
    }
    Ok(())
}

fn seen(gateway: &Gateway) -> Result<u64> {
    let status = gateway.status()?;
    Ok(status.counters.get("socket").and_then(|socket| socket.get("datagrams_received")).copied().unwrap_or(0))
}
