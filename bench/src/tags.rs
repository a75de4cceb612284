//! `tags`: whether the time of refusing a packet tells a forger where its tag went wrong.
//!
//! A packet is opened with a tag of which one byte is wrong: the first, one in the middle, or the last. valgrind counts the
//! instructions, which is exact where a clock would only guess: a comparison that stops at the first difference needs fewer for the
//! first byte than for the last.

mod refuse;

use anyhow::Result;
use clap::Args;

pub(crate) use refuse::RefuseRole;

use self::refuse::{Backend, SUITES};
use crate::{
    machine::Machine,
    marks::{Bound, Mark},
    options::Output,
    report::{self, Figure},
};

/// The name in result lines.
const BENCH: &str = "tags";
/// Where the tag is wrong.
const WRONG: [(&str, usize); 3] = [("first byte wrong", 0), ("middle byte wrong", 7), ("last byte wrong", 15)];
/// The most by which they differ.
const DIFFERENCE: &str = "difference";

#[derive(Args)]
pub(crate) struct Arguments {
    /// Decides key and packet.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: Output,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let mut figures = Vec::new();
    for backend in Backend::ALL {
        for (suite, name) in SUITES {
            let mut figure = |side: &str, value| {
                let (bench, case, metric) =
                    (BENCH.into(), "instructions of refusing a packet".into(), metric(backend, name));
                figures.push(Figure {
                    bench,
                    case,
                    side: side.into(),
                    metric,
                    value,
                    unit: String::new(),
                    ratio: None,
                });
            };
            let (mut least, mut most) = (u64::MAX, 0);
            for (side, wrong) in WRONG {
                let counted = refuse::instructions(backend, suite, wrong, arguments.seed)?;
                figure(side, counted as f64);
                (least, most) = (least.min(counted), most.max(counted));
            }
            figure(DIFFERENCE, (most - least) as f64);
        }
    }
    let machine = Machine::here(arguments.seed, 1, false);
    report::publish(BENCH, machine, &figures, || marks(&figures), &arguments.output)
}

fn metric(backend: Backend, suite: &str) -> String {
    format!("{}, {suite}", backend.name())
}

fn marks(figures: &[Figure]) -> Vec<Mark> {
    let of = |figure: &Figure| {
        let (case, side, metric) = (figure.case.clone(), figure.side.clone(), figure.metric.clone());
        // What is counted at all is more than nothing.
        Mark {
            case,
            side,
            metric,
            bound: if figure.side == DIFFERENCE { Bound::AtMost(0.0) } else { Bound::AtLeast(1.0) },
        }
    };
    figures.iter().map(of).collect()
}
