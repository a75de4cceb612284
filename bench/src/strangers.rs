//! `strangers`: what a gateway makes of datagrams from whoever holds no key of it.
//!
//! A gateway runs in a process of its own, on a journal of its own, and is given what it should not fall for: a wrong key,
//! an unknown peer, the capture of a whole earlier session, and random datagrams, many of which begin as real ones do. Each
//! time nothing new may be stored, its memory may not grow, it may not send more bytes than it got, and each
//! datagram must be counted under the name of a reason.

mod attack;
mod figures;
pub(crate) mod gateway;
mod noise;
mod play;
mod relay;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

pub(crate) use gateway::Tallylink;

use crate::{machine::Machine, marks, options::Options, report::Report};

/// The name in result lines.
const BENCH: &str = "strangers";
/// Random datagrams, where nothing else is asked for; fewer are a quick run.
const DATAGRAMS: u64 = 1_000_000;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Random datagrams that the gateway must have seen.
    #[arg(long, default_value_t = DATAGRAMS, value_parser = clap::value_parser!(u64).range(1_000..))]
    datagrams: u64,
    /// Decides what is in them.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One JSON object a line instead of a table.
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
    let attacks = play::all(arguments.datagrams, arguments.seed)?;
    let figures = figures::figures(&attacks);
    let mut report = Report::new(BENCH, Machine::here(&arguments.options()), &figures);
    let mut passed = true;
    if arguments.check {
        let verdict = marks::judge(&figures::marks(&attacks), &figures);
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
    /// As result lines tell them: there is one round.
    fn options(&self) -> Options {
        Options {
            rounds: 1,
            seed: self.seed,
            quick: self.datagrams < DATAGRAMS,
            json: self.json,
            check: self.check,
            save: self.save.clone(),
        }
    }
}
