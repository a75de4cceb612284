//! `disk-faults`: what a gateway makes of a disk that fails.
//!
//! For each fault a gateway runs in a process of its own while records flow through it. strace makes a call fail or
//! take long, or the directory is taken away; then everything that was given must be stored once, and in order, by that
//! gateway or, where it ended with an exit code, by the next.

mod figures;
mod grid;
mod trial;

use anyhow::Result;
use clap::Args;

use crate::{machine::Machine, options::Output, report, strace};

/// The name in result lines.
const BENCH: &str = "disk-faults";

#[derive(Args)]
pub(crate) struct Arguments {
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
        arguments.only.as_ref().is_none_or(|only| fault.name.contains(only) || fault.place.name().contains(only))
    };
    let mut outcomes = Vec::new();
    for fault in grid::all().into_iter().filter(wanted) {
        let outcome = trial::of(&fault)?;
        eprintln!("{}: {}: {outcome}", fault.place.name(), fault.name);
        outcomes.push((fault, outcome));
    }
    let figures = figures::figures(&outcomes);
    let machine = Machine::here(0, 1, arguments.only.is_some());
    report::publish(BENCH, machine, &figures, || figures::marks(&outcomes), &arguments.output)
}
