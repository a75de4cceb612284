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
use crate::{lab::milliseconds, machine::Machine, marks, options::Options, report::Report, transport::sides::SideName};

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
    /// One JSON object a line instead of tables.
    #[arg(long)]
    json: bool,
    /// Fail when a mark is missed; prints the worst figure last.
    #[arg(long)]
    check: bool,
    /// Write the JSON lines to this file, too, and the plot beside it.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Draw the rates of each case's last run over time.
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let contests = arguments.contests();
    let options = arguments.options();
    let results = contest::all(&contests, &options)?;
    let figures = figures::figures(&results);
    let mut report = Report::new(BENCH, Machine::here(&options), &figures);
    let mut passed = true;
    if options.check {
        let verdict = marks::judge(&figures::marks(&contests), &figures);
        passed = verdict.passed();
        report.conclude(BENCH, verdict);
    }
    if let Some(path) = &options.save {
        report.save(path)?;
    }
    let beside = options.save.as_ref().map(|path| path.with_extension("svg"));
    if let Some(path) = arguments.plot.as_ref().or(beside.as_ref()) {
        plot::rates(path, &results)?;
    }
    report.print(options.json)?;
    Ok(passed)
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

    fn options(&self) -> Options {
        Options {
            rounds: if self.quick { 1 } else { self.runs },
            seed: self.seed,
            quick: self.quick,
            json: self.json,
            check: self.check,
            save: self.save.clone(),
        }
    }
}
