//! `disk-faults`: what a gateway makes of a disk that fails.
//!
//! For each fault a gateway runs in a process of its own while records flow through it. strace makes a call fail or
//! take long, or the directory is taken away; then everything that was given must be stored once, and in order, by that
//! gateway or, where it ended with an exit code, by the next.

mod figures;
mod grid;
mod strace;
mod trial;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::{machine::Machine, marks, options::Options, report::Report};

/// The name in result lines.
const BENCH: &str = "disk-faults";

#[derive(Args)]
pub(crate) struct Arguments {
    /// Only faults whose name or place contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// One JSON object a line instead of tables.
    #[arg(long)]
    json: bool,
    /// Fail when a mark is missed; prints the worst figure last.
    #[arg(long)]
    check: bool,
    /// Write the JSON lines to this file, too.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
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
    let mut report = Report::new(BENCH, Machine::here(&arguments.options()), &figures);
    let mut passed = true;
    if arguments.check {
        let verdict = marks::judge(&figures::marks(&outcomes), &figures);
        passed = verdict.passed();
        report.conclude(BENCH, verdict);
    }
    if let Some(path) = &arguments.save {
        report.save(path)?;
    }
    report.print(arguments.json)?;
    Ok(passed)
}

impl Arguments {
    /// As result lines tell them: there is one round, and no chance in it.
    fn options(&self) -> Options {
        Options {
            rounds: 1,
            seed: 0,
            quick: self.only.is_some(),
            json: self.json,
            check: self.check,
            save: self.save.clone(),
        }
    }
}
