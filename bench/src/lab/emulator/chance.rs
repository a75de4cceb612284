//! Chances that follow from a seed, and losses that come in bursts.
use std::time::Duration;

use crate::workload::SplitMix64;

/// A source of chances.
pub(super) struct Chance(SplitMix64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(SplitMix64(seed))
    }

    /// True with this probability, which costs one draw whatever it is.
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Evenly below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.unit() * bound as f64) as usize
    }

    /// Evenly within twice `most`.
    pub(super) fn around(&mut self, most: Duration) -> Duration {
        (2 * most).mul_f64(self.unit())
    }

    /// Evenly from 0 to below 1.
    fn unit(&mut self) -> f64 {
        (self.0.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Loses packets: a Gilbert–Elliott channel that passes everything while good and nothing while bad. With bursts of one
/// packet on average, losses are independent.
pub(super) struct Loss {
    begins: f64,
    ends: f64,
    bad: bool,
}

impl Loss {
    /// `share` of all packets, in bursts of `burst` packets on average.
    pub(super) fn new(share: f64, burst: f64) -> Self {
        // A share above a half cannot come in short bursts.
        let longest = if share > 0.0 { (1.0 - share) / share } else { 1.0 };
        let ends = if burst > 1.0 { burst.recip().min(longest) } else { 1.0 - share };
        Self { begins: if share < 1.0 { share * ends / (1.0 - share) } else { 1.0 }, ends, bad: false }
    }

    /// Whether the next packet is lost.
    pub(super) fn next(&mut self, chance: &mut Chance) -> bool {
        let changes = if self.bad { self.ends } else { self.begins };
        self.bad ^= chance.happens(changes);
        self.bad
    }
}
