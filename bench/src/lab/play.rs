//! Rounds: in each, every side carries records over the same network, with the same chances. Each carries as many as take it
//! about the same time, so that none is judged by its beginning only.
use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    cases::Case,
    emulator::{Emulator, Script},
    router::{self, Told},
};
use crate::{
    options::Options,
    transport::{
        side::{Job, Run, Side},
        sides::SideName,
        watch::Watch,
    },
    workload::Workload,
};

/// Payload of the first try to find out how much is enough.
const PROBE_BYTES: u64 = 256 << 10;
/// A try must have taken this share of the time that is aimed at to be believed.
const BELIEVED: f64 = 0.4;
/// A try carries at most so many times what the one before did.
const STEEPEST: f64 = 8.0;
/// How often a side that is not ours may try one run.
const TRIES: u32 = 3;

/// All rounds of one case.
pub(super) struct Played {
    pub(super) case: String,
    pub(super) size: u32,
    pub(super) sides: Vec<SideRounds>,
}

pub(super) struct SideRounds {
    pub(super) side: &'static str,
    pub(super) rounds: Vec<Round>,
}

/// One side's run over one network.
pub(super) struct Round {
    pub(super) records: u64,
    pub(super) run: Run,
    pub(super) router: Told,
}

pub(super) fn all(cases: &[Case], sides: &[SideName], options: &Options) -> Result<Vec<Played>> {
    let sides: Vec<_> = sides.iter().map(|name| name.side()).collect();
    let progress = progress(cases.len() * sides.len() * options.rounds as usize);
    let mut played = Vec::new();
    for case in cases {
        let stage = Stage { case, workload: Arc::new(Workload::new(options.seed, case.size as usize)) };
        let mut plans = Vec::new();
        for side in &sides {
            let records = match case.records {
                Some(records) => records,
                None => stage.enough(side.as_ref(), options.seed, &progress)?,
            };
            plans.push((side, records, Vec::new()));
        }
        for round in 0..u64::from(options.rounds) {
            let first = round as usize % plans.len();
            let (later, sooner) = plans.split_at_mut(first);
            for (side, records, rounds) in sooner.iter_mut().chain(later) {
                progress.set_message(format!("{}: {}", case.name, side.name()));
                rounds.push(stage.again(side.as_ref(), *records, options.seed + round, &progress)?);
                progress.inc(1);
            }
        }
        let of_sides = plans.into_iter().map(|(side, _, rounds)| SideRounds { side: side.name(), rounds }).collect();
        played.push(Played { case: case.name.clone(), size: case.size, sides: of_sides });
    }
    progress.finish_and_clear();
    Ok(played)
}

struct Stage<'c> {
    case: &'c Case,
    workload: Arc<Workload>,
}

impl Stage<'_> {
    /// How many records the side carries in the time of the case.
    fn enough(&self, side: &dyn Side, seed: u64, progress: &ProgressBar) -> Result<u64> {
        let mut records = (PROBE_BYTES / u64::from(self.case.size.max(1))).max(1);
        loop {
            progress.set_message(format!("{}: how much is enough", self.case.name));
            let took = self.again(side, records, seed, progress)?.run.elapsed.as_secs_f64().max(1e-3);
            let steep = (self.case.seconds / took).min(STEEPEST);
            let next = ((records as f64 * steep) as u64).max(1);
            if took >= BELIEVED * self.case.seconds {
                return Ok(next);
            }
            records = next.max(records + 1);
        }
    }

    /// One run, and further ones where a side that is not ours gave its connection up: it would cost everybody's figures.
    fn again(&self, side: &dyn Side, records: u64, seed: u64, progress: &ProgressBar) -> Result<Round> {
        for _ in 1..TRIES {
            match self.run(side, records, seed) {
                Err(why) if !side.name().starts_with("tallylink") => {
                    progress.suspend(|| eprintln!("warning: {why:#}; it is tried again"));
                }
                ended => return ended,
            }
        }
        self.run(side, records, seed)
    }

    fn run(&self, side: &dyn Side, records: u64, seed: u64) -> Result<Round> {
        let emulator = Emulator::new(self.case.profile, Script::default(), seed);
        let (router, ground) = router::build(emulator, self.case.v6)?;
        let watch = Arc::new(Watch::default());
        let job = Job { workload: Arc::clone(&self.workload), records, ground, watch };
        let run = side.run(&job).with_context(|| format!("{}: {}", self.case.name, side.name()));
        let router = router.stop()?;
        Ok(Round { records, run: run?, router })
    }
}

/// Draws on a terminal only.
fn progress(steps: usize) -> ProgressBar {
    let progress = ProgressBar::new(steps as u64);
    progress.enable_steady_tick(Duration::from_millis(500));
    match ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} ({elapsed})") {
        Ok(style) => progress.with_style(style),
        Err(_) => progress,
    }
}
