//! Pacing (RFC 9002 §7.7): a token bucket that lets the congestion window leave over a round trip, not at once.

use crate::time::{Duration, Instant};

/// The bucket holds what leaves in this time: two of the shortest timers that are to be had on most systems.
const BURST: Duration = Duration::from_millis(2);
const TICK: Duration = Duration::from_millis(1);
/// The bucket never holds less than this many datagrams. More in a row find the queue of a slow path full, when what others
/// send one by one just passes.
const BURST_DATAGRAMS: u64 = 3;
/// What leaves at once in the beginning: the first window (RFC 9002 §7.2).
const FIRST_DATAGRAMS: u64 = 10;
/// ... or this many, where the rate is capped: who asks for that wants it even.
const CAPPED_DATAGRAMS: u64 = 2;

/// How fast data may leave: so much of a window in a round trip, and no more than the cap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    pub(crate) window: u64,
    pub(crate) rtt: Duration,
    /// The window still doubles.
    pub(crate) doubling: bool,
    /// Bytes in a second at the most.
    pub(crate) cap: Option<u64>,
}

impl Rate {
    /// Bytes that may leave in this time: 5/4 of the window in a round trip, 2 windows while it still doubles.
    fn bytes_in(&self, us: u64) -> u64 {
        let of_window = match self.doubling {
            true => self.window.saturating_mul(2),
            false => self.window.saturating_add(self.window >> 2),
        };
        let bytes = of_window.saturating_mul(us).checked_div(self.rtt.as_micros().max(1)).unwrap_or(u64::MAX);
        self.cap.map_or(bytes, |cap| bytes.min(cap.saturating_mul(us) / 1_000_000))
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    tokens: u64,
    filled: Instant,
}

impl Pacer {
    pub(crate) fn new(now: Instant, datagram: u16) -> Self {
        Self { tokens: u64::from(datagram).saturating_mul(FIRST_DATAGRAMS), filled: now }
    }

    /// Fills the bucket up to `now`.
    pub(crate) fn refill(&mut self, now: Instant, rate: &Rate, datagram: u16) {
        let least = if rate.cap.is_some() { CAPPED_DATAGRAMS } else { BURST_DATAGRAMS };
        let capacity = rate.bytes_in(BURST.as_micros()).max(u64::from(datagram).saturating_mul(least));
        let gain = rate.bytes_in(now.since(self.filled).as_micros());
        // A gain of nothing leaves the time where it is: slow rates still add up.
        if gain > 0 {
            self.filled = now;
        }
        self.tokens = self.tokens.saturating_add(gain).min(capacity);
    }

    /// True when a datagram may leave now.
    pub(crate) const fn ready(&self, bytes: u64) -> bool {
        self.tokens >= bytes
    }

    /// A datagram left.
    pub(crate) fn spent(&mut self, bytes: u64) {
        self.tokens = self.tokens.saturating_sub(bytes);
    }

    /// When `bytes` may leave, if not now: not so soon that most drivers could not be in time. What the bucket gathers until
    /// then leaves together.
    pub(crate) fn release(&self, bytes: u64, rate: &Rate) -> Instant {
        let missing = bytes.saturating_sub(self.tokens);
        // Rounded up: a timer that comes too early finds nothing to do, again and again.
        let us = missing.saturating_mul(rate.rtt.as_micros()).div_ceil(rate.window.max(1));
        let capped = rate.cap.map_or(0, |cap| missing.saturating_mul(1_000_000).div_ceil(cap.max(1)));
        self.filled + Duration::from_micros(us.max(capped)).max(TICK)
    }
}

#[cfg(test)]
mod tests;
