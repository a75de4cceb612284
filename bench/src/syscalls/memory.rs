//! Allocations, as valgrind counts them: those of C code are among them.
use std::{env, process::Command, time::Duration};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::backlog::drain;

/// Records of the shorter run; the longer one has four times as many.
const RECORDS: u64 = 100_000;

/// Carries records of 61 B between two networks on one thread, for valgrind to look at.
#[derive(Args)]
pub(crate) struct MemoryRole {
    #[arg(long)]
    records: u64,
    #[arg(long)]
    seed: u64,
}

impl MemoryRole {
    pub(crate) fn run(&self) -> Result<()> {
        // Under valgrind the clock that tells a thread's CPU cannot be read.
        println!("{}", drain::run(self.records, self.records, self.seed, || Duration::ZERO)?.packets);
        Ok(())
    }
}

/// What both sides allocated together.
pub(super) struct Memory {
    pub(super) set_up: f64,
    pub(super) per_packet: f64,
}

/// None where there is no valgrind.
pub(super) fn measure(seed: u64) -> Result<Option<Memory>> {
    let (Some(short), Some(long)) = (one(RECORDS, seed)?, one(4 * RECORDS, seed)?) else { return Ok(None) };
    let per_packet = (long.0 as f64 - short.0 as f64) / (long.1 as f64 - short.1 as f64);
    Ok(Some(Memory { set_up: short.0 as f64, per_packet: per_packet.max(0.0) }))
}

/// Allocations and packets.
fn one(records: u64, seed: u64) -> Result<Option<(u64, u64)>> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=memcheck", "--undef-value-errors=no", "--leak-check=no"]).arg(env::current_exe()?);
    valgrind.arg("memory-only").args([format!("--records={records}"), format!("--seed={seed}")]);
    let output = match valgrind.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        ran => ran.context("cannot start valgrind")?,
    };
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind failed: {said}");
    let packets = String::from_utf8_lossy(&output.stdout).trim().parse()?;
    let allocated = said.lines().find_map(allocations).with_context(|| format!("valgrind did not count: {said}"))?;
    Ok(Some((allocated, packets)))
}

/// `==1== total heap usage: 1,234 allocs, …`
fn allocations(line: &str) -> Option<u64> {
    let (count, _) = line.split_once("total heap usage: ")?.1.split_once(" allocs")?;
    count.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::allocations;

    #[test]
    fn the_count_is_found_in_what_valgrind_says() {
        assert_eq!(
            allocations("==7==   total heap usage: 1,234,567 allocs, 12 frees, 9 bytes allocated"),
            Some(1_234_567)
        );
        assert_eq!(allocations("==7== HEAP SUMMARY:"), None);
    }
}
