//! The round-trip time (RFC 9002 §5) and what follows from it: probe timeout and loss delay.

use crate::time::Duration;

/// RTT assumed before the first sample (RFC 9002 §6.2.2 says 333 ms; the first probe then comes within a second).
const INITIAL: Duration = Duration::from_millis(333);
/// No timer is finer than this (RFC 9002 §6.1.2 kGranularity).
const GRANULARITY: Duration = Duration::from_millis(1);

/// No end holds an ACK back for longer, so that the other need not be told (wire-format §8).
pub(crate) const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// No sample counts as longer: the probe timeout stays within a few minutes, and paths of a minute are served.
const LONGEST: Duration = Duration::from_secs(64);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    smoothed: Duration,
    variation: Duration,
    latest: Duration,
    min: Duration,
    sampled: bool,
}

impl Rtt {
    pub(crate) const fn new() -> Self {
        Self {
            smoothed: INITIAL,
            variation: Duration::from_micros(INITIAL.as_micros() / 2),
            latest: INITIAL,
            min: Duration::from_micros(u64::MAX),
            sampled: false,
        }
    }

    /// Starts from a smoothed value of an earlier link of the same session.
    pub(crate) fn remembered(smoothed: Duration) -> Self {
        if smoothed == Duration::ZERO {
            return Self::new();
        }
        Self { smoothed, variation: smoothed.shifted_down(1), latest: smoothed, min: smoothed, sampled: true }
    }

    /// The smoothed value, zero when nothing was measured.
    pub(crate) fn memory(&self) -> Duration {
        if self.sampled { self.smoothed } else { Duration::ZERO }
    }

    /// Takes a sample (RFC 9002 §5.3): `latest` measured, of which the other end held the ACK back for `ack_delay`.
    pub(crate) fn sample(&mut self, latest: Duration, ack_delay: Duration) {
        // An attacker who holds one ACK back for an hour must not silence the sender for many.
        let latest = latest.min(LONGEST);
        self.latest = latest;
        if !self.sampled {
            self.sampled = true;
            (self.min, self.smoothed, self.variation) = (latest, latest, latest.shifted_down(1));
            return;
        }
        self.min = self.min.min(latest);
        let adjusted = if latest >= self.min + ack_delay { latest - ack_delay } else { latest };
        let error = if self.smoothed > adjusted { self.smoothed - adjusted } else { adjusted - self.smoothed };
        self.variation = self.variation - self.variation.shifted_down(2) + error.shifted_down(2);
        self.smoothed = self.smoothed - self.smoothed.shifted_down(3) + adjusted.shifted_down(3);
    }

    pub(crate) const fn smoothed(&self) -> Duration {
        self.smoothed
    }

    /// The probe timeout before back-off (RFC 9002 §6.2.1).
    pub(crate) fn probe_timeout(&self) -> Duration {
        self.smoothed + self.variation.times(4).max(GRANULARITY) + MAX_ACK_DELAY
    }

    /// How long a packet may be overtaken before it counts as lost (RFC 9002 §6.1.2): 9/8 of the RTT.
    pub(crate) fn loss_delay(&self) -> Duration {
        let rtt = self.smoothed.max(self.latest);
        (rtt + rtt.shifted_down(3)).max(GRANULARITY)
    }
}
