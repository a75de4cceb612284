//! Changing the key store, one process at a time.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rustix::fs::FlockOperation;
use zeroize::Zeroizing;

use super::line::{self, BadLine, Entry, KeyId, Line};
use super::peers::{Held, KEYS_PER_PEER, Peers};
use super::scan::Extent;
use super::{Contents, Damaged, KeyStore, Peer, StoreError};
use crate::private_file::{self, PrivateFileError};
use crate::{PeerId, PeerName, Secret};

/// A peer to add.
#[derive(Clone, Debug)]
pub struct NewPeer {
    /// What to call it.
    pub name: PeerName,
    /// Its id, if it has one already.
    pub id: Option<PeerId>,
}

/// The key store, locked for one change. Each change takes the editor, so what it read is never out of date.
#[derive(Debug)]
pub struct Editor {
    store: KeyStore,
    path: PathBuf,
    file: File,
    /// Where the next line goes.
    end: u64,
    peers: Peers,
    damaged: Vec<Damaged>,
    /// Held, not used: closing it gives the store to the next editor.
    _lock: File,
}

/// Below this, sweeping is not worth a new file; additions above it are written all or nothing.
const SMALL_BYTES: u64 = 64 << 10;

impl Editor {
    pub(super) fn open(store: &KeyStore) -> Result<Self, StoreError> {
        store.make_dir()?;
        let lock = private_file::open_or_create(&store.dir.join("lock"))?;
        let failed = |error: rustix::io::Errno| StoreError::Write { file: store.dir.join("lock"), error: error.into() };
        rustix::io::retry_on_intr(|| rustix::fs::flock(&lock, FlockOperation::LockExclusive)).map_err(failed)?;

        let path = store.file();
        let file = private_file::open_or_create(&path)?;
        let (contents, end) = Contents::of(&file, &path)?;
        let Contents { peers, damaged, .. } = contents;
        let editor = Self { store: store.clone(), path, file, end: end.at, peers, damaged, _lock: lock };
        editor.set_damage_aside().map_err(|error| editor.not_written(error))?;
        Ok(editor)
    }

    /// The peers before the change.
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// The lines that could not be read; they have been moved to [`Editor::damage_file`].
    pub fn damaged(&self) -> &[Damaged] {
        &self.damaged
    }

    /// Where lines go that could not be read.
    pub fn damage_file(&self) -> PathBuf {
        self.store.damage_file()
    }

    /// Gives each new peer a key. All are added and on disk, or none.
    ///
    /// # Errors
    /// A name or an id is taken, by a peer of the store or by one earlier in the list; or the store cannot be written.
    pub fn add(mut self, new: &[NewPeer], now: u64) -> Result<Vec<Entry>, StoreError> {
        let mut added = Vec::with_capacity(new.len());
        for NewPeer { name, id } in new {
            if self.peers.by_name(name).is_some() {
                return Err(StoreError::NameTaken(name.clone()));
            }
            let peer = match *id {
                Some(id) => id,
                None => self.free_id()?,
            };
            if let Some(owner) = self.peers.by_id(peer) {
                return Err(StoreError::IdTaken { id: peer, owner: owner.name.clone() });
            }
            let entry = Entry { peer, name: name.clone(), key_id: 0, secret: Secret::random()?, created: now };
            self.peers.insert(entry.clone(), Extent { at: self.end, len: 0 });
            added.push(entry);
        }
        if new.len() as u64 * line::LONGEST as u64 <= SMALL_BYTES {
            let mut lines = lines();
            added.iter().for_each(|entry| line::push_key(&mut lines, entry));
            self.append(&lines)?;
        } else {
            self.rewrite()?;
        }
        Ok(added)
    }

    /// Takes away one key of a peer, or the whole peer; it comes back as it was.
    ///
    /// # Errors
    /// There is no such peer or key; or the store cannot be written.
    pub fn remove(self, name_or_id: &str, key: Option<KeyId>) -> Result<Peer, StoreError> {
        let peer = self.find(name_or_id)?;
        if let Some(key) = key
            && peer.held().all(|held| held.id != key)
        {
            return Err(StoreError::UnknownKey { peer: peer.name, key });
        }
        let taken: Vec<_> = peer.held().filter(|held| key.is_none_or(|key| key == held.id)).cloned().collect();
        self.exchange(peer.id, &taken, None)?;
        Ok(peer)
    }

    /// Gives a peer a new key beside its newest one. With two keys already, the older goes.
    ///
    /// # Errors
    /// There is no such peer; or the store cannot be written.
    pub fn rotate(self, name_or_id: &str, now: u64) -> Result<Entry, StoreError> {
        let peer = self.find(name_or_id)?;
        let mut key_id = peer.keys().last().map_or(0, |(id, _)| id.wrapping_add(1));
        while peer.keys().any(|(id, _)| id == key_id) {
            key_id = key_id.wrapping_add(1);
        }
        let entry = Entry { peer: peer.id, name: peer.name.clone(), key_id, secret: Secret::random()?, created: now };
        let too_many = (peer.held().count() + 1).saturating_sub(KEYS_PER_PEER);
        let taken: Vec<_> = peer.held().take(too_many).cloned().collect();
        self.exchange(peer.id, &taken, Some(entry.clone()))?;
        Ok(entry)
    }

    fn find(&self, name_or_id: &str) -> Result<Peer, StoreError> {
        self.peers.find(name_or_id).cloned().ok_or_else(|| StoreError::UnknownPeer(name_or_id.to_owned()))
    }

