//! Killed or without power at any moment, the journal keeps what it confirmed, once and in order.

use crate::world::World;
use tallylink_journal::SyncSite;

const LIVES: u64 = 8;
const SEEDS: u64 = 500;

fn run(seed: u64, ignored: Option<SyncSite>) -> Result<World, String> {
    let mut world = World::new(seed);
    world.store.ignore(ignored);
    for _ in 0..LIVES {
        world.live()?;
    }
    Ok(world)
}

#[test]
fn nothing_confirmed_is_lost_repeated_or_reordered_in_any_seeded_world() {
    let (mut confirmed, mut deaths) = (0, 0);
    for seed in 0..SEEDS {
        let world = run(seed, None).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
        confirmed += world.confirmed;
        deaths += world.deaths;
    }
    println!("{confirmed} records confirmed, {deaths} deaths");
    assert!(confirmed > 50_000 && deaths == SEEDS * LIVES);
}

#[test]
fn without_the_sync_of_any_one_site_something_confirmed_is_lost() {
    for site in [SyncSite::Group, SyncSite::SegmentName, SyncSite::RecoveredTail, SyncSite::Checkpoint] {
        let caught = (0..SEEDS).find_map(|seed| Some((seed, run(seed, Some(site)).err()?)));
        let (seed, broken) = caught.unwrap_or_else(|| panic!("{site:?} seems not to be needed"));
        println!("without {site:?}, seed {seed}: {broken}");
    }
}
