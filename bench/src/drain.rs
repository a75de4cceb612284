//! `drain`: a full outbox on disk, a gateway that is started, and how long until everything is in its journal.
//!
//! Two processes, each with what its users get: a sender that opens an outbox which an earlier process filled, and a gateway
//! that confirms only what an fdatasync of a real disk covers. Beside it, in the same rounds, quinn moves the same bytes from
//! process to process and stores nothing; and the same bytes are only written to the same disk and synced, in groups of three
//! sizes. What bounds a durable transfer is the slower of these two: that is what Tallylink is compared with.

pub(crate) mod cpu;
mod disk;
mod figures;
mod quinn;
mod rounds;
mod tallylink;

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context, Result};
use clap::Args;

pub(crate) use self::{quinn::QuinnRole, tallylink::DrainRole};
use self::{rounds::Rounds, tallylink::SIDE};
use crate::{
    machine::Machine,
    marks::{Bound, Mark},
    options::Options,
    report,
    transport::side::Job,
    workload::Workload,
};

/// The name in result lines.
const BENCH: &str = "drain";

/// Of what the disk takes when nothing else is done.
const OF_THE_DISK: f64 = 0.9;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Records of the first size; of the others as many as have the same bytes.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    records: u64,
    /// Bytes of a record; one case each.
    #[arg(long, value_delimiter = ',', default_values_t = [61, 1_013, 16_013])]
    sizes: Vec<u32>,
    /// On the disk to be measured: outboxes and journals are made there, and removed [default: where temporary files are].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// One size of record.
struct Case {
    name: String,
    job: Job,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let options = &arguments.options;
    let first = arguments.sizes.first().copied().unwrap_or(1).max(1);
    let records = if options.quick { arguments.records.div_ceil(20) } else { arguments.records };
    let bytes = records.saturating_mul(first.into());
    let mut cases = Vec::new();
    for &size in &arguments.sizes {
        let len = usize::try_from(size).context("a record size that this machine cannot hold")?;
        let workload = Arc::new(Workload::new(options.seed, len));
        let job = Job::over_loopback(workload, (bytes / u64::from(size.max(1))).max(1));
        cases.push(Case { name: format!("{size} B"), job });
    }
    let dir = arguments.dir.clone().unwrap_or_else(std::env::temp_dir);
    let measured = Rounds { cases: &cases, rounds: options.rounds, dir: &dir, seed: options.seed }.measure()?;
    let figures: Vec<_> = measured.iter().flat_map(figures::figures).collect();
    let machine = Machine::here(options.seed, options.rounds, options.quick);
    report::publish(BENCH, machine, &figures, || marks(&cases), &options.output)
}

/// Everything arrives, and as fast as the slower of quinn and the disk alone lets it.
fn marks(cases: &[Case]) -> Vec<Mark> {
    let of = |case: &Case| {
        let mark =
            |metric: &str, bound| Mark { case: case.name.clone(), side: SIDE.into(), metric: metric.into(), bound };
        [mark(figures::ERRORS, Bound::AtMost(0.0)), mark(figures::RATE, Bound::RatioAtLeast(1.0))]
    };
    cases.iter().flat_map(of).collect()
}
