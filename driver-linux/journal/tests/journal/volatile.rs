//! The store whose directory lacks what was not synced, as the journal uses it.

use std::path::Path;

use tallylink_journal::testing::{Chance, Volatile};
use tallylink_journal::{Dir, Item, Journal, Options, Reader, SyncSite};

use crate::common::{EPOCH, PEER, SALT, append};

const LIVES: u64 = 12;
const SEEDS: u64 = 60;

fn options() -> Options {
    Options { salt: SALT, segment_bytes: Options::MIN_SEGMENT, buffer_bytes: 3000, ..Options::default() }
}

/// Lives that each append, commit now and then, and end without a word: killed, or with the power cut.
fn lives(at: &Path, seed: u64, ignored: Option<SyncSite>) -> Result<u64, String> {
    let mut chance = Chance::new(seed);
    let mut confirmed = 0;
    for life in 0..LIVES {
        let cut = life == 0 || chance.percent(50);
        let store = if cut { Volatile::new(at, chance.draw()) } else { Volatile::resume(at, chance.draw()) };
        let store = store.map_err(|e| e.to_string())?;
        store.ignore(ignored);
        let (mut journal, recovery) = Journal::open(store, options()).map_err(|e| e.to_string())?;
        if recovery.damaged_places + recovery.missing_segments + recovery.repeated_chunks > 0 {
            return Err(format!("life {life}: damage without cause: {recovery:?}"));
        }
        let stream = journal.stream(PEER, b"s").map_err(|e| e.to_string())?;
        let mut next = match journal.epoch_state(stream, EPOCH) {
            Some(state) => state.stored_below,
            None => 0,
        };
        if next < confirmed {
            return Err(format!("life {life}: {confirmed} records were confirmed and {next} are there"));
        }
        // What opening tells is confirmed, too.
        confirmed = next;
        if next == 0 {
            journal.begin_epoch(stream, EPOCH, 0, 0).map_err(|e| e.to_string())?;
        }
        for _ in 0..chance.below(60) {
            let records: Vec<Vec<u8>> = (0..1 + chance.below(9)).map(|i| record(next + i)).collect();
            append(&mut journal, stream, EPOCH, next, &records).map_err(|e| e.to_string())?;
            next += records.len() as u64;
            if chance.percent(40) {
                journal.commit().map_err(|e| e.to_string())?;
                confirmed = next;
                if chance.percent(20) {
                    journal.maintain(0).map_err(|e| e.to_string())?;
                }
            }
        }
    }
    // What the directory has after one more cut is an ordinary journal.
    let dir = Dir::open(at).map_err(|e| e.to_string())?;
    drop(Journal::open(dir.clone(), options()).map_err(|e| e.to_string())?);
    let mut reader = Reader::open(dir).map_err(|e| e.to_string())?;
    let mut read = 0;
    while let Some(item) = reader.next().map_err(|e| e.to_string())? {
        match item {
            Item::Record(r) if r.number == read && r.bytes == record(read) => read += 1,
            other => return Err(format!("expected record {read}, read {other:?}")),
        }
    }
    if read < confirmed { Err(format!("{confirmed} confirmed, {read} read")) } else { Ok(confirmed) }
}

fn record(number: u64) -> Vec<u8> {
    number.to_be_bytes().repeat(1 + (number % 13) as usize)
}

fn run(seed: u64, ignored: Option<SyncSite>) -> Result<u64, String> {
    let temporary = tempfile::tempdir().map_err(|e| e.to_string())?;
    lives(&temporary.path().join("journal"), seed, ignored)
}

#[test]
fn nothing_confirmed_is_lost_when_lives_end_by_kills_and_power_cuts() {
    let confirmed: u64 =
        (0..SEEDS).map(|seed| run(seed, None).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"))).sum();
    println!("{confirmed} records confirmed");
    assert!(confirmed > 10_000, "{confirmed}");
}

#[test]
fn without_the_sync_of_any_of_these_sites_something_confirmed_is_lost() {
    for site in [SyncSite::Group, SyncSite::SegmentName, SyncSite::RecoveredTail] {
        let caught = (0..SEEDS).find_map(|seed| Some((seed, run(seed, Some(site)).err()?)));
        let (seed, broken) = caught.unwrap_or_else(|| panic!("{site:?} seems not to be needed"));
        println!("without {site:?}, seed {seed}: {broken}");
    }
}
