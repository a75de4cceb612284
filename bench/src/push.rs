//! `push`: what it costs a thread to insert a record while the link sends the ones before it.
//!
//! Records go in one at a time and in batches; into a [`Stream`](tallylink_linux::sender::Stream), which a thread of its own
//! sends, and into a [`Network`](tallylink_linux::Network), which the same thread drives in between. The ring has wrapped
//! before anything is measured. Counted are the CPU of the thread inside of those calls and, under valgrind, the
//! instructions, which do not depend on the machine's mood.

mod count;
mod link;
mod run;

use anyhow::Result;
use clap::Args;

pub(crate) use run::PushRole;

use self::run::{How, Target};
use crate::{
    machine::Machine,
    marks::{Bound, Mark},
    options::Options,
    report::{self, Figure},
    statistics::median,
};

/// The name in result lines.
const BENCH: &str = "push";
/// Bytes of a record.
const RECORD: usize = 61;
/// Records that are inserted at a stretch.
const BURST: u64 = 1024;

const CPU: &str = "cpu_per_record";
const INSTRUCTIONS: &str = "instructions_per_record";
/// Nanoseconds of a record, at the most.
const CPU_BUDGETS: [(How, f64); 2] = [(How::Single, 40.0), (How::Batch, 10.0)];
/// Its instructions, at the most: what was counted (110, 69.5, 284 and 69.7), and a twentieth more.
const INSTRUCTION_BUDGETS: [(Target, How, f64); 4] = [
    (Target::Stream, How::Single, 116.0),
    (Target::Stream, How::Batch, 73.0),
    (Target::Network, How::Single, 298.0),
    (Target::Network, How::Batch, 73.5),
];

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Records of a run, rounded up to bursts of 1,024.
    #[arg(long, default_value_t = 4_000_000, value_parser = clap::value_parser!(u64).range(1_024..=1_000_000_000))]
    records: u64,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let options = &arguments.options;
    let records = if options.quick { arguments.records.div_ceil(20) } else { arguments.records };
    let bursts = records.div_ceil(BURST);
    let mut figures = Vec::new();
    let ways = Target::ALL.into_iter().flat_map(|into| How::ALL.map(|how| (into, how)));
    let mut rounds = vec![Vec::new(); Target::ALL.len() * How::ALL.len()];
    for _ in 0..options.rounds {
        for ((into, how), costs) in ways.clone().zip(&mut rounds) {
            costs.push(run::measure(into, how, bursts, options.seed)?);
        }
    }
    for ((into, how), costs) in ways.zip(rounds) {
        let mut figure = |metric: &str, unit: &str, value| {
            let (bench, case, side) = (BENCH.into(), into.name().into(), how.name().into());
            figures.push(Figure { bench, case, side, metric: metric.into(), value, unit: unit.into(), ratio: None });
        };
        figure(CPU, "ns", median(costs));
        if let Some(instructions) = count::instructions(into, how, options.seed)? {
            figure(INSTRUCTIONS, "", instructions);
        }
    }
    let machine = Machine::here(options.seed, options.rounds, options.quick);
    report::publish(BENCH, machine, &figures, || marks(&figures), &options.output)
}

/// Instructions are judged where valgrind counted them.
fn marks(figures: &[Figure]) -> Vec<Mark> {
    let most = |figure: &Figure| {
        if figure.metric == CPU {
            return CPU_BUDGETS.iter().find(|(how, _)| how.name() == figure.side).map(|(_, most)| *most);
        }
        let of = |(into, how, _): &&(Target, How, f64)| into.name() == figure.case && how.name() == figure.side;
        INSTRUCTION_BUDGETS.iter().find(of).map(|(.., most)| *most)
    };
    let mark = |figure: &Figure| {
        let (case, side, metric) = (figure.case.clone(), figure.side.clone(), figure.metric.clone());
        Some(Mark { case, side, metric, bound: Bound::AtMost(most(figure)?) })
    };
    figures.iter().filter_map(mark).collect()
}
