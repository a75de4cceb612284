//! `backlog`: whether what a record costs depends on how many wait behind it.
//!
//! A sender's ring is filled with a million or ten million records; then a million of them are sent, received and confirmed,
//! both ends on one thread, over loopback. The ring has the same size in both cases, and memory that was used before. Counted
//! are the CPU of that thread, the kernel's part included, and, under valgrind, the instructions of both ends in memory.
mod count;
pub(crate) mod drain;

use anyhow::Result;
use clap::Args;

pub(crate) use count::BacklogRole;

use crate::{
    clock,
    machine::Machine,
    marks::{Bound, Mark},
    options::Options,
    report::{self, Figure},
    statistics::median,
};

/// The name in result lines.
const BENCH: &str = "backlog";
const CASE: &str = "61 B";
/// Bytes of a record.
const RECORD: usize = 61;
/// Records that wait: the reference, and what is compared with it.
const QUEUED: [u64; 2] = [1_000_000, 10_000_000];
/// Of them are drained.
const DRAINED: u64 = 1_000_000;
const DRAINED_QUICK: u64 = 100_000;

const CPU: &str = "cpu_per_record";
const INSTRUCTIONS: &str = "instructions_per_record";

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let options = &arguments.options;
    let drained = if options.quick { DRAINED_QUICK } else { DRAINED };
    let mut rounds = [const { Vec::new() }; QUEUED.len()];
    for _ in 0..options.rounds {
        for (queued, costs) in QUEUED.into_iter().zip(&mut rounds) {
            let drain::Drained { spent, records, .. } = drain::run(queued, drained, options.seed, clock::thread_cpu)?;
            costs.push(spent.as_nanos() as f64 / records as f64);
        }
    }
    let mut figures = Vec::new();
    let mut compare = |metric: &str, unit: &str, values: [f64; QUEUED.len()]| {
        for (queued, value) in QUEUED.into_iter().zip(values) {
            let (bench, case, side) = (BENCH.into(), CASE.into(), side(queued));
            let ratio = (queued != QUEUED[0]).then_some(value / values[0]);
            figures.push(Figure { bench, case, side, metric: metric.into(), value, unit: unit.into(), ratio });
        }
    };
    compare(CPU, "ns", rounds.map(median));
    let [few, many] = QUEUED.map(|queued| count::instructions(queued, options.seed));
    if let (Some(few), Some(many)) = (few?, many?) {
        compare(INSTRUCTIONS, "", [few, many]);
    }
    let machine = Machine::here(options.seed, options.rounds, options.quick);
    report::publish(BENCH, machine, &figures, || marks(&figures), &options.output)
}

/// Instructions are judged where valgrind counted them.
fn marks(figures: &[Figure]) -> Vec<Mark> {
    let mark = |metric: &str, most| Mark {
        case: CASE.into(),
        side: side(QUEUED[1]),
        metric: metric.into(),
        bound: Bound::RatioAtMost(most),
    };
    let counted = figures.iter().any(|figure| figure.metric == INSTRUCTIONS);
    let instructions = counted.then(|| mark(INSTRUCTIONS, 1.01));
    [mark(CPU, 1.05)].into_iter().chain(instructions).collect()
}

fn side(queued: u64) -> String {
    format!("{} million queued", queued / 1_000_000)
}

/// A sender's ring, in either case: it holds the larger backlog.
const fn ring_bytes() -> u32 {
    (QUEUED[1] as usize * (RECORD + 1) + (8 << 20)) as u32
}
