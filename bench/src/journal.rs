//! `journal`: what it takes to append records to a journal, to read them and to open what a crash left, beside SQLite.
//!
//! Appended is as a gateway does it: a chunk for each packet, then a write and an fdatasync for each group. Groups have
//! several sizes, and one side makes every single record durable, as a trickle does. SQLite has the fastest settings that keep
//! the same promise: a write-ahead log, synced at every commit (`synchronous=FULL`), 8,192 records a transaction, the number as
//! the key of the table. Bytes written are the process's own, as the kernel accounts them. What is read is compared
//! with what was appended.

mod figures;
mod ours;
mod sqlite;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use crate::{
    machine::Machine,
    marks::{Bound, Mark},
    meter::Spent,
    options::Options,
    report,
    workload::Workload,
};

/// The name in result lines.
const BENCH: &str = "journal";
/// Of SQLite's CPU to append a record of the first size.
const CPU_BUDGET: f64 = 0.15;
/// Bytes written for a byte of record.
const WRITTEN_BUDGET: f64 = 1.1;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Bytes of a record, one case each; the mark is for the first.
    #[arg(long, value_delimiter = ',', default_values_t = [61, 1_013])]
    sizes: Vec<u16>,
    /// MB of records, each of 10^6 bytes, for groups of 256 KiB and 1 MiB. The others get less, so as not to take for ever.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    mb: u64,
    /// Where to write [default: where temporary files are].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Who keeps the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// A journal with groups of so many bytes.
    Groups(u64),
    /// A journal that syncs every record.
    Trickle,
    Sqlite,
}

const KIB: u64 = 1 << 10;
const SIDES: [Side; 6] = [
    Side::Groups(4 * KIB),
    Side::Groups(64 * KIB),
    Side::Groups(256 * KIB),
    Side::Groups(1024 * KIB),
    Side::Trickle,
    Side::Sqlite,
];
/// Those that the marks are for.
const MARKED: [Side; 2] = [Side::Groups(256 * KIB), Side::Groups(1024 * KIB)];

impl Side {
    fn name(self) -> String {
        match self {
            Self::Groups(bytes) => format!("groups of {} KiB", bytes / KIB),
            Self::Trickle => "a sync a record".into(),
            Self::Sqlite => "SQLite".into(),
        }
    }

    /// Records of `size` bytes for a run in which the large groups get `bytes`.
    fn records(self, bytes: u64, size: u64) -> u64 {
        let most_syncs = 4_000;
        let records = match self {
            Self::Groups(group) => bytes.min(most_syncs * group) / size,
            Self::Trickle => most_syncs.min(bytes / size),
            Self::Sqlite => bytes / 5 / size,
        };
        records.max(1)
    }
}

/// What one side took, once.
#[derive(Clone, Copy)]
struct Round {
    records: u64,
    append: Spent,
    read: Spent,
    recover: Spent,
    /// Records that were read and are not what was appended, and those that are missing.
    errors: u64,
}

/// All rounds with records of one size.
struct Case {
    workload: Workload,
    rounds: Vec<[Round; SIDES.len()]>,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let options = &arguments.options;
    let bytes = arguments.mb * 1_000_000 / if options.quick { 20 } else { 1 };
    let dir = arguments.dir.clone().unwrap_or_else(std::env::temp_dir);
    let new = |&size: &u16| Case { workload: Workload::new(options.seed, size.max(1).into()), rounds: Vec::new() };
    let mut cases: Vec<Case> = arguments.sizes.iter().map(new).collect();
    let progress = ProgressBar::new(u64::from(options.rounds) * (cases.len() * SIDES.len()) as u64)
        .with_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} (left: {eta})")?);
    for _ in 0..options.rounds {
        for case in &mut cases {
            let mut round = Vec::new();
            for side in SIDES {
                progress.set_message(side.name());
                round.push(measure(side, &case.workload, bytes, &dir).with_context(|| side.name())?);
                progress.inc(1);
            }
            case.rounds.push(round.try_into().map_err(|_| anyhow::anyhow!("a round has all sides"))?);
        }
    }
    progress.finish_and_clear();
    let figures: Vec<_> = cases.iter().flat_map(figures::figures).collect();
    let machine = Machine::here(options.seed, options.rounds, options.quick);
    report::publish(BENCH, machine, &figures, || marks(&cases), &options.output)
}

fn measure(side: Side, workload: &Workload, bytes: u64, dir: &Path) -> Result<Round> {
    let home = tempfile::TempDir::with_prefix_in("tallylink-journal-", dir)?;
    let records = side.records(bytes, workload.size() as u64);
    match side {
        Side::Groups(group) => ours::measure(workload, records, group, home.path()),
        Side::Trickle => ours::measure(workload, records, 1, home.path()),
        Side::Sqlite => sqlite::measure(workload, records, home.path()),
    }
}

fn marks(cases: &[Case]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for case in cases {
        let mut mark = |side: Side, metric: &str, bound| {
            marks.push(Mark { case: figures::name(case), side: side.name(), metric: metric.into(), bound });
        };
        SIDES.into_iter().for_each(|side| mark(side, figures::ERRORS, Bound::AtMost(0.0)));
        MARKED.into_iter().for_each(|side| mark(side, figures::WRITTEN, Bound::AtMost(WRITTEN_BUDGET)));
    }
    if let Some(case) = cases.first() {
        for side in MARKED {
            let (case, side, metric) = (figures::name(case), side.name(), figures::CPU.into());
            marks.push(Mark { case, side, metric, bound: Bound::RatioAtMost(CPU_BUDGET) });
        }
    }
    marks
}
