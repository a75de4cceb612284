//! Times of many records in little memory: 32 steps an octave, so a figure is at most 3 % off.

use serde::{Deserialize, Serialize};

const STEPS_BITS: u32 = 5;

/// How many records took how long.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Latencies {
    counts: Vec<u64>,
}

impl Latencies {
    pub(super) fn note(&mut self, us: u64, records: u64) {
        let at = place(us);
        if self.counts.len() <= at {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += records;
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, more)| *sum += more);
    }

    /// The time within which so many of a thousand came, in microseconds.
    pub(super) fn of_thousand(&self, share: u64) -> u64 {
        let all: u64 = self.counts.iter().sum();
        let mut left = (all * share).div_ceil(1000);
        for (at, count) in self.counts.iter().enumerate() {
            left = left.saturating_sub(*count);
            if left == 0 {
                return upper(at);
            }
        }
        0
    }
}

/// Small numbers have a place each; above, the highest bits count.
fn place(us: u64) -> usize {
    let shift = (u64::BITS - us.leading_zeros()).saturating_sub(STEPS_BITS + 1);
    ((shift as usize) << STEPS_BITS) + (us >> shift) as usize
}

/// The largest number of a place.
fn upper(at: usize) -> u64 {
    let shift = (at >> STEPS_BITS).saturating_sub(1);
    let top = (at - (shift << STEPS_BITS)) as u64;
    ((top + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::{Latencies, place, upper};

    #[test]
    fn every_time_lies_in_its_place() {
        let mut before = 0;
        for us in (0..4096).chain((12..60).map(|bit| (1 << bit) + 12345 % (1 << bit))) {
            let at = place(us);
            assert!(at >= before && us <= upper(at) && (at == 0 || upper(at - 1) < us), "{us}");
            assert!(upper(at) - us <= us / 32, "{us}");
            before = at;
        }
    }

    #[test]
    fn shares_are_found_in_what_two_noted() {
        let (mut one, mut other) = (Latencies::default(), Latencies::default());
        one.note(10, 500);
        one.note(1000, 489);
        other.note(5, 1);
        other.note(1 << 20, 10);
        one.add(&other);
        assert_eq!(one.of_thousand(500), 10);
        assert_eq!(one.of_thousand(990), upper(place(1000)));
        assert_eq!(one.of_thousand(1000), upper(place(1 << 20)));
    }
}
