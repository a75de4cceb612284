//! Options that subcommands share: `Options` those that measure in rounds, `Output` all that report.
use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
pub(crate) struct Options {
    /// Rounds; every figure is the median of them.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) rounds: u32,
    /// Decides the content of every record.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Short runs, to try things out: the figures mean little.
    #[arg(long)]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Where results go, and whether they are judged.
#[derive(Args)]
pub(crate) struct Output {
    /// One JSON object a line instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
    /// Fail when a mark is missed; prints the worst figure last.
    #[arg(long)]
    pub(crate) check: bool,
    /// Write the JSON lines to this file, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
}
