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
    /// Who was only killed just now.
    killed: Option<Victim>,
}

/// One process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Gateway,
    Sender(usize),
}

impl Deaths {
    pub(super) fn of(terms: &Terms) -> Self {
        Self { random: SplitMix64(terms.seed ^ 0xdead), senders: terms.senders, disk: terms.disk, killed: None }
    }

    pub(super) fn draw(&mut self) -> Death {
        if let Some(victim) = self.killed.take()
            && self.below(2) == 0
        {
            return self.cut_after_kill(victim);
        }
        let death = self.any();
        let kills = |manner: &Option<Manner>| self.disk == Disk::Volatile && *manner == Some(Manner::Kill);
        let sender = death.senders.iter().position(kills).map(Victim::Sender);
        self.killed = sender.or_else(|| kills(&death.gateway).then_some(Victim::Gateway));
        death
    }

    /// The power goes soon after a kill: what the next process found in memory must be on the disk by then.
    fn cut_after_kill(&mut self, victim: Victim) -> Death {
        let mut death = Death {
            after: Duration::from_micros(10_000 + self.below(120_000)),
            gateway: None,
            senders: vec![None; self.senders as usize],
            dead_for: Duration::ZERO,
        };
        match victim {
            Victim::Gateway => death.gateway = Some(Manner::PowerCut),
            Victim::Sender(sender) => death.senders[sender] = Some(Manner::PowerCut),
        }
        death
    }

    fn any(&mut self) -> Death {
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
