//! Worlds whose devices sleep keep every promise, whatever step the power fails at.

use tallylink_sim::{Failure, Sabotage, World, run_sleeping};

const SEEDS: u64 = 300;

#[test]
fn every_world_with_devices_that_sleep_keeps_its_promises() {
    let (mut sleeps, mut resumed, mut failures) = (0, 0, Vec::new());
    for seed in 0..SEEDS {
        match run_sleeping(seed) {
            Ok(report) => (sleeps, resumed) = (sleeps + report.sleeps, resumed + report.resumed),
            Err(failure) => failures.push(failure.to_string()),
        }
    }
    println!("{sleeps} sleeps, {resumed} resumed");
    assert!(failures.is_empty(), "{} of {SEEDS} seeds failed:\n{}", failures.len(), failures.join("\n"));
    assert!(resumed > 2 * SEEDS && sleeps > resumed, "{sleeps} sleeps, {resumed} resumed");
}

#[test]
fn an_image_that_is_left_where_it_is_spends_a_packet_number_twice() {
    let sabotage = Sabotage { image_kept: true, ..Sabotage::default() };
    let twice = |failure: &Failure| failure.what.contains("sealed two packets");
    let noticed = |seed: &u64| World::sleeping(*seed).sabotaged(sabotage).run().is_err_and(|f| twice(&f));
    let count = (0..100).filter(noticed).count();
    assert!(count > 5, "only {count} of 100 worlds noticed");
}
