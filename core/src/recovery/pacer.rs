//! Pacing (RFC 9002 §7.7): a token bucket that lets the congestion window leave over a round trip, not at once.

use crate::time::{Duration, Instant};

/// The bucket holds what leaves in this time: two of the shortest timers that are to be had on most systems.
const BURST: Duration = Duration::from_millis(2);
const TICK: Duration = Duration::from_millis(1);
/// The bucket never holds less than this many datagrams: a batch of the smallest GSO that pays.
const BURST_DATAGRAMS: u64 = 16;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    tokens: u64,
    filled: Instant,
}

impl Pacer {
    pub(crate) fn new(now: Instant) -> Self {
        Self { tokens: u64::MAX, filled: now }
    }

    /// Fills the bucket up to `now`. `window` bytes leave in 4/5 of the RTT (in 1/2 while it still doubles).
    pub(crate) fn refill(&mut self, now: Instant, window: u64, rtt: Duration, doubling: bool, datagram: u16) {
        let rtt_us = rtt.as_micros().max(1);
        let rate = if doubling { window.saturating_mul(2) } else { window.saturating_add(window >> 2) };
        let gained = |us: u64| rate.saturating_mul(us).checked_div(rtt_us).unwrap_or(u64::MAX);
        let capacity = gained(BURST.as_micros()).max(u64::from(datagram).saturating_mul(BURST_DATAGRAMS));
        let elapsed = now.since(self.filled).as_micros();
        let gain = gained(elapsed);
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
    pub(crate) fn release(&self, bytes: u64, window: u64, rtt: Duration) -> Instant {
        let missing = bytes.saturating_sub(self.tokens);
        // Rounded up: a timer that comes too early finds nothing to do, again and again.
        let us = missing.saturating_mul(rtt.as_micros()).div_ceil(window.max(1));
        self.filled + Duration::from_micros(us).max(TICK)
    }
}

#[cfg(test)]
mod tests;
