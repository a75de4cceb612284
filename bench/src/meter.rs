//! What a piece of work in this process takes: time, CPU, and bytes given to the disk.
use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use crate::clock;

/// Runs since it was made.
pub(crate) struct Meter {
    wall: Instant,
    cpu: Duration,
    written: u64,
}

/// What it took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) time: Duration,
    /// Of all threads of this process.
    pub(crate) cpu: Duration,
    pub(crate) written: u64,
}

impl Meter {
    pub(crate) fn start() -> Result<Self> {
        Ok(Self { written: written()?, cpu: clock::process_cpu(), wall: clock::wall() })
    }

    pub(crate) fn spent(&self) -> Result<Spent> {
        let (time, cpu) = (self.wall.elapsed(), clock::process_cpu().saturating_sub(self.cpu));
        Ok(Spent { time, cpu, written: written()?.saturating_sub(self.written) })
    }
}

/// `write_bytes` of this process.
fn written() -> Result<u64> {
    let accounts = fs::read_to_string("/proc/self/io").context("the kernel keeps no accounts of bytes written")?;
    let line = accounts.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    Ok(line.context("/proc/self/io has no write_bytes")?.trim().parse()?)
}
