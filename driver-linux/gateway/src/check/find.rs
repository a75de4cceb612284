//! What there is to check in a directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::keystore::KeyStore;

/// One thing that can be checked.
#[derive(Debug)]
pub(super) enum Thing {
    /// A directory with a journal: a gateway's, or an outbox.
    Journal(PathBuf),
    /// The key store of a data directory.
    Keys(KeyStore),
}

/// How far below the directory that was named a journal may lie: as far as outboxes of devices (storage §11.1).
const DEEPEST: u32 = 4;

/// Everything in `dir`: the key store first, then the journals by name.
///
/// # Errors
/// There is nothing, or the directory cannot be read.
pub(super) fn things(dir: &Path) -> io::Result<Vec<Thing>> {
    let mut found = Vec::new();
    collect(dir, DEEPEST, &mut found)?;
    if found.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "nothing in it is a journal, an outbox or a key store"));
    }
    Ok(found)
}

fn collect(dir: &Path, deeper: u32, found: &mut Vec<Thing>) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(dir)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let names = || entries.iter().filter_map(|entry| entry.file_name().into_string().ok());
    if names().any(|name| is_of_a_journal(&name)) {
        found.push(Thing::Journal(dir.to_owned()));
        return Ok(());
    }
    let store = KeyStore::in_data_dir(dir);
    if store.file().exists() {
        found.push(Thing::Keys(store));
    }
    for entry in entries.iter().filter(|_| deeper > 0) {
        // Links are not followed: what they lead to has a directory of its own.
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), deeper - 1, found)?;
        }
    }
    Ok(())
}

fn is_of_a_journal(name: &str) -> bool {
    let segment = name.strip_suffix(".segment").is_some_and(|id| id.len() == 16);
    segment || ["checkpoint-a", "checkpoint-b", tallylink_journal::POSITION_FILE].contains(&name)
}
