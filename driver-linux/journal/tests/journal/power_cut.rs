//! Killed or without power at any moment, the journal keeps what it confirmed, once and in order.

use crate::common::{EPOCH, PEER, append, append_part, options, read_all, stored};
use crate::world::World;
use tallylink_journal::testing::MemStore;
use tallylink_journal::{Journal, SyncSite};

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

#[test]
fn a_checkpoint_in_the_middle_of_the_first_record_of_an_epoch_knows_the_epoch() {
    const PART: usize = 1000;
    let store = MemStore::new(1);
    let record = stored(&[vec![7; 20 * PART]]);
    let (mut journal, _) = Journal::open(store.clone(), options()).unwrap();
    let stream = journal.stream(PEER, b"images").unwrap();
    journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
    let made = journal.stats().checkpoints;
    let mut checkpoint_in_it = false;
    for from in (0..record.len()).step_by(PART) {
        append_part(&mut journal, stream, 0, &record, from..record.len().min(from + PART)).unwrap();
        journal.commit().unwrap();
        checkpoint_in_it |= from + PART < record.len() && journal.maintain(0).unwrap().checkpoint;
    }
    assert!(checkpoint_in_it && journal.stats().checkpoints > made);
    assert_eq!(journal.epoch_state(stream, EPOCH).unwrap().stored_below, 1);
    drop(journal);
    store.power_cut();

    let (journal, recovery) = Journal::open(store.clone(), options()).unwrap();
    assert_eq!(recovery.damaged_places, 0);
    let stream = journal.find_stream(PEER, b"images").unwrap();
    assert_eq!(journal.epoch_state(stream, EPOCH).unwrap().stored_below, 1);
    drop(journal);
    assert_eq!(read_all(store).records.len(), 1);
}

/// The first opening is killed after some operations, the next one too, and then the power goes.
fn opens_after_a_cut(seed: u64, first: u64, second: u64) -> Result<(), String> {
    let store = MemStore::new(seed);
    store.die_after(first);
    drop(Journal::open(store.clone(), options()));
    store.revive();
    store.die_after(second);
    if let Ok((mut journal, _)) = Journal::open(store.clone(), options()) {
        let stream = journal.stream(PEER, b"s").map_err(|e| e.to_string())?;
        journal.begin_epoch(stream, EPOCH, 0, 0).map_err(|e| e.to_string())?;
        // Killed or not, nothing of it is confirmed.
        let _ = append(&mut journal, stream, EPOCH, 0, &[b"one".to_vec()]);
    }
    store.revive();
    store.power_cut();
    Journal::open(store, options()).map(drop).map_err(|e| e.to_string())
}

#[test]
fn a_journal_whose_making_was_killed_and_then_cut_off_opens() {
    for (seed, first) in (0..20).flat_map(|seed| (0..25).map(move |first| (seed, first))) {
        for second in (0..45).chain([u64::MAX]) {
            let opened = opens_after_a_cut(seed, first, second);
            assert_eq!(opened, Ok(()), "seed {seed}, killed after {first} and {second} operations");
        }
    }
}
