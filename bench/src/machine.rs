//! What a figure was measured on and with.
use std::fs;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) kernel: String,
    pub(crate) rustc: String,
    pub(crate) profile: String,
    pub(crate) crates: Vec<String>,
    pub(crate) seed: u64,
    pub(crate) rounds: u32,
    pub(crate) quick: bool,
}

impl Machine {
    /// This one, for so many rounds that went by `seed`; `quick` ones are not for the record.
    pub(crate) fn here(seed: u64, rounds: u32, quick: bool) -> Self {
        Self {
            cpu: cpu(),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            kernel: kernel(),
            rustc: env!("BENCH_RUSTC").into(),
            profile: env!("BENCH_PROFILE").into(),
            crates: env!("BENCH_CRATES").split(',').map(Into::into).collect(),
            seed,
            rounds,
            quick,
        }
    }

    /// For the head of a table.
    pub(crate) fn lines(&self) -> Vec<String> {
        let quick = if self.quick { ", quick: not for the record" } else { "" };
        vec![
            format!("{} × {}, Linux {}", self.cores, self.cpu, self.kernel),
            format!("{}, {}", self.rustc, self.profile),
            self.crates.join(", "),
            format!("seed {}, rounds {}{quick}", self.seed, self.rounds),
        ]
    }
}

fn cpu() -> String {
    let facts = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = facts.lines().find_map(|line| line.strip_prefix("model name"));
    let model = model.and_then(|rest| rest.split_once(':'));
    model.map_or("unknown CPU", |(_, name)| name.trim()).into()
}

fn kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().into()
}
