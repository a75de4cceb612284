//! What a dead process left in its directory: recovered and read in memory, so that nothing on the disk changes.
use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use tallylink_journal::{Journal, Options, Recovery, Store, StoreFile, testing::MemStore};

/// A copy of a journal, and what its recovery found.
pub(super) struct Left {
    pub(super) store: MemStore,
    pub(super) recovery: Recovery,
    /// For each peer and stream the remembered epochs with how far each is stored, newest first.
    pub(super) streams: Vec<Remembered>,
}

pub(super) struct Remembered {
    pub(super) peer: [u8; 8],
    pub(super) name: Vec<u8>,
    pub(super) epochs: Vec<([u8; 8], u64)>,
}

/// Copies the files of the journal in `dir` and opens the copy, as the next process will.
pub(super) fn behind(dir: &Path) -> Result<Left> {
    let store = MemStore::new(0);
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let name = entry.file_name();
            let mut file = store.create(&name.to_string_lossy())?;
            file.write_at(&fs::read(entry.path())?, 0)?;
        }
    }
    let (journal, recovery) = Journal::open(store.clone(), Options { salt: 1, ..Options::default() })?;
    let of = |(id, peer, name): (_, [u8; 8], &[u8])| Remembered {
        peer,
        name: name.to_vec(),
        epochs: journal.epochs(id).map(|(epoch, state)| (epoch, state.stored_below)).collect(),
    };
    let streams: Vec<Remembered> = journal.streams().map(of).collect();
    ensure!(journal.stats().appended_records == 0, "opening appends nothing");
    drop(journal);
    Ok(Left { store, recovery, streams })
}

impl Left {
    /// Damage that nothing has caused.
    pub(super) fn damage(&self) -> Option<String> {
        let Recovery { damaged_places, missing_segments, repeated_chunks, .. } = self.recovery;
        let harm = damaged_places + missing_segments + repeated_chunks;
        (harm > 0).then(|| format!("recovery reports damage without a cause: {:?}", self.recovery))
    }
}
