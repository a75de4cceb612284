//! HyStart++ (RFC 9406): slow start ends when the round-trip time rises, before packets are lost.
//!
//! RFC 9406 looks at the least round-trip time of a round. A window that is paced out in half a round trip leaves the other
//! half to the queue to drain, so that the first packets of each round find it empty until the window is larger than the path;
//! one round later it is larger than path and queue together, and hundreds of packets are lost. So a round is looked at in
//! blocks of samples: one whose least is above that of the round before is the rise, wherever in the round it stands.

use super::congestion::Acked;
use crate::time::Duration;

/// A rise counts from this much on: an eighth of the round-trip time, within these (RFC 9406 §4.3).
const LEAST_RISE: Duration = Duration::from_millis(4);
const MOST_RISE: Duration = Duration::from_millis(16);
/// Samples of a block, whose least is believed.
const SAMPLES: u8 = 8;
/// While it is not sure, the window grows by this share, for so many rounds.
const CAUTIOUS_SHARE_BITS: u32 = 2;
const CAUTIOUS_ROUNDS: u8 = 5;

#[derive(Clone, Copy, Debug)]
pub(super) struct HyStart {
    /// A round ends when this number is acknowledged.
    round_end: u64,
    /// The least round-trip times of the last round and of this one.
    last_min: Duration,
    min: Duration,
    /// The block that is being filled, and the last one of this round that was.
    samples: u8,
    filling: Duration,
    block: Duration,
    /// In conservative slow start: what a block has to stay above, and rounds since.
    cautious: Option<(Duration, u8)>,
}

const UNKNOWN: Duration = Duration::from_micros(u64::MAX);

impl HyStart {
    pub(super) const fn new() -> Self {
        Self {
            round_end: 0,
            last_min: UNKNOWN,
            min: UNKNOWN,
            samples: 0,
            filling: UNKNOWN,
            block: UNKNOWN,
            cautious: None,
        }
    }

    /// By how much the window grows; `None` ends slow start.
    pub(super) fn growth(&mut self, acked: &Acked) -> Option<u64> {
        if acked.largest >= self.round_end {
            self.round_end = acked.next;
            self.cautious = match self.cautious {
                // The rise was none that lasted.
                Some((above, _)) if self.block < above => None,
                Some((above, rounds)) => Some((above, rounds.saturating_add(1))),
                None => None,
            };
            (self.last_min, self.min) = (self.min, UNKNOWN);
            (self.samples, self.filling, self.block) = (0, UNKNOWN, UNKNOWN);
        }
        if let Some(sample) = acked.sample {
            self.min = self.min.min(sample);
            self.filling = self.filling.min(sample);
            self.samples = self.samples.saturating_add(1);
        }
        if self.samples >= SAMPLES {
            (self.samples, self.block, self.filling) = (0, self.filling, UNKNOWN);
            let rise = self.last_min.shifted_down(3).max(LEAST_RISE).min(MOST_RISE);
            if self.cautious.is_none() && self.last_min != UNKNOWN && self.block >= self.last_min + rise {
                self.cautious = Some((self.last_min + rise, 0));
            }
        }
        match self.cautious {
            None => Some(acked.bytes),
            Some((_, rounds)) if rounds >= CAUTIOUS_ROUNDS => None,
            Some(_) => Some(acked.bytes >> CAUTIOUS_SHARE_BITS),
        }
    }
}
