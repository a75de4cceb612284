//! `path`: what happens to a transfer when its path changes, or is said to.
//!
//! - `shrink`: the path's MTU falls from 1,500 to 1,280 and nobody says so; later it is 1,500 again.
//! - `forged`: someone elsewhere quotes the sender's own packets in ICMP messages that ask for an MTU of 68, 600 or 1,280.
//! - `moves`: the sender's outer address changes five times, while old packets of it are replayed from elsewhere.
//!
//! Each is played over IPv4 and over IPv6, in a network of the lab.

mod figures;
mod forged;
mod moves;
mod shrink;
mod transfer;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::{machine::Machine, options::Options, report};

/// The name in result lines.
const BENCH: &str = "path";

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// What to play.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Trial::Shrink, Trial::Forged, Trial::Moves])]
    trials: Vec<Trial>,
    /// UDP payload that Tallylink begins with: what it must find out by itself is the rest.
    #[arg(long, value_name = "B", default_value_t = 1_200, value_parser = clap::value_parser!(u16).range(1_200..=1_452))]
    initial_datagram: u16,
    /// How long a shrunk path that is wide again is given to be found so.
    #[arg(long, value_name = "S", default_value_t = 120)]
    grow_seconds: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Trial {
    /// The MTU falls without a word, and rises again.
    Shrink,
    /// Forged messages ask for a smaller MTU.
    Forged,
    /// The sender's address changes.
    Moves,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let options = &arguments.options;
    let mut found = figures::Found::default();
    for trial in &arguments.trials {
        for v6 in [false, true] {
            let stage = transfer::Stage::new(arguments, v6);
            match trial {
                Trial::Shrink => shrink::play(&stage, arguments.grow_seconds, &mut found)?,
                Trial::Forged => forged::play(&stage, &mut found)?,
                Trial::Moves => moves::play(&stage, &mut found)?,
            }
        }
    }
    let machine = Machine::here(options.seed, options.rounds, options.quick);
    report::publish(BENCH, machine, &found.figures, || found.marks, &options.output)
}
