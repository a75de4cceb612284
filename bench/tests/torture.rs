//! The torture of real processes: a short one that must find nothing, and one without each sync that must find something.

use std::process::{Command, Output};

use tallylink_journal::SyncSite;

/// The figures that tell of harm.
const FAULTS: [&str; 6] = ["lost", "repeated", "out_of_order", "altered", "stored_taken_back", "damaged"];
/// So many seeds may be needed, with so many power cuts each, until the lack of a sync shows.
const SEEDS: u64 = 8;
const CUTS: &str = "200";

fn torture(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_tallylink-bench");
    Command::new(program).args(["torture", "--json"]).args(arguments).output().expect("torture runs")
}

/// How much harm was found.
fn harm(output: &Output) -> f64 {
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a JSON line"));
    let faults = lines.filter(|line| line["metric"].as_str().is_some_and(|metric| FAULTS.contains(&metric)));
    faults.filter_map(|fault| fault["value"].as_f64()).sum()
}

#[test]
fn nothing_is_lost_repeated_or_reordered_when_both_sides_are_killed_and_cut_off() {
    let output = torture(&["--kills", "10", "--power-cuts", "30", "--seed", "7"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(harm(&output), 0.0, "{said}");
}

#[test]
fn without_the_sync_of_any_one_site_records_are_lost() {
    for site in SyncSite::ALL {
        let shown = match site {
            SyncSite::Group | SyncSite::SegmentName | SyncSite::RecoveredTail | SyncSite::Checkpoint => true,
            // Every new segment's name makes these durable too. They matter only where someone took the checkpoints away,
            // which a test of the journal does.
            SyncSite::CheckpointNames => false,
            // Nobody repairs here; the journal's tests leave out each of these as well.
            SyncSite::SetAside | SyncSite::SetAsideName | SyncSite::Repaired => false,
        };
        if shown {
            let name = format!("{site:?}");
            let without = |seed: &u64| {
                let seed = seed.to_string();
                harm(&torture(&["--kills", "0", "--power-cuts", CUTS, "--seed", &seed, "--ignore", &name])) > 0.0
            };
            let seed = (1..=SEEDS).find(without).unwrap_or_else(|| panic!("{name} seems not to be needed"));
            println!("without {name}, harm was found with seed {seed}");
        }
    }
}
