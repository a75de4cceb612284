//! Looking at a journal without opening it: while another process writes it, or on a disk that must not be written.

use std::io;

use crate::checkpoint::{self, Summary};
use crate::chunk::EpochState;
use crate::error::{At, Error};
use crate::halt::Halt;
use crate::options::Options;
use crate::position::{self, POSITION_FILE};
use crate::reader::synced_segments;
use crate::recover::{self, Recovery};
use crate::scan::{Scanner, Step};
use crate::seal::Mask;
use crate::segment::{self, ENTRIES_AT};
use crate::store::Store;
use crate::streams::{Stream, Streams};

/// One stream, as far as it is known to be durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamNow {
    /// Whose it is.
    pub peer: [u8; 8],
    /// Its name.
    pub name: Vec<u8>,
    /// One above the highest index used: see [`Journal::index_end`](crate::Journal::index_end).
    pub index_end: u64,
    /// Its epochs that are remembered, newest first.
    pub epochs: Vec<([u8; 8], EpochState)>,
}

/// The streams of the journal in `store`, read from the last checkpoint and what follows it; nothing is written or locked.
///
/// # Errors
/// There is no journal, its format is unknown, or the disk fails.
pub fn inspect<S: Store>(store: &S) -> Result<Vec<StreamNow>, Error> {
    /// Checkpoints are written and segments deleted meanwhile.
    const TRIES: u32 = 5;
    for _ in 1..TRIES {
        match look(store) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            done => return done,
        }
    }
    look(store)
}

fn look<S: Store>(store: &S) -> Result<Vec<StreamNow>, Error> {
    let loaded = checkpoint::load(store, Options::MOST_EPOCHS, &Halt::default())
        .at(|| store.describe(""), "read the checkpoints")?;
    if let Some((slot, version)) = loaded.unknown {
        return Err(Error::Version { file: store.describe(checkpoint::FILES[slot]), version });
    }
    let published = position::read(store).at(|| store.describe(POSITION_FILE), "read")?;
    let Some(published) = published else {
        return Err(io::Error::from(io::ErrorKind::NotFound)).at(|| store.describe(POSITION_FILE), "find");
    };
    let (summary, mut streams) = match loaded.newest {
        Some((_, summary, streams)) => (summary, streams),
        None => (Summary::default(), Streams::new(Options::MOST_EPOCHS)),
    };
    let mut report = Recovery::default();
    let covered = summary.covered;
    for (segment, counted) in synced_segments(store, &published, covered.segment, 0)? {
        let from = if segment == covered.segment { covered.counted.max(ENTRIES_AT) } else { ENTRIES_AT };
        let name = segment::name(segment);
        let file = store.open(&name, false).at(|| store.describe(&name), "open")?;
        let mut scanner = Scanner::new(file, Mask::new(published.journal, segment), from, counted.max(from));
        loop {
            match scanner.next().at(|| store.describe(&name), "read")? {
                Step::Entry { entry, .. } => {
                    recover::apply(&mut streams, &mut report, entry, scanner.body());
                }
                Step::Bad { .. } => {
                    scanner.resync().at(|| store.describe(&name), "read")?;
                }
                Step::End => break,
            }
        }
    }
    streams.settle();
    let epochs = |s: &Stream| s.epochs.iter().map(|slot| (slot.epoch, slot.state())).collect();
    let now = streams.iter().map(|(_, s)| StreamNow {
        peer: s.peer,
        name: streams.name(s).to_vec(),
        index_end: s.index_end,
        epochs: epochs(s),
    });
    Ok(now.collect())
}
