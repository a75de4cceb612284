//! One case: flows of two kinds through one bottleneck, watched while they run.
use std::{
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use indicatif::{ProgressBar, ProgressStyle};

use crate::{
    clock,
    lab::{
        emulator::{Emulator, Profile, Queue, Script},
        router::{self, Told},
    },
    transport::{
        ground::Ground,
        side::{Job, Run},
        sides::SideName,
        watch::Watch,
    },
    workload::Workload,
};

/// Bytes of a record.
const SIZE: usize = 1_013;
/// How often the flows are looked at.
const SAMPLE: Duration = Duration::from_millis(250);
/// Whose flows are judged.
pub(super) const OURS: SideName = SideName::TallylinkGcm;

pub(super) struct Contest {
    /// Of each kind.
    pub(super) flows: u8,
    pub(super) against: SideName,
    /// Bits per second.
    pub(super) rate: u64,
    /// One way.
    pub(super) delay: Duration,
    pub(super) warm_up: Duration,
    pub(super) watched: Duration,
}

/// All runs of one case.
pub(super) struct Played {
    pub(super) case: String,
    pub(super) sides: [&'static str; 2],
    pub(super) rate: u64,
    pub(super) runs: Vec<Watched>,
}

/// What was seen in one run.
pub(super) struct Watched {
    /// Ours first, then the others.
    pub(super) flows: Vec<Flow>,
    /// How many are ours.
    pub(super) ours: usize,
    /// After the warm-up.
    pub(super) lasted: Duration,
    pub(super) queue: Queue,
    pub(super) router: Told,
}

pub(super) struct Flow {
    /// Bits of records per second, after the warm-up.
    pub(super) rate: f64,
    /// (seconds since the start, bits per second until then), all the time.
    pub(super) series: Vec<(f64, f64)>,
    /// Records that were not what they should be.
    pub(super) wrong: u64,
}

impl Contest {
    pub(super) fn name(&self) -> String {
        let (flows, rate, ms) = (self.flows, self.rate / 1_000_000, self.delay.as_secs_f64() * 1e3);
        format!("{flows} + {flows} {}, {rate} Mbit/s, {ms} ms", self.against.side().name())
    }

    fn profile(&self) -> Profile {
        let profile = Profile { delay: self.delay, rate: Some(self.rate), ..Profile::default() };
        Profile { queue: profile.bandwidth_delay().unwrap_or(u64::MAX), ..profile }
    }

    fn run(&self, seed: u64) -> Result<Watched> {
        let (router, ground) = router::build(Emulator::new(self.profile(), Script::default(), seed), false)?;
        let ours = usize::from(self.flows);
        let names = (0..2 * ours).map(|index| if index < ours { OURS } else { self.against });
        let runners: Vec<_> = names.map(|name| Runner::start(name, seed, &ground)).collect::<Result<_>>()?;

        let begun = clock::wall();
        let mut samples: Vec<(f64, Vec<u64>)> = Vec::new();
        let mut begin = None;
        while begun.elapsed() < self.warm_up + self.watched {
            thread::sleep(SAMPLE);
            let received = runners.iter().map(|runner| runner.watch.received()).collect();
            samples.push((begun.elapsed().as_secs_f64(), received));
            if begin.is_none() && begun.elapsed() >= self.warm_up {
                begin = Some((samples.len() - 1, router.view().queue()));
            }
        }
        let (first, earlier) = begin.context("nothing was watched")?;
        let queue = router.view().queue().since(&earlier);
        runners.iter().for_each(|runner| runner.watch.end());
        let runs = runners.into_iter().map(Runner::join).collect::<Result<Vec<_>>>();
        let router = router.stop()?;

        let lasted = samples.last().map_or(0.0, |(at, _)| *at) - samples[first].0;
        let runs = runs?;
        let flows = runs.iter().enumerate().map(|(index, run)| Flow::new(index, &samples, first, lasted, run));
        Ok(Watched { flows: flows.collect(), ours, lasted: Duration::from_secs_f64(lasted), queue, router })
    }
}

pub(super) fn all(contests: &[Contest], rounds: u32, seed: u64) -> Result<Vec<Played>> {
    let progress = progress(contests.len() * rounds as usize);
    let mut results = Vec::new();
    for contest in contests {
        let mut runs = Vec::new();
        for run in 0..u64::from(rounds) {
            progress.set_message(contest.name());
            runs.push(contest.run(seed + run).with_context(|| contest.name())?);
            progress.inc(1);
        }
        let sides = [OURS.side().name(), contest.against.side().name()];
        results.push(Played { case: contest.name(), sides, rate: contest.rate, runs });
    }
    progress.finish_and_clear();
    Ok(results)
}

/// A flow on its way.
struct Runner {
    watch: Arc<Watch>,
    thread: JoinHandle<Result<Run>>,
}

impl Runner {
    fn start(name: SideName, seed: u64, ground: &Ground) -> Result<Self> {
        let watch = Arc::new(Watch::default());
        let workload = Arc::new(Workload::new(seed, SIZE));
        let job = Job { workload, records: u64::MAX, ground: ground.clone(), watch: Arc::clone(&watch) };
        let thread = thread::Builder::new().name("flow".into()).spawn(move || name.side().run(&job))?;
        Ok(Self { watch, thread })
    }

    fn join(self) -> Result<Run> {
        self.thread.join().map_err(|_| anyhow!("a flow panicked"))?
    }
}

impl Flow {
    fn new(index: usize, samples: &[(f64, Vec<u64>)], first: usize, lasted: f64, run: &Run) -> Self {
        let bits = |records: u64| records as f64 * SIZE as f64 * 8.0;
        let received = |at: usize| samples[at].1[index];
        let series = samples.windows(2).map(|pair| {
            let [before, after] = [&pair[0], &pair[1]];
            (after.0, bits(after.1[index] - before.1[index]) / (after.0 - before.0))
        });
        let rate = bits(received(samples.len() - 1) - received(first)) / lasted;
        Self { rate, series: series.collect(), wrong: run.checked.wrong }
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
