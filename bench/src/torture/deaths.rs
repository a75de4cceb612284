//! Who dies when, and how.
use std::time::Duration;

use super::terms::{Disk, Terms};
use crate::workload::SplitMix64;

/// How a process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// What it wrote outlives it.
    Kill,
    /// What it did not sync goes with it.
    PowerCut,
}

/// One death, or several at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Death {
    /// How long after the last start.
    pub(super) after: Duration,
    /// How, and how long it is dead.
    pub(super) gateway: Option<Manner>,
    /// The same for each sender.
    pub(super) senders: Vec<Option<Manner>>,
    pub(super) dead_for: Duration,
}

/// The deaths of one world, one after the other.
pub(super) struct Deaths {
    random: SplitMix64,
    senders: u32,
    disk: Disk,
}

impl Deaths {
    pub(super) fn of(terms: &Terms) -> Self {
        Self { random: SplitMix64(terms.seed ^ 0xdead), senders: terms.senders, disk: terms.disk }
    }

    pub(super) fn draw(&mut self) -> Death {
        // In the middle of opening, before anything is on its way, while it is, and after segments changed.
        let (least, most) = match self.below(100) {
            0..20 => (0, 8_000),
            20..50 => (8_000, 60_000),
            50..90 => (60_000, 200_000),
            _ => (200_000, 500_000),
        };
        let after = Duration::from_micros(least + self.below(most - least));
        let mut senders = vec![None; self.senders as usize];
        let which = self.below(100);
        let gateway = (which < 60).then(|| self.manner());
        match which {
            // Only the gateway.
            0..45 => {}
            // Everything hangs on one plug.
            45..50 => senders.fill(gateway),
            _ => {
                let one = self.below(u64::from(self.senders)) as usize;
                senders[one] = Some(self.manner());
            }
        }
        let dead_for = Duration::from_micros(if self.below(2) == 0 { 0 } else { self.below(40_000) });
        Death { after, gateway, senders, dead_for }
    }

    fn manner(&mut self) -> Manner {
        let cut = self.below(100) >= 30;
        if self.disk == Disk::Volatile && cut { Manner::PowerCut } else { Manner::Kill }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next() % bound
    }
}
