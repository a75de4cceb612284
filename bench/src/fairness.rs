//! `fairness`: flows that share one bottleneck.
//!
//! So many Tallylink flows as TCP flows with CUBIC, and as many Tallylink flows again in their place, start together and send as
//! fast as they can through one slow link with a queue of what the path holds. After the warm-up it is counted what each brought to
//! its receiver, how full the link was, and how long packets waited.

mod contest;
mod figures;
mod plot;

use std::{path::PathBuf, time::Duration};

use anyhow::Result;
use clap::Args;

use self::contest::Contest;
use crate::{lab::milliseconds, machine::Machine, options::Output, report, transport::sides::SideName};

/// The name in result lines.
const BENCH: &str = "fairness";

#[derive(Args)]
pub(crate) struct Arguments {
    /// Runs; every figure is the median of them.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// How long flows are watched in a run, after the warm-up.
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,
    /// How long flows have run when it begins to count.
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=3_600))]
    warm_up: u64,
    /// Tallylink flows; one case each.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4], value_parser = clap::value_parser!(u8).range(1..=32))]
    flows: Vec<u8>,
    /// Who they share with.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [SideName::Tcp, SideName::TallylinkGcm])]
    against: Vec<SideName>,
    /// Mbit/s of the bottleneck; one case each.
    #[arg(long, value_delimiter = ',', default_values_t = [10, 100], value_parser = clap::value_parser!(u64).range(1..=1_000))]
    rate_mbit: Vec<u64>,
    /// Delay of each direction.
    #[arg(long, default_value_t = 20.0)]
    delay_ms: f64,
    /// Decides the content of every record.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One short run of each case, to try things out: the figures mean little.
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    output: Output,
    /// Draw the rates of each case's last run over time [default: beside what --save writes].
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let contests = arguments.contests();
    let results = contest::all(&contests, arguments.rounds(), arguments.seed)?;
    let figures = figures::figures(&results);
    let beside = arguments.output.save.as_ref().map(|path| path.with_extension("svg"));
    if let Some(path) = arguments.plot.as_ref().or(beside.as_ref()) {
        plot::rates(path, &results)?;
    }
    let machine = Machine::here(arguments.seed, arguments.rounds(), arguments.quick);
    report::publish(BENCH, machine, &figures, || figures::marks(&contests), &arguments.output)
}

impl Arguments {
    fn contests(&self) -> Vec<Contest> {
        let (warm_up, seconds) = if self.quick { (2, 5) } else { (self.warm_up, self.seconds) };
        let mut contests = Vec::new();
        for &rate_mbit in &self.rate_mbit {
            for &against in &self.against {
                contests.extend(self.flows.iter().map(|&flows| Contest {
                    flows,
                    against,
                    rate: rate_mbit * 1_000_000,
                    delay: milliseconds(self.delay_ms),
                    warm_up: Duration::from_secs(warm_up),
                    watched: Duration::from_secs(seconds),
                }));
            }
        }
        contests
    }

    fn rounds(&self) -> u32 {
        if self.quick { 1 } else { self.runs }
    }
}
