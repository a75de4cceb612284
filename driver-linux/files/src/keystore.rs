//! Peers and their keys on disk.
//!
//! The key store is the directory `keys` in the data directory:
//!
//! | file | what it holds |
//! |---|---|
//! | `peers` | one line a key, see below |
//! | `lock` | nothing; [`Editor`]s lock it, one at a time |
//! | `damaged` | lines of `peers` that could not be read, kept for whoever wants to look at them |
//!
//! A line of `peers` ends in the CRC32C of what stands before it, so damage costs the peer of that line and no other; a
//! line's end with one bad bit costs none:
//!
//! ```text
//! key PEER-ID KEY-ID KEY CREATED NAME CRC32C
//! gone PEER-ID KEY-ID CRC32C
//! # anything
//! ```
//!
//! The file grows at its end, so that a running gateway reads only what is new. Taking a key away first appends
//! `gone`, which tells followers, then turns the key's line into a comment without the key, which keeps damage to
//! the `gone` line from bringing the key back. The comment is begun by one byte, so that whoever reads at that
//! moment sees the line either whole or as a comment; readers therefore take no lock. Large additions, and the
//! sweeping out of many comments, write a new file and rename it over the old one: all or nothing.

mod edit;
mod error;
mod follow;
mod line;
mod peers;
mod scan;

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::private_file;

pub use edit::{Editor, NewPeer};
pub use error::StoreError;
pub use follow::{Change, Follower};
pub use line::{BadLine, Entry, KeyId};
pub use peers::{KEYS_PER_PEER, Peer, Peers};
pub use scan::Damaged;

/// Where a key store lies.
#[derive(Clone, Debug)]
pub struct KeyStore {
    dir: PathBuf,
}

/// What a key store held when it was read.
#[derive(Debug, Default)]
pub struct Contents {
    /// The peers of all lines that could be read.
    pub peers: Peers,
    /// The other lines.
    pub damaged: Vec<Damaged>,
    /// Bytes behind the last whole line: a change that was cut off, or a file that was.
    pub unfinished: u64,
}

impl KeyStore {
    /// The key store of a data directory; nothing is opened yet.
    pub fn in_data_dir(data: &Path) -> Self {
        Self { dir: data.join("keys") }
    }

    /// The file with the keys.
    pub fn file(&self) -> PathBuf {
        self.dir.join("peers")
    }

    /// Where lines go that could not be read.
    pub fn damage_file(&self) -> PathBuf {
        self.dir.join("damaged")
    }

    /// Reads everything; a store that was never written is empty.
    ///
    /// # Errors
    /// The file cannot be read, or others than its owner may use it.
    pub fn read(&self) -> Result<Contents, StoreError> {
        let path = self.file();
        let file = match private_file::open(&path) {
            Err(error) if error.is_not_found() => return Ok(Contents::default()),
            opened => opened?,
        };
        let (contents, _) = Contents::of(&file, &path)?;
        Ok(contents)
    }

    /// About how many peers there are, by the size of the file: a guess that saves moving them about.
    pub fn expected_peers(&self) -> usize {
        fs::metadata(self.file()).map_or(0, |is| expected(is.len()))
    }

    /// Opens the store for one change. Waits while another process makes one.
    ///
    /// # Errors
    /// The store cannot be read or written, or others than its owner may use it.
    pub fn edit(&self) -> Result<Editor, StoreError> {
        Editor::open(self)
    }

    /// Follows the store from its present state on.
    ///
    /// # Errors
    /// The directory cannot be made or watched.
    pub fn follow(&self) -> Result<Follower, StoreError> {
        Follower::open(self.clone())
    }

    /// Makes the directory, for its owner only.
    fn make_dir(&self) -> Result<(), StoreError> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
        made.map_err(|error| StoreError::Write { file: self.dir.clone(), error })
    }
}

impl Contents {
    /// Whether every line could be read, to the file's end.
    pub fn is_whole(&self) -> bool {
        self.damaged.is_empty() && self.unfinished == 0
    }

    /// Reads all complete lines of an open store and tells where they end.
    fn of(file: &fs::File, path: &Path) -> Result<(Self, scan::Place), StoreError> {
        let failed = |error| StoreError::Read { file: path.to_owned(), error };
        let peers = Peers::with_capacity(expected(file.metadata().map_err(failed)?.len()));
        let mut contents = Self { peers, damaged: Vec::new(), unfinished: 0 };
        let end = scan::scan(file, scan::Place::START, |raw| match raw.decode() {
            Ok(line) => contents.peers.apply(line, raw.place),
            Err(reason) => contents.damaged.push(Damaged { line: raw.number, reason, place: raw.place }),
        });
        let end = end.map_err(failed)?;
        contents.unfinished = file.metadata().map_err(failed)?.len().saturating_sub(end.at);
        Ok((contents, end))
    }
}

/// How many keys a file of that length holds. Not a promise: the file may be anything.
fn expected(bytes: u64) -> usize {
    (bytes / line::USUAL as u64).min(1 << 20) as usize
}

#[cfg(test)]
mod tests;
