//! `start-up`: how long a gateway and a sender take to open a large journal, and how much memory.
//!
//! The journals are real files, written as their owners write them and left without a farewell, as a killed process leaves
//! them. Each is opened by a process of its own: once after the kernel was told to drop its pages, then again.

mod journal;
mod process;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

pub(crate) use process::Open;

use crate::{
    machine::Machine,
    marks::{Bound, Mark},
    options::Output,
    report::{self, Figure},
};
use journal::Kind;

/// The name in result lines.
const BENCH: &str = "start-up";
const SECONDS: &str = "start_up";
const MEMORY: &str = "peak_memory";
/// What a start may take: with a journal of 5 GB, and so with every smaller one.
const MOST: [(&str, f64); 2] = [(SECONDS, 2.0), (MEMORY, 64.0)];

#[derive(Args)]
pub(crate) struct Arguments {
    /// GB of journal, each of 10^9 bytes.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    gb: u64,
    /// Make the journals in this directory, which has room for one at a time; without it where temporary files go.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let mut figures = Vec::new();
    for kind in [Kind::Gateway, Kind::Outbox] {
        figures.extend(measure(kind, arguments)?);
    }
    let machine = Machine::here(1, 1, arguments.gb < 5);
    report::publish(BENCH, machine, &figures, || marks(&figures), &arguments.output)
}

fn measure(kind: Kind, arguments: &Arguments) -> Result<Vec<Figure>> {
    let home = match &arguments.dir {
        Some(dir) => tempfile::tempdir_in(dir),
        None => tempfile::tempdir(),
    };
    let home = home.context("cannot make a directory for the journal")?;
    let made = journal::write(kind, home.path(), arguments.gb * 1_000_000_000)?;
    let mut figures = Vec::new();
    for (side, cold) in [("pages dropped", true), ("again", false)] {
        if cold {
            journal::drop_pages(home.path())?;
        }
        let opened = match kind {
            Kind::Gateway => process::gateway(home.path()),
            Kind::Outbox => process::outbox(home.path()),
        }?;
        let mut figure = |metric: &str, unit: &str, value: f64| {
            figures.push(Figure {
                bench: BENCH.into(),
                case: format!("{}, {} GB", kind.name(), arguments.gb),
                side: side.into(),
                metric: metric.into(),
                value,
                unit: unit.into(),
                ratio: None,
            });
        };
        figure("journal", "MB", made.bytes as f64 / 1e6);
        figure("records", "", made.records as f64);
        figure(SECONDS, "s", opened.after.as_secs_f64());
        figure(MEMORY, "MB", opened.peak_bytes as f64 / 1e6);
    }
    Ok(figures)
}

fn marks(figures: &[Figure]) -> Vec<Mark> {
    let bound = |figure: &Figure| {
        MOST.iter().find(|(metric, _)| *metric == figure.metric).map(|(metric, most)| Mark {
            case: figure.case.clone(),
            side: figure.side.clone(),
            metric: (*metric).into(),
            bound: Bound::AtMost(*most),
        })
    };
    figures.iter().filter_map(bound).collect()
}

/// Where a kind's journal is in its home.
fn directory(home: &Path) -> PathBuf {
    home.join("journal")
}
