//! `faults`: what a gateway and its senders make of a machine that fails elsewhere than at its disk.
//!
//! A gateway, a sender with an outbox and a neighbour of it work in network namespaces of their own while, for each fault, a
//! socket call fails, a way is shut, a process stands still, a clock jumps, descriptors run out, the log's disk is full or an
//! address goes. Everything must be stored once and in order, nobody may spin meanwhile, and where the fault is one sender's,
//! the neighbour must not notice.

mod figures;
mod grid;
mod neighbour;
mod shim;
mod stage;
mod strike;
mod trial;
mod world;

use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Args;

use crate::{machine::Machine, options::Output, report, strace};

/// The name in result lines.
const BENCH: &str = "faults";

#[derive(Args)]
pub(crate) struct Arguments {
    /// How long each fault lasts.
    #[arg(long, value_name = "S", default_value_t = 5, value_parser = clap::value_parser!(u64).range(2..))]
    seconds: u64,
    /// How long a process stands still.
    #[arg(long, value_name = "S", default_value_t = 120, value_parser = clap::value_parser!(u64).range(2..))]
    stopped: u64,
    /// Decides in which order the faults come.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only faults whose name or place contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    strace::needed()?;
    let wanted = |fault: &grid::Fault| {
        arguments.only.as_ref().is_none_or(|only| fault.name.contains(only) || fault.place().contains(only))
    };
    let faults: Vec<_> = grid::all().into_iter().filter(wanted).collect();
    ensure!(!faults.is_empty(), "no fault has such a name or place");
    let mut outcomes: Vec<_> = faults.iter().map(|_| None).collect();
    for at in grid::order(faults.len(), arguments.seed) {
        let fault = &faults[at];
        let seconds = if fault.is_stop() { arguments.stopped } else { arguments.seconds };
        let outcome = trial::of(fault, Duration::from_secs(seconds))?;
        eprintln!("{}: {}: {outcome}", fault.place(), fault.name);
        outcomes[at] = Some(outcome);
    }
    let outcomes: Vec<_> = faults.into_iter().zip(outcomes.into_iter().flatten()).collect();
    let figures = figures::figures(&outcomes);
    let machine = Machine::here(arguments.seed, 1, arguments.only.is_some() || arguments.stopped < 120);
    report::publish(BENCH, machine, &figures, || figures::marks(&outcomes), &arguments.output)
}
