//! Worlds of many seeds keep every promise; a world in which something is left out does not.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use tallylink_sim::{Failure, Sabotage, World, run_seed};

const SEEDS: u64 = 2_000;
const THREADS: usize = 2;

#[test]
fn every_seeded_world_keeps_its_promises() {
    let next = AtomicU64::new(0);
    let work = || {
        let mut failures = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= SEEDS {
                return failures;
            }
            failures.extend(fault_of(seed));
        }
    };
    let failures: Vec<String> = thread::scope(|s| {
        let workers: Vec<_> = (0..THREADS).map(|_| s.spawn(work)).collect();
        workers.into_iter().flat_map(|w| w.join().expect("a worker does not panic")).collect()
    });
    assert!(failures.is_empty(), "{} of {SEEDS} seeds failed:\n{}", failures.len(), failures.join("\n"));
}

fn fault_of(seed: u64) -> Option<String> {
    match run_seed(seed) {
        Err(failure) => Some(failure.to_string()),
        Ok(report) if report.packets < 200 || report.crashes < 1 => {
            Some(format!("seed {seed}: too little happened: {report:?}"))
        }
        Ok(_) => None,
    }
}

/// Beyond the seeds above; each found a fault of its own.
#[test]
fn worlds_that_once_broke_a_promise_keep_them() {
    for seed in [5_241, 8_859, 12_629, 19_095, 20_236, 102_613] {
        assert_eq!(fault_of(seed), None);
    }
}

#[test]
fn the_same_seed_is_the_same_world() {
    for seed in [3, 77, 1100] {
        assert_eq!(run_seed(seed), run_seed(seed), "seed {seed}");
    }
}

#[test]
fn without_the_sync_before_stored_a_power_cut_loses_what_was_confirmed() {
    let sabotage = Sabotage { no_sync: true, ..Sabotage::default() };
    let lost = |failure: &Failure| failure.what.contains("was confirmed, and is lost");
    let losses = (0..100).filter(|seed| World::new(*seed).sabotaged(sabotage).run().is_err_and(|f| lost(&f))).count();
    assert!(losses > 5, "only {losses} of 100 worlds noticed");
}
