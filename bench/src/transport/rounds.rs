//! Interleaved rounds: in each, every side carries every case once, in an order that rotates.
use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    side::{Job, Run, Side},
    sides::MAX_DATAGRAM,
};
use crate::{clock, workload::Workload};

/// Bytes carried to learn what a side costs, before the first round.
const PROBE_BYTES: u64 = 16 << 20;
/// A round aims this far above the CPU it must use, since sides do not cost the same each time.
const MARGIN: f64 = 1.25;

/// One size of record.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) workload: Arc<Workload>,
}

/// All rounds of one case.
pub(crate) struct Measured {
    pub(crate) case: String,
    /// In the order they were asked for.
    pub(crate) sides: Vec<SideRounds>,
}

/// All rounds of one side.
pub(crate) struct SideRounds {
    pub(crate) side: &'static str,
    pub(crate) rounds: Vec<Round>,
}

/// One run, and what it was asked to carry.
pub(crate) struct Round {
    pub(crate) records: u64,
    pub(crate) run: Run,
    /// CPU of the process that none of the run's threads accounts for: threads the side began itself.
    pub(crate) other_cpu: Duration,
}

impl Round {
    /// CPU of the measured work, all threads.
    pub(crate) fn cpu(&self) -> Duration {
        let work: Duration = self.run.threads.iter().map(|thread| thread.work).sum();
        work + self.other_cpu
    }
}

/// Runs all sides on all cases, each for at least `enough` CPU in each of `rounds`.
pub(crate) fn measure(cases: &[Case], sides: &[Box<dyn Side>], rounds: u32, enough: Duration) -> Result<Vec<Measured>> {
    let progress = progress(cases.len() * sides.len() * (rounds as usize + 1));
    let mut plans = Vec::new();
    for case in cases {
        for side in sides {
            plans.push(Plan::probe(case, side.as_ref(), enough, &progress)?);
        }
    }
    for round in 0..rounds as usize {
        for of_case in plans.chunks_mut(sides.len().max(1)) {
            let first = round % of_case.len();
            let (later, sooner) = of_case.split_at_mut(first);
            for plan in sooner.iter_mut().chain(later) {
                plan.round(enough, &progress)?;
            }
        }
    }
    progress.finish_and_clear();

    let mut plans = plans.into_iter();
    let of_case = |case: &Case| Measured {
        case: case.name.clone(),
        sides: plans.by_ref().take(sides.len()).map(Plan::finish).collect(),
    };
    Ok(cases.iter().map(of_case).collect())
}

/// One side on one case: how much it is to carry next, and what it did so far.
struct Plan<'a> {
    case: &'a Case,
    side: &'a dyn Side,
    records: u64,
    rounds: Vec<Round>,
}

impl<'a> Plan<'a> {
    /// Carries a little, to find out how much is enough.
    fn probe(case: &'a Case, side: &'a dyn Side, enough: Duration, progress: &ProgressBar) -> Result<Self> {
        let mut plan =
            Self { case, side, records: (PROBE_BYTES / case.workload.size().max(1) as u64).max(1), rounds: Vec::new() };
        let probe = plan.run(progress)?;
        progress.inc(1);
        plan.aim(&probe, enough);
        Ok(plan)
    }

    fn round(&mut self, enough: Duration, progress: &ProgressBar) -> Result<()> {
        let mut round = self.run(progress)?;
        while round.cpu() < enough {
            self.aim(&round, enough);
            round = self.run(progress)?;
        }
        self.rounds.push(round);
        progress.inc(1);
        Ok(())
    }

    fn run(&self, progress: &ProgressBar) -> Result<Round> {
        let (case, side) = (&self.case.name, self.side.name());
        progress.set_message(format!("{case}, {side}"));
        let job = Job::over_loopback(Arc::clone(&self.case.workload), self.records);
        let (process, here) = (clock::process_cpu(), clock::thread_cpu());
        let run = self.side.run(&job).with_context(|| format!("{side} at {case}"))?;
        let here = clock::thread_cpu().saturating_sub(here);
        let process = clock::process_cpu().saturating_sub(process);
        let known: Duration = run.threads.iter().map(|thread| thread.total).sum();
        let largest = run.wire.largest;
        ensure!(
            largest <= MAX_DATAGRAM.into(),
            "{side} sent a datagram of {largest} B, above the {MAX_DATAGRAM} B all sides are held to"
        );
        Ok(Round { records: self.records, run, other_cpu: process.saturating_sub(here).saturating_sub(known) })
    }

    /// Sets the number of records so that the next round uses enough CPU if they cost the same.
    fn aim(&mut self, last: &Round, enough: Duration) {
        let cpu = last.cpu().as_secs_f64().max(1e-6);
        let records = last.records as f64 * enough.as_secs_f64() / cpu * MARGIN;
        self.records = (records as u64).max(last.records);
    }

    fn finish(self) -> SideRounds {
        SideRounds { side: self.side.name(), rounds: self.rounds }
    }
}

/// Draws only between runs, so that drawing is not measured; on a terminal only.
fn progress(steps: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} (left: {eta})");
    let progress = ProgressBar::new(steps as u64);
    match style {
        Ok(style) => progress.with_style(style),
        Err(_) => progress,
    }
}
