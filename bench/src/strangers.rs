//! `strangers`: what a gateway makes of datagrams from whoever holds no key of it.
//!
//! A gateway runs in a process of its own, on a journal of its own, and is given what it should not fall for: a wrong key,
//! an unknown peer, the capture of a whole earlier session, and random datagrams, many of which begin as real ones do. Each
//! time nothing new may be stored, its memory may not grow, it may not send more bytes than it got, and each
//! datagram must be counted under the name of a reason. Then floods of all of it come from thousands of addresses while a peer's records wait
//! to be stored, and what devices and gateways send comes back to them.

mod attack;
mod figures;
mod flood;
pub(crate) mod gateway;
mod mirror;
mod noise;
mod play;
mod relay;

use anyhow::Result;
use clap::Args;

pub(crate) use gateway::Tallylink;

use crate::{machine::Machine, options::Output, report};

/// The name in result lines.
const BENCH: &str = "strangers";
/// Random datagrams, where nothing else is asked for; fewer are a quick run.
const DATAGRAMS: u64 = 1_000_000;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Random datagrams that the gateway must have seen, and as many again at half the rate at which it takes them.
    #[arg(long, default_value_t = DATAGRAMS, value_parser = clap::value_parser!(u64).range(1_000..))]
    datagrams: u64,
    /// Decides what is in them.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: Output,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let attacks = play::all(arguments.datagrams, arguments.seed)?;
    let (floods, mirrored) = (flood::all(arguments.datagrams, arguments.seed)?, mirror::all()?);
    let mut figures = figures::figures(&attacks);
    figures.extend(figures::of_floods(&floods, &mirrored));
    let machine = Machine::here(arguments.seed, 1, arguments.datagrams < DATAGRAMS);
    report::publish(
        BENCH,
        machine,
        &figures,
        || [figures::marks(&attacks), figures::marks_of_floods()].concat(),
        &arguments.output,
    )
}
