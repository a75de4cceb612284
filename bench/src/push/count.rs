//! Instructions, as valgrind's callgrind counts them.
use std::{env, process::Command};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum as _;

use super::{
    BURST,
    run::{How, Target},
};

/// Enough that what happens once in a while has its share.
const BURSTS: u64 = 64;

/// Instructions of inserting one record; none where there is no valgrind.
pub(super) fn instructions(into: Target, how: How, seed: u64) -> Result<Option<f64>> {
    let named = |value: clap::builder::PossibleValue| value.get_name().to_owned();
    let (into, how) = (into.to_possible_value().map(named), how.to_possible_value().map(named));
    let ran = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*push*run*counted*"])
        .arg(env::current_exe()?)
        .arg("push-only")
        .args(["--into", &into.context("a name")?, "--how", &how.context("a name")?])
        .arg(format!("--bursts={BURSTS}"))
        .arg(format!("--seed={seed}"))
        .output();
    let output = match ran {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        ran => ran.context("cannot start valgrind")?,
    };
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind failed: {said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<u64>().ok());
    let collected = collected.with_context(|| format!("valgrind did not count: {said}"))?;
    Ok(Some(collected as f64 / (BURSTS * BURST) as f64))
}
