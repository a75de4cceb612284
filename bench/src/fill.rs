//! `fill`: what it takes to have a backlog on disk in a sender's outbox, while no gateway is there.
//!
//! Every record is pushed, and one flush at the end waits until all are durable. Beside it, in the same rounds and on the
//! same file system, the same bytes are only written to a file, 1 MiB at a time, and synced once. Bytes written are the
//! process's own, as the kernel accounts them, in outbox and file alike.

mod figures;
mod rounds;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::{
    machine::Machine,
    marks::{Bound, Mark},
    options::Options,
    report,
    workload::Workload,
};
use rounds::{Case, SIDES, Side};

/// The name in result lines.
const BENCH: &str = "fill";

/// Time to fill an outbox, as a share of the time to only write and sync the same bytes.
const TIME_BUDGET: f64 = 1.5;
/// Bytes written for each byte of record.
const WRITTEN_BUDGET: f64 = 1.1;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Where to write; the system's directory for temporary files without it.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let options = &arguments.options;
    let cases: Vec<_> = [(1_000_000, 61), (5_000, 16 << 10)]
        .into_iter()
        .map(|(records, bytes)| Case {
            name: format!("{records} × {bytes} B"),
            records: if options.quick { records / 10 } else { records },
            workload: Workload::new(options.seed, bytes),
        })
        .collect();
    let measured = rounds::measure(&cases, options.rounds, arguments.dir.as_deref())?;
    let figures: Vec<_> = measured.iter().flat_map(figures::figures).collect();
    let machine = Machine::here(options.seed, options.rounds, options.quick);
    report::publish(BENCH, machine, &figures, || marks(&cases), &options.output)
}

fn marks(cases: &[Case]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for case in cases {
        for side in SIDES.into_iter().filter(|side| *side != Side::File) {
            let mut mark = |metric: &str, bound| {
                marks.push(Mark { case: case.name.clone(), side: side.name().into(), metric: metric.into(), bound });
            };
            mark(figures::TIME, Bound::RatioAtMost(TIME_BUDGET));
            mark(figures::WRITTEN, Bound::AtMost(WRITTEN_BUDGET));
        }
    }
    marks
}
