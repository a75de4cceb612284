//! Runs seeds: `tallylink-sim [--sleeping] --seed N [--trace]` or `tallylink-sim [--sleeping] --seeds A..B`.

use std::process::ExitCode;
use tallylink_sim::{World, run_seed, run_sleeping};

const USAGE: &str = "usage: tallylink-sim [--sleeping] --seed N [--trace] | [--sleeping] --seeds A..B";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (sleeping, words) = match words.as_slice() {
        ["--sleeping", rest @ ..] => (true, rest),
        all => (false, all),
    };
    let failed = match words {
        ["--seed", seed, rest @ ..] if rest.is_empty() || rest == ["--trace"] => {
            seed.parse().ok().map(|seed| run_one(seed, sleeping, !rest.is_empty()))
        }
        ["--seeds", range] => range
            .split_once("..")
            .and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)))
            .map(|(a, b)| run_many(a, b, sleeping)),
        _ => None,
    };
    match failed {
        Some(0) => ExitCode::SUCCESS,
        Some(_) => ExitCode::FAILURE,
        None => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn run_one(seed: u64, sleeping: bool, trace: bool) -> u64 {
    let world = if sleeping { World::sleeping(seed) } else { World::new(seed) };
    let world = if trace { world.traced() } else { world };
    match world.run() {
        Ok(report) => {
            println!("seed {seed}: {report:?}");
            0
        }
        Err(failure) => {
            println!("{failure}");
            1
        }
    }
}

fn run_many(from: u64, to: u64, sleeping: bool) -> u64 {
    let mut failed = 0;
    for seed in from..to {
        let run = if sleeping { run_sleeping } else { run_seed };
        if let Err(failure) = run(seed) {
            println!("{failure}");
            failed += 1;
        }
    }
    println!("{} seeds, {failed} failed", to.saturating_sub(from));
    failed
}
