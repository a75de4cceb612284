//! `raw-peer`: what an endpoint makes of a peer that holds a valid key and keeps to no other rule.
//!
//! Each attack of `tallylink_sim::hostile` is played against a real endpoint in memory, which serves another peer all the while. What
//! the attack does is the same each time; so each datagram's cost is the least of several runs, which leaves out what the
//! machine did meanwhile, and the attack's is that of its worst datagram. All of its datagrams must come to what is
//! expected of them, under the name of a discard or of the fault that ended the session.

mod figures;
mod play;

use anyhow::Result;
use clap::Args;

use crate::{machine::Machine, options::Output, report};

/// The name in result lines.
const BENCH: &str = "raw-peer";
/// Runs of each attack.
const RUNS: u32 = 5;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Runs of each attack; a datagram's cost is the least of them.
    #[arg(long, default_value_t = RUNS, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    runs: u32,
    /// Only attacks with this in their name.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let played = play::all(arguments.runs, arguments.only.as_deref())?;
    let machine = Machine::here(0, arguments.runs, arguments.runs < RUNS || arguments.only.is_some());
    report::publish(BENCH, machine, &figures::figures(&played), || figures::marks(&played), &arguments.output)
}
