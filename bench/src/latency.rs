//! `latency`: how long it takes from a push to RECEIVED and to STORED, with nothing else to do and beside a sender at full speed.
//!
//! The gateway is a process of its own on a real disk, as it is by default: it waits 2 ms for more before it syncs. The sender
//! pushes a record of 61 B every 2 ms on average, at moments that the seed decides. Over loopback; what the path takes is to be
//! added.

mod pulse;

use anyhow::{Context, Result};
use clap::Args;

use crate::{
    machine::Machine,
    many::{Fast, provision},
    marks::{Bound, Mark},
    options::Options,
    report::{self, Figure},
    statistics::{median, percentile},
    strangers::gateway::{Gateway, Home},
};
pub(crate) use pulse::Pulse;
use pulse::Seen;

/// The name in result lines.
const BENCH: &str = "latency";
const CASES: [&str; 2] = ["idle", "beside a sender at full speed"];
const ERRORS: &str = "sessions_ended";

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Records of each half of a round.
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(100..=10_000_000))]
    records: u64,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let options = &arguments.options;
    let records = if options.quick { arguments.records.div_ceil(10) } else { arguments.records };
    let home = Home::new()?;
    let mut keys = provision(&home, 2)?;
    let gateway = Gateway::start(&home)?;
    let (of_fast, of_pulse) = (keys.pop().context("a key")?, keys.pop().context("a key")?);
    let mut pulse = Pulse::start(&of_pulse, gateway.address, options.seed)?;
    let (mut idle, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        idle.push(pulse.beat(records)?);
        let fast = Fast::start(&of_fast, gateway.address)?;
        // Until its window has grown.
        pulse.beat(records / 10)?;
        beside.push(pulse.beat(records)?);
        fast.stop()?;
    }
    let figures: Vec<_> = CASES.into_iter().zip([idle, beside]).flat_map(|(case, seen)| figures(case, &seen)).collect();
    let machine = Machine::here(options.seed, options.rounds, options.quick);
    report::publish(BENCH, machine, &figures, marks, &options.output)
}

fn figures(case: &str, rounds: &[Seen]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for side in ["RECEIVED", "STORED"] {
        let values = |seen: &'_ Seen| if side == "STORED" { seen.stored.clone() } else { seen.received.clone() };
        let mut figure = |metric: &str, unit: &str, value| {
            let (bench, case, side) = (BENCH.into(), case.into(), side.into());
            figures.push(Figure { bench, case, side, metric: metric.into(), value, unit: unit.into(), ratio: None });
        };
        for (metric, share) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("longest", 1.0)] {
            figure(metric, "ms", median(rounds.iter().map(|seen| percentile(&values(seen), share))));
        }
        figure("records", "", rounds.iter().map(|seen| values(seen).len() as f64).sum());
        figure(ERRORS, "", rounds.iter().map(|seen| seen.sessions_ended as f64).sum());
    }
    figures
}

/// No figure is promised; that every record was confirmed in one session is.
fn marks() -> Vec<Mark> {
    let mark = |case: &str| Mark {
        case: case.into(),
        side: "STORED".into(),
        metric: ERRORS.into(),
        bound: Bound::AtMost(0.0),
    };
    CASES.map(mark).into()
}
