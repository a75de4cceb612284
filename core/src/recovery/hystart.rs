//! HyStart++ (RFC 9406): slow start ends when the round-trip time rises, before packets are lost.

use super::congestion::Acked;
use crate::time::Duration;

/// A rise counts from this much on: an eighth of the round-trip time, within these (RFC 9406 §4.3).
const LEAST_RISE: Duration = Duration::from_millis(4);
const MOST_RISE: Duration = Duration::from_millis(16);
/// Samples of a round before its least is believed.
const SAMPLES: u8 = 8;
/// While it is not sure, the window grows by this share, for so many rounds.
const CAUTIOUS_SHARE_BITS: u32 = 2;
const CAUTIOUS_ROUNDS: u8 = 5;

#[derive(Clone, Copy, Debug)]
pub(super) struct HyStart {
    /// A round ends when this number is acknowledged.
    round_end: u64,
    last_min: Duration,
    min: Duration,
    samples: u8,
    /// In conservative slow start: the least round-trip time of the round that led to it, and rounds since.
    cautious: Option<(Duration, u8)>,
}

const UNKNOWN: Duration = Duration::from_micros(u64::MAX);

impl HyStart {
    pub(super) const fn new() -> Self {
        Self { round_end: 0, last_min: UNKNOWN, min: UNKNOWN, samples: 0, cautious: None }
    }

    /// By how much the window grows; `None` ends slow start.
    pub(super) fn growth(&mut self, acked: &Acked) -> Option<u64> {
        if acked.largest >= self.round_end {
            self.round_end = acked.next;
            (self.last_min, self.min, self.samples) = (self.min, UNKNOWN, 0);
            if let Some((_, rounds)) = &mut self.cautious {
                *rounds = rounds.saturating_add(1);
            }
        }
        if let Some(sample) = acked.sample {
            self.min = self.min.min(sample);
            self.samples = self.samples.saturating_add(1);
        }
        let believed = self.samples >= SAMPLES;
        match self.cautious {
            None => {
                let rise = self.last_min.shifted_down(3).max(LEAST_RISE).min(MOST_RISE);
                if believed && self.last_min != UNKNOWN && self.min >= self.last_min + rise {
                    self.cautious = Some((self.min, 0));
                }
                Some(acked.bytes)
            }
            // The rise was none that lasted.
            Some((baseline, _)) if believed && self.min < baseline => {
                self.cautious = None;
                Some(acked.bytes)
            }
            Some((_, rounds)) if rounds >= CAUTIOUS_ROUNDS => None,
            Some(_) => Some(acked.bytes >> CAUTIOUS_SHARE_BITS),
        }
    }
}
