//! What a network is like.
use std::time::Duration;

/// One network, in both directions. The default is a perfect one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Profile {
    /// One way.
    pub(crate) delay: Duration,
    pub(crate) jitter: Jitter,
    /// Share of packets that are lost.
    pub(crate) loss: f64,
    /// Packets of a burst of losses, on average; independent losses at 1 or less.
    pub(crate) burst: f64,
    /// Share of packets that skip the delay, and so overtake those before them (as netem's `reorder`).
    pub(crate) reorder: f64,
    /// Share of packets that come twice.
    pub(crate) duplicate: f64,
    /// Share of packets of which a bit is changed. UDP's checksum is made to fit again, so that no one but the end notices.
    pub(crate) corrupt: f64,
    /// Bits per second of the slowest link; none is slow when absent.
    pub(crate) rate: Option<u64>,
    /// Bytes that wait in front of it; what finds no room is lost.
    pub(crate) queue: u64,
    /// Bytes of the largest IP packet.
    pub(crate) mtu: u16,
    /// Whether a packet above the MTU is answered (or, where it may be, cut): without, it just disappears.
    pub(crate) icmp: bool,
}

/// Each packet's delay is evenly spread within `±most`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Jitter {
    pub(crate) most: Duration,
    /// A packet waits for those before it.
    pub(crate) in_order: bool,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            jitter: Jitter::default(),
            loss: 0.0,
            burst: 1.0,
            reorder: 0.0,
            duplicate: 0.0,
            corrupt: 0.0,
            rate: None,
            queue: u64::MAX,
            mtu: 1500,
            icmp: true,
        }
    }
}

impl Profile {
    /// What the path holds: bytes that leave in one round trip.
    pub(crate) fn bandwidth_delay(&self) -> Option<u64> {
        Some((self.rate? as f64 / 8.0 * 2.0 * self.delay.as_secs_f64()) as u64)
    }
}
