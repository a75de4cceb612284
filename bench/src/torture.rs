//! `torture`: pull the plug a thousand times.
//!
//! ```text
//! sender processes ──> relay (loses, reorders, doubles) ──> gateway process ──> journal
//!   ^ SIGKILL                                                 ^ SIGKILL
//! ```
//!
//! The processes are this program once more, in the roles of a gateway and of senders, and run the code that users run. They
//! are killed at seeded random moments, either side or both at once, and started again. In one kind of world their files are
//! the real ones: what a process wrote outlives it. In the other they keep their files in a store that lacks what was not
//! synced, so that a kill is a power cut, torn and reordered; mixed with kills that the page cache outlives.
//!
//! After each death of a gateway, what it left is recovered in memory and compared with what senders were told; at the end, all
//! of it. Moments are drawn from the seed, but processes are not: a failure may need several runs to return.

mod check;
mod contents;
mod deaths;
mod figures;
mod gateway;
mod left;
mod model;
mod sender;
mod terms;
mod world;

use std::{
    num::NonZero,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

pub(crate) use self::{gateway::GatewayRole, sender::SenderRole};
use self::{
    terms::{Disk, Terms},
    world::{Outcome, World},
};
use crate::{machine::Machine, options::Output, report};

/// The name in result lines.
const BENCH: &str = "torture";

/// Deaths in one world: enough for a history, few enough that its journal is checked in milliseconds.
const DEATHS_OF_A_WORLD: u32 = 25;
/// They mostly wait, so there are more of them than cores.
const WORLDS_PER_CORE: usize = 2;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Kills of processes that keep their files in a real directory.
    #[arg(long, default_value_t = 60)]
    kills: u32,
    /// Kills that take with them what was not synced.
    #[arg(long, default_value_t = 200)]
    power_cuts: u32,
    /// Decides who dies when, and all contents.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Lets every sync at SITE do nothing, to show that it is needed: records are lost then.
    #[arg(long, value_name = "SITE", value_parser = terms::parse_site)]
    ignore: Option<tallylink_journal::SyncSite>,
    #[command(flatten)]
    output: Output,
}

/// Whether nothing was lost, repeated, altered or out of order.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let all = arguments.terms();
    let outcomes = Worlds::new(&all)?.run()?;
    let figures = figures::figures(&outcomes);
    let quick = arguments.kills < 300 || arguments.power_cuts < 1_000;
    let machine = Machine::here(arguments.seed, 1, quick);
    let mut whole = report::publish(BENCH, machine, &figures, || figures::marks(&outcomes), &arguments.output)?;
    for outcome in &outcomes {
        if let Some(complaint) = outcome.complaint() {
            whole = false;
            eprintln!("world {} (seed {}): {complaint}", outcome.terms.number, arguments.seed);
            if arguments.ignore.is_none() {
                eprintln!("  what is left of it is in {}", outcome.dir.display());
            }
        }
    }
    Ok(whole)
}

impl Arguments {
    fn terms(&self) -> Vec<Terms> {
        let mut all = Vec::new();
        for (disk, deaths) in [(Disk::Files, self.kills), (Disk::Volatile, self.power_cuts)] {
            let mut left = deaths;
            while left > 0 {
                let mine = left.min(DEATHS_OF_A_WORLD);
                left -= mine;
                all.push(Terms::draw(self.seed, all.len() as u32, disk, mine, self.ignore));
            }
        }
        all
    }
}

/// All worlds, several at a time, until one of them breaks.
struct Worlds<'a> {
    all: &'a [Terms],
    next: AtomicUsize,
    over: AtomicBool,
    outcomes: Mutex<Vec<Outcome>>,
    progress: ProgressBar,
}

impl<'a> Worlds<'a> {
    fn new(all: &'a [Terms]) -> Result<Self> {
        let deaths = all.iter().map(|terms| u64::from(terms.deaths)).sum();
        let style = ProgressStyle::with_template("{bar:40} {pos} of {len} deaths  {elapsed}  {msg}")?;
        Ok(Self {
            all,
            next: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            outcomes: Mutex::new(Vec::new()),
            progress: ProgressBar::new(deaths).with_style(style),
        })
    }

    fn run(self) -> Result<Vec<Outcome>> {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let failed = thread::scope(|scope| {
            let workers: Vec<_> = (0..cores * WORLDS_PER_CORE).map(|_| scope.spawn(|| self.work())).collect();
            let ended = workers.into_iter().map(|worker| worker.join().unwrap_or(Err(anyhow!("a thread panicked"))));
            ended.filter_map(Result::err).next()
        });
        self.progress.finish_and_clear();
        let mut outcomes = self.outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        outcomes.sort_by_key(|outcome| outcome.terms.number);
        match failed {
            // A broken world explains more than what failed beside it.
            Some(error) if outcomes.iter().all(|outcome| outcome.complaint().is_none()) => Err(error),
            _ => Ok(outcomes),
        }
    }

    fn work(&self) -> Result<()> {
        while let Some(terms) = self.all.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            if self.over.load(Ordering::Relaxed) {
                break;
            }
            let live = || World::begin(terms)?.live(&self.over, &self.progress);
            let outcome = live().with_context(|| format!("world {}", terms.number));
            if outcome.as_ref().map_or(true, |outcome| outcome.complaint().is_some()) {
                self.over.store(true, Ordering::Relaxed);
            }
            self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).push(outcome?);
        }
        Ok(())
    }
}
