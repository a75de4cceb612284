//! Interleaved rounds: in each, every side moves every case's records once.
use std::{collections::BTreeMap, fs::File, path::Path, time::Duration};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use tempfile::TempDir;

use super::{
    Case, disk,
    quinn::{self, Backend},
    tallylink,
};

/// Groups in which the plain bytes are written.
pub(super) const GROUPS: [(&str, usize); 3] =
    [("write-256KiB", 256 << 10), ("write-1MiB", 1 << 20), ("write-4MiB", 4 << 20)];

/// What is to be measured.
pub(super) struct Rounds<'a> {
    pub(super) cases: &'a [Case],
    pub(super) rounds: u32,
    pub(super) dir: &'a Path,
    pub(super) seed: u64,
}

/// All rounds of one case: each with a run of every side, in the same order.
pub(super) struct Measured {
    pub(super) case: String,
    pub(super) size: u64,
    pub(super) sides: Vec<(&'static str, Vec<Run>)>,
}

/// One side, once.
pub(super) struct Run {
    pub(super) records: u64,
    /// From the start of the sender's work until it knew that everything was there, and durable where that is promised.
    pub(super) elapsed: Duration,
    pub(super) errors: u64,
    /// CPU by thread.
    pub(super) sender: BTreeMap<String, Duration>,
    pub(super) receiver: BTreeMap<String, Duration>,
    pub(super) fill: Option<Fill>,
}

/// Filling the outbox, before.
#[derive(Clone, Copy)]
pub(super) struct Fill {
    pub(super) elapsed: Duration,
    pub(super) bytes_written: u64,
}

impl Rounds<'_> {
    pub(super) fn measure(&self) -> Result<Vec<Measured>> {
        let sides = ["tallylink", "quinn", "disk"];
        let progress = ProgressBar::new(u64::from(self.rounds) * (self.cases.len() * sides.len()) as u64)
            .with_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} (left: {eta})")?);
        let named = [tallylink::SIDE, Backend::Ring.side(), Backend::AwsLc.side()];
        let named = named.into_iter().chain(GROUPS.map(|(name, _)| name));
        let blank = |case: &Case| Measured {
            case: case.name.clone(),
            size: case.job.workload.size() as u64,
            sides: named.clone().map(|name| (name, Vec::new())).collect(),
        };
        let mut measured: Vec<Measured> = self.cases.iter().map(blank).collect();
        for round in 0..self.rounds as usize {
            for (case, measured) in self.cases.iter().zip(&mut measured) {
                for turn in 0..sides.len() {
                    let side = sides[(round + turn) % sides.len()];
                    progress.set_message(format!("{}, {side}", case.name));
                    self.side(side, case, measured).with_context(|| format!("{side} at {}", case.name))?;
                    progress.inc(1);
                }
            }
        }
        progress.finish_and_clear();
        Ok(measured)
    }

    fn side(&self, side: &str, case: &Case, measured: &mut Measured) -> Result<()> {
        let home = TempDir::with_prefix_in("tallylink-drain-", self.dir)?;
        let log = File::create(home.path().join("log"))?;
        let mut add = |name: &str, run: Run| {
            if let Some((_, runs)) = measured.sides.iter_mut().find(|(side, _)| *side == name) {
                runs.push(run);
            }
        };
        match side {
            "tallylink" => add(tallylink::SIDE, tallylink::run(home.path(), &case.job, self.seed, &log)?),
            "quinn" => {
                for backend in [Backend::Ring, Backend::AwsLc] {
                    add(backend.side(), quinn::run(backend, &case.job, self.seed, &log)?);
                }
            }
            _ => {
                for (name, group) in GROUPS {
                    let elapsed = disk::write(home.path(), &case.job, group)?;
                    let nobody = BTreeMap::new();
                    let run = Run {
                        records: case.job.records,
                        elapsed,
                        errors: 0,
                        sender: nobody.clone(),
                        receiver: nobody,
                        fill: None,
                    };
                    add(name, run);
                }
            }
        }
        Ok(())
    }
}
