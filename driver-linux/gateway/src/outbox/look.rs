//! Reading one outbox, whoever has it open.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tallylink_core::Epoch;
use tallylink_journal::{Dir, Packed, Reader, StreamNow, inspect};

use super::{EpochReport, StreamReport, seconds_since};
use crate::{Error, PeerId};

/// Bytes of records that wait, and when the oldest was pushed.
#[derive(Debug, Default)]
struct Waiting {
    bytes: u64,
    oldest_us: Option<u64>,
    damaged: u64,
}

/// Looks at the outbox in `dir`.
///
/// # Errors
/// It cannot be read.
pub(super) fn look(stream: String, dir: PathBuf) -> Result<StreamReport, Error> {
    let store = Dir::open(&dir).map_err(|error| Error::NoOutbox { dir: dir.clone(), error })?;
    let now = inspect(&store)?.into_iter().next();
    let in_use = is_locked(&dir.join("lock"));
    let Some(now) = now else {
        return Ok(StreamReport {
            stream,
            peer: None,
            dir,
            in_use,
            ever: 0,
            stored: 0,
            waiting: 0,
            waiting_bytes: 0,
            oldest_waits_s: None,
            damaged_places: 0,
            epochs: Vec::new(),
        });
    };
    let left = |(epoch, state): &([u8; 8], tallylink_journal::EpochState)| {
        (state.freed_below < state.stored_below).then(|| EpochReport {
            epoch: format!("{:?}", Epoch(*epoch)),
            from: state.freed_below,
            below: state.stored_below,
        })
    };
    let epochs: Vec<_> = now.epochs.iter().rev().filter_map(left).collect();
    let waiting = epochs.iter().map(|epoch| epoch.below - epoch.from).sum();
    let scanned = if waiting > 0 { scan(store, &now)? } else { Waiting::default() };
    Ok(StreamReport {
        stream,
        peer: Some(PeerId(now.peer).to_string()),
        dir,
        in_use,
        ever: now.index_end,
        stored: now.index_end.saturating_sub(waiting),
        waiting,
        waiting_bytes: scanned.bytes,
        oldest_waits_s: scanned.oldest_us.map(seconds_since),
        damaged_places: scanned.damaged,
        epochs,
    })
}

/// How much an outbox holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// Records that were ever made durable in it.
    pub(crate) ever: u64,
    pub(crate) waiting: u64,
    pub(crate) waiting_bytes: u64,
}

/// How much the outbox in `dir` holds: nothing, if there is none or it is only just being made.
///
/// # Errors
/// It cannot be read.
pub(crate) fn held(dir: &Path) -> Result<Held, Error> {
    let nothing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    match look(String::new(), dir.to_owned()) {
        Ok(report) => {
            let StreamReport { ever, waiting, waiting_bytes, .. } = report;
            Ok(Held { ever, waiting, waiting_bytes })
        }
        Err(Error::NoOutbox { error, .. }) if nothing(&error) => Ok(Held::default()),
        Err(Error::Journal(tallylink_journal::Error::Io { source, .. })) if nothing(&source) => Ok(Held::default()),
        Err(error) => Err(error),
    }
}

fn scan(store: Dir, now: &StreamNow) -> Result<Waiting, Error> {
    let mut waiting = Waiting::default();
    let mut reader = Reader::open(store)?;
    while let Some(packed) = reader.next_batch()? {
        match packed {
            Packed::Damage(_) => waiting.damaged += 1,
            Packed::Gap(_) => {}
            Packed::Batch(batch) => {
                let known = now.epochs.iter().find(|(epoch, _)| *epoch == batch.epoch);
                let Some((_, state)) = known else { continue };
                // A batch that is delivered in part counts whole: it is on the disk whole.
                if batch.number + batch.count > state.freed_below {
                    waiting.bytes += batch.bytes.len() as u64;
                    waiting.oldest_us.get_or_insert(batch.arrival_us);
                }
            }
        }
    }
    Ok(waiting)
}

/// Whether somebody holds a lock on a file, as the system lists it: trying to lock it might keep its owner out.
fn is_locked(file: &Path) -> bool {
    let (Ok(meta), Ok(locks)) = (fs::metadata(file), fs::read_to_string("/proc/locks")) else {
        return false;
    };
    let inode = meta.ino().to_string();
    locks.lines().filter(|line| line.contains("FLOCK")).any(|line| {
        let place = line.split_whitespace().nth(5).and_then(|place| place.rsplit(':').next());
        place == Some(inode.as_str())
    })
}
