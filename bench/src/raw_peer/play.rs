//! Playing each attack, several times over.
use anyhow::{Result, ensure};
use tallylink_core::{Config, End};
use tallylink_sim::hostile::{ATTACKS, Attack, Report};

use crate::clock;

/// One attack, and what it came to.
pub(super) struct Played {
    pub(super) attack: &'static Attack,
    /// Of the first run; the others differ in nothing but their costs.
    pub(super) report: Report,
    /// Nanoseconds of the datagram that took the most, each at its cheapest.
    pub(super) worst: u64,
}

impl Played {
    /// The end that is attacked, in words.
    pub(super) fn on(&self) -> &'static str {
        match self.attack.on {
            End::Gateway => "gateway",
            End::Device => "device",
        }
    }
}

/// Plays all attacks, or those that have `only` in their name.
pub(super) fn all(runs: u32, only: Option<&str>) -> Result<Vec<Played>> {
    let chosen = ATTACKS.iter().filter(|attack| only.is_none_or(|text| attack.name.contains(text)));
    let played: Vec<_> = chosen.map(|attack| play(attack, runs)).collect();
    ensure!(!played.is_empty(), "no attack has \"{}\" in its name", only.unwrap_or_default());
    Ok(played)
}

fn play(attack: &'static Attack, runs: u32) -> Played {
    let report = attack.run(&Config::default(), cpu);
    let mut costs = report.costs.clone();
    for _ in 1..runs {
        let again = attack.run(&Config::default(), cpu);
        costs.iter_mut().zip(again.costs).for_each(|(least, cost)| *least = cost.min(*least));
    }
    Played { attack, report, worst: costs.into_iter().max().unwrap_or(0) }
}

/// Time of this thread alone: what else the machine does is nobody's cost here.
fn cpu() -> u64 {
    clock::thread_cpu().as_nanos() as u64
}