    fn free_id(&self) -> Result<PeerId, StoreError> {
        loop {
            let id = PeerId::random()?;
            if self.peers.by_id(id).is_none() {
                return Ok(id);
            }
        }
    }

    /// Takes keys of a peer away and gives it another: told first, then the bytes of the keys taken are removed.
    fn exchange(mut self, peer: PeerId, taken: &[Held], given: Option<Entry>) -> Result<(), StoreError> {
        let mut lines = lines();
        for key in taken {
            line::push_gone(&mut lines, peer, key.id);
            self.peers.apply(Line::Gone { peer, key_id: key.id }, key.line);
        }
        if let Some(entry) = given {
            let begin = lines.len() as u64;
            line::push_key(&mut lines, &entry);
            let place = Extent { at: self.end + begin, len: lines.len() as u64 - begin - 1 };
            self.peers.insert(entry, place);
        }
        self.append(&lines)?;
        let blanked = taken.iter().try_for_each(|key| self.blank(key.line)).and_then(|()| self.file.sync_data());
        blanked.map_err(|error| self.not_written(error))?;
        let live: u64 = self.peers.iter().flat_map(Peer::held).map(|key| key.line.len + 1).sum();
        if self.end > 2 * live + SMALL_BYTES { self.rewrite() } else { Ok(()) }
    }

    /// Appends whole lines and syncs them; on failure the file ends where it ended before.
    fn append(&mut self, lines: &[u8]) -> Result<(), StoreError> {
        if let Err(error) = self.file.write_all_at(lines, self.end).and_then(|()| self.file.sync_data()) {
            // The failure that counts is the first; an unfinished line is cut off by the next editor.
            let _ = self.file.set_len(self.end);
            return Err(self.not_written(error));
        }
        self.end += lines.len() as u64;
        self.sync_dir().map_err(|error| self.not_written(error))
    }

    /// Writes all peers into a new file that then takes the old one's place.
    fn rewrite(&self) -> Result<(), StoreError> {
        let new = self.store.dir.join("peers.new");
        let written = self.write_all_peers(&new).and_then(|()| {
            fs::rename(&new, &self.path)?;
            self.sync_dir()
        });
        written.map_err(|error| {
            // Gone already if the rename succeeded.
            let _ = fs::remove_file(&new);
            self.not_written(error)
        })
    }

    fn write_all_peers(&self, new: &PathBuf) -> io::Result<()> {
        match fs::remove_file(new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private_file::create_new(new).map_err(|error| match error {
            PrivateFileError::Open { error, .. } => error,
            other => io::Error::other(other),
        })?;
        let mut lines = lines();
        for entry in self.peers.iter().flat_map(Peer::entries) {
            if lines.len() + line::LONGEST > lines.capacity() {
                file.write_all(&lines)?;
                lines.clear();
            }
            line::push_key(&mut lines, &entry);
        }
        file.write_all(&lines)?;
        file.sync_data()
    }

    /// Copies lines that cannot be read to a file of their own and makes them comments; cuts off an unfinished line.
    fn set_damage_aside(&self) -> io::Result<()> {
        let unfinished = self.file.metadata()?.len().saturating_sub(self.end);
        if self.damaged.is_empty() && unfinished == 0 {
            return Ok(());
        }
        let aside = private_file::open_or_create(&self.damage_file()).map_err(io::Error::other)?;
        let tail = Extent { at: self.end, len: unfinished };
        for bad in self.damaged.iter().map(|bad| bad.place).chain([tail]).filter(|bad| bad.len > 0) {
            self.copy_to_end_of(&aside, bad)?;
        }
        aside.sync_data()?;
        self.damaged.iter().try_for_each(|bad| match bad.reason {
            BadLine::End => self.file.write_all_at(b"\n", bad.place.at),
            BadLine::Checksum | BadLine::Foreign => self.blank(bad.place),
        })?;
        self.file.set_len(self.end)?;
        self.file.sync_data()
    }

    fn copy_to_end_of(&self, aside: &File, from: Extent) -> io::Result<()> {
        let mut piece = Zeroizing::new(vec![0; SMALL_BYTES as usize]);
        let mut done = 0;
        let mut end = aside.metadata()?.len();
        while done < from.len {
            let len = piece.len().min(usize::try_from(from.len - done).unwrap_or(usize::MAX));
            self.file.read_exact_at(&mut piece[..len], from.at + done)?;
            aside.write_all_at(&piece[..len], end)?;
            (done, end) = (done + len as u64, end + len as u64);
        }
        aside.write_all_at(b"\n", end)
    }

    /// Makes a line a comment without its content; the first byte alone decides how a reader sees it.
    fn blank(&self, line: Extent) -> io::Result<()> {
        let mut at = line.at;
        if line.len > 0 {
            self.file.write_all_at(b"#", at)?;
            at += 1;
        }
        let dots = [b'.'; line::LONGEST];
        while at < line.at + line.len {
            let len = dots.len().min(usize::try_from(line.at + line.len - at).unwrap_or(usize::MAX));
            self.file.write_all_at(&dots[..len], at)?;
            at += len as u64;
        }
        Ok(())
    }

    fn sync_dir(&self) -> io::Result<()> {
        File::open(&self.store.dir)?.sync_all()
    }

    fn not_written(&self, error: io::Error) -> StoreError {
        StoreError::Write { file: self.path.clone(), error }
    }
}

/// Room for lines that never moves, so that no copy of a key is left behind by growing.
fn lines() -> Zeroizing<Vec<u8>> {
    Zeroizing::new(Vec::with_capacity(SMALL_BYTES as usize + line::LONGEST))
}
