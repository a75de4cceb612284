//! How much packets overtake each other on a path, learnt from losses that were none (RFC 8985 §6.2, with the thresholds of
//! RFC 9002 §6.1 as the beginning).

use super::rtt::Rtt;
use crate::time::Duration;

/// A packet this many numbers below one that was acknowledged is lost (RFC 9002 §6.1.1), until the path shows more.
const PACKET_THRESHOLD: u32 = 3;
/// What was learnt is forgotten after so many recoveries that did not show it again (RFC 8985 §6.2).
const REMEMBERED: u8 = 16;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reordering {
    packets: u32,
    /// Beyond 9/8 of the round-trip time.
    extra: Duration,
    /// Recoveries until both are forgotten.
    left: u8,
}

impl Reordering {
    pub(crate) const fn new() -> Self {
        Self { packets: PACKET_THRESHOLD, extra: Duration::ZERO, left: 0 }
    }

    /// A packet that is this many numbers below one that was acknowledged is lost.
    pub(crate) const fn packets(&self) -> u32 {
        self.packets
    }

    /// A packet that was overtaken is lost this long after it left.
    pub(crate) fn delay(&self, rtt: &Rtt) -> Duration {
        rtt.loss_delay() + self.extra
    }

    /// A packet arrived that had been declared lost, `age` after it left. From now on time alone tells: how many packets
    /// overtake one depends on how fast they leave. At most half of the `table` of packets in flight, and one more round trip,
    /// are waited for.
    pub(crate) fn widen(&mut self, age: Duration, rtt: &Rtt, table: u32) {
        self.packets = table >> 1;
        let late = age - rtt.loss_delay();
        self.extra = self.extra.max(late.min(rtt.smoothed()));
        self.left = REMEMBERED;
    }

    /// The congestion window is cut for losses: another recovery begins.
    pub(crate) fn recovery_begins(&mut self) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            *self = Self::new();
        }
    }
}

#[cfg(test)]
mod tests;
