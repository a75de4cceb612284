//! The key store's promises, one module a subject.

mod damage;
mod editing;
mod following;

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::PeerName;

/// A key store in a directory that vanishes with it.
struct Fixture {
    store: KeyStore,
    _dir: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { store: KeyStore::in_data_dir(dir.path()), _dir: dir }
    }

    fn with_peers(names: &[&str]) -> Self {
        let fixture = Self::new();
        fixture.add(names);
        fixture
    }

    fn add(&self, names: &[&str]) -> Vec<Entry> {
        let new: Vec<_> = names.iter().map(|name| new_peer(name)).collect();
        self.store.edit().unwrap().add(&new, 7).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.store.read().unwrap().peers.iter().map(|peer| peer.name.to_string()).collect();
        names.sort();
        names
    }

    fn text(&self) -> String {
        fs::read_to_string(self.store.file()).unwrap()
    }

    /// Changes the file's bytes in place, as a failing disk would.
    fn tamper(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(self.store.file()).unwrap();
        change(&mut bytes);
        fs::write(self.store.file(), bytes).unwrap();
    }

    fn damage_file(&self) -> PathBuf {
        self.store.dir.join("damaged")
    }
}

fn name(text: &str) -> PeerName {
    text.parse().unwrap()
}

fn new_peer(text: &str) -> NewPeer {
    NewPeer { name: name(text), id: None }
}

/// The key of an entry as it stands in the file.
fn digits(entry: &Entry) -> String {
    entry.secret.expose().iter().map(|byte| format!("{byte:02x}")).collect()
}
