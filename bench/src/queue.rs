//! `queue`: the classic experiment in which a receiver of plain datagrams loses some, and what does not.
//!
//! A sender of datagrams pauses between them, less and less. Receivers are (a) one thread that receives and writes, (b) a
//! thread that receives and a bounded queue to one that writes (both are `tallylink ingest`), and (c) a Tallylink gateway, to
//! which the same payloads are pushed as records. Each writes the same kind of journal, made durable every 2 ms: once on the disk
//! as it is, once on one that was made slow. Afterwards every journal is read and each record compared.

mod figures;
mod journal;
mod plain;
mod receivers;
mod slow;
mod tallylink;

use std::{path::PathBuf, time::Duration};

use anyhow::Result;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

pub(crate) use receivers::QueueRole;

use crate::{
    machine::Machine,
    marks::{Bound, Mark},
    options::Output,
    report,
    workload::Workload,
};
use receivers::{Outcome, Side};

/// The name in result lines.
const BENCH: &str = "queue";
/// Bytes of a datagram's payload, and of a record.
const DATAGRAM: usize = 1_500;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Datagrams of a run.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    datagrams: u64,
    /// Microseconds between two of them, one case each.
    #[arg(long, value_name = "US", value_delimiter = ',', default_values_t = [260, 200, 100, 10, 1, 0])]
    pauses: Vec<u64>,
    /// Lengths of the queue of (b).
    #[arg(long, value_delimiter = ',', default_values_t = [100, 1_000, 10_000])]
    queues: Vec<u32>,
    /// The receive buffer that (a) and (b) ask the kernel for, in bytes; that of a gateway is the default.
    #[arg(long, default_value_t = 4 << 20)]
    receive_buffer: usize,
    /// Rounds: of losses the worst is told, of times the median. One takes about ten minutes.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Decides the content of every record.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A twentieth of the datagrams, to try things out.
    #[arg(long)]
    quick: bool,
    /// Where journals are made, and removed [default: where temporary files are].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// One pause, on one disk.
struct Case {
    name: String,
    pause: Duration,
    slow: bool,
    rounds: Vec<Vec<(Side, Outcome)>>,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let workload = Workload::new(arguments.seed, DATAGRAM);
    let datagrams = if arguments.quick { arguments.datagrams.div_ceil(20) } else { arguments.datagrams };
    let dir = arguments.dir.clone().unwrap_or_else(std::env::temp_dir);
    let sides = Side::all(&arguments.queues);
    let mut cases = Vec::new();
    for slow in [false, true] {
        for &pause in &arguments.pauses {
            let name = format!("a pause of {pause} µs{}", if slow { ", slow disk" } else { "" });
            cases.push(Case { name, pause: Duration::from_micros(pause), slow, rounds: Vec::new() });
        }
    }
    let progress = ProgressBar::new(u64::from(arguments.rounds) * (cases.len() * sides.len()) as u64)
        .with_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} (left: {eta})")?);
    for _ in 0..arguments.rounds {
        for case in &mut cases {
            let mut outcomes = Vec::new();
            for &side in &sides {
                progress.set_message(format!("{}, {}", side.name(), case.name));
                let experiment = receivers::Experiment {
                    workload: &workload,
                    datagrams,
                    pause: case.pause,
                    slow: case.slow,
                    receive_buffer: arguments.receive_buffer,
                    dir: &dir,
                };
                outcomes.push((side, experiment.run(side)?));
                progress.inc(1);
            }
            case.rounds.push(outcomes);
        }
    }
    progress.finish_and_clear();
    let figures: Vec<_> = cases.iter().flat_map(|case| figures::figures(case, &sides, datagrams)).collect();
    let machine = Machine::here(arguments.seed, arguments.rounds, arguments.quick);
    report::publish(BENCH, machine, &figures, || marks(&cases, &sides, datagrams), &arguments.output)
}

/// Tallylink stores all of them in every case, and is the first to be done where there is no pause. Nobody alters any.
fn marks(cases: &[Case], sides: &[Side], datagrams: u64) -> Vec<Mark> {
    let mut marks = Vec::new();
    for case in cases {
        let mut mark = |side: Side, metric: &str, bound| {
            marks.push(Mark { case: case.name.clone(), side: side.name(), metric: metric.into(), bound });
        };
        for &side in sides {
            mark(side, figures::ALTERED, Bound::AtMost(0.0));
        }
        mark(Side::Tallylink, figures::STORED, Bound::AtLeast(datagrams as f64));
        if case.pause.is_zero() && !case.slow {
            mark(Side::Tallylink, figures::SECONDS, Bound::RatioAtMost(1.0));
        }
    }
    marks
}
