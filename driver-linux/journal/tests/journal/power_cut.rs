//! Killed or without power at any moment, the journal keeps what it confirmed, once and in order.

use crate::common::{EPOCH, PEER, SALT, append};
use crate::world::World;
use tallylink_journal::testing::MemStore;
use tallylink_journal::{Journal, Options, Retention, Store, SyncSite};

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

/// A journal without checkpoint files, as after someone set them aside: opening makes new ones, and then retention deletes
/// segments that only they cover. Returns how much is remembered of a stream whose segment went, after a power cut.
fn remembered_after_new_checkpoints(seed: u64, ignored: Option<SyncSite>) -> u64 {
    const HOUR_US: u64 = 3_600_000_000;
    let store = MemStore::new(seed);
    let options = |max_age_us| Options {
        salt: SALT,
        segment_bytes: Options::MIN_SEGMENT,
        retention: Retention { max_age_us, ..Retention::default() },
        ..Options::default()
    };
    let (mut journal, _) = Journal::open(store.clone(), options(None)).unwrap();
    let (quiet, busy) = (journal.stream(PEER, b"quiet").unwrap(), journal.stream(PEER, b"busy").unwrap());
    journal.begin_epoch(quiet, EPOCH, 0, 0).unwrap();
    journal.begin_epoch(busy, EPOCH, 0, 0).unwrap();
    append(&mut journal, quiet, EPOCH, 0, &[b"one".to_vec(), b"two".to_vec()]).unwrap();
    for number in 0..4 {
        append(&mut journal, busy, EPOCH, number, &[vec![7; Options::MIN_SEGMENT as usize / 2]]).unwrap();
        journal.commit().unwrap();
    }
    drop(journal);
    store.remove("checkpoint-a").unwrap();
    store.remove("checkpoint-b").unwrap();
    store.sync_names(SyncSite::SegmentName).unwrap();

    store.ignore(ignored);
    let (mut journal, _) = Journal::open(store.clone(), options(Some(HOUR_US))).unwrap();
    assert!(journal.maintain(1_000 * HOUR_US).unwrap().deleted > 0);
    drop(journal);
    store.power_cut();
    let (journal, _) = Journal::open(store, options(None)).unwrap();
    let quiet = journal.find_stream(PEER, b"quiet").and_then(|quiet| journal.epoch_state(quiet, EPOCH));
    quiet.map_or(0, |state| state.stored_below)
}

#[test]
fn the_names_of_new_checkpoints_are_durable_before_they_stand_for_segments() {
    assert!((0..SEEDS).all(|seed| remembered_after_new_checkpoints(seed, None) == 2));
    let without = |seed: &u64| remembered_after_new_checkpoints(*seed, Some(SyncSite::CheckpointNames)) < 2;
    let seed = (0..SEEDS).find(without).expect("the names' sync seems not to be needed");
    println!("without it, seed {seed} forgets what was stored");
}
