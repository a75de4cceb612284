//! Following the key store while others change it: no polling, and only what is new is read.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hashbrown::HashMap;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use super::line::{Entry, KeyId, Line};
use super::scan::{self, Place};
use super::{Damaged, KeyStore, StoreError};
use crate::{PeerId, private_file};

/// What happened to the key store, in this order.
#[derive(Debug)]
pub enum Change {
    /// A key is there that was not, or its name or bytes differ from before.
    Key(Entry),
    /// A key is gone. A peer without keys is no peer.
    Gone {
        /// Whose.
        peer: PeerId,
        /// Which.
        key_id: KeyId,
    },
    /// A line cannot be read; everything else goes on.
    Damaged(Damaged),
    /// The file was overwritten in place: every key told before is gone unless it is told again.
    Forgotten,
}

/// Follows a key store. Its descriptor becomes readable when something may have changed; then call
/// [`Follower::catch_up`]. It never blocks on a lock.
#[derive(Debug)]
pub struct Follower {
    store: KeyStore,
    inotify: OwnedFd,
    /// What has been told: everything in this file before this place.
    told: Option<(File, Place)>,
}

impl Follower {
    pub(super) fn open(store: KeyStore) -> Result<Self, StoreError> {
        let failed = |error: rustix::io::Errno| StoreError::Watch { dir: store.dir.clone(), error: error.into() };
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map_err(failed)?;
        store.make_dir()?;
        let follower = Self { store, inotify, told: None };
        follower.watch()?;
        Ok(follower)
    }

    /// Tells everything that changed since the last call; the first call tells everything there is.
    ///
    /// # Errors
    /// The store cannot be read now, or others than its owner may use it. What was told before stays true; call again
    /// when the descriptor is readable.
    pub fn catch_up(&mut self, tell: &mut dyn FnMut(Change)) -> Result<(), StoreError> {
        // Events are taken before the file is looked at, so that none can be missed; what they say does not matter.
        self.drain()?;
        self.watch()?;
        let path = self.store.file();
        let file = match private_file::open(&path) {
            // Not there yet, or on its way to being replaced.
            Err(error) if error.is_not_found() => return Ok(()),
            opened => opened?,
        };
        self.compare(file, tell).map_err(|error| StoreError::Read { file: path, error })
    }

    /// Bytes behind the last whole line that was told: a change that is being made, or was cut off.
    pub fn unfinished(&self) -> u64 {
        let Some((file, place)) = &self.told else { return 0 };
        file.metadata().map_or(0, |is| is.len().saturating_sub(place.at))
    }

    fn compare(&mut self, file: File, tell: &mut dyn FnMut(Change)) -> io::Result<()> {
        let is = file.metadata()?;
        let Some((old, place)) = self.told.take() else {
            let place = tell_from(&file, Place::START, tell)?;
            self.told = Some((file, place));
            return Ok(());
        };
        let was = old.metadata()?;
        let end = if (was.dev(), was.ino()) != (is.dev(), is.ino()) {
            let place = tell_from(&old, place, tell)?;
            tell_differences(&old, place, &file, tell)
        } else if is.len() < place.at {
            tell(Change::Forgotten);
            tell_from(&file, Place::START, tell)
        } else {
            tell_from(&file, place, tell)
        };
        match end {
            Ok(place) => self.told = Some((file, place)),
            Err(_) => self.told = Some((old, place)),
        }
        end.map(drop)
    }

    /// Watching a directory twice is watching it once; one that was made anew needs it again, which only its parent
    /// tells: while a file of it is open, a removed directory does not say so itself. One that is gone is not made: it
    /// may be about to come back, with everything in it.
    fn watch(&self) -> Result<(), StoreError> {
        let names = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO;
        let contents = WatchFlags::MODIFY | WatchFlags::ATTRIB;
        let add = |dir: &Path, what| inotify::add_watch(&self.inotify, dir, what | WatchFlags::ONLYDIR).map(drop);
        let parent = self.store.dir.parent().unwrap_or(&self.store.dir);
        let watched = add(parent, names).and_then(|()| match add(&self.store.dir, names | contents) {
            Err(rustix::io::Errno::NOENT) => Ok(()),
            watched => watched,
        });
        watched.map_err(|error| self.not_watched(error))
    }

    fn drain(&self) -> Result<(), StoreError> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.inotify, &mut buffer);
        loop {
            match events.next() {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(self.not_watched(error)),
            }
        }
    }

    fn not_watched(&self, error: rustix::io::Errno) -> StoreError {
        match error {
            rustix::io::Errno::NOENT => StoreError::Read { file: self.store.file(), error: error.into() },
            _ => StoreError::Watch { dir: self.store.dir.clone(), error: error.into() },
        }
    }
}

impl AsFd for Follower {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

impl AsRawFd for Follower {
    fn as_raw_fd(&self) -> RawFd {
        self.inotify.as_raw_fd()
    }
}

/// Tells every line from a place on.
fn tell_from(file: &File, from: Place, tell: &mut dyn FnMut(Change)) -> io::Result<Place> {
    scan::scan(file, from, |raw| match raw.decode() {
        Ok(Line::Key(entry)) => tell(Change::Key(entry)),
        Ok(Line::Gone { peer, key_id }) => tell(Change::Gone { peer, key_id }),
        Ok(Line::Comment) => {}
        Err(reason) => tell(Change::Damaged(Damaged { line: raw.number, reason, place: raw.place })),
    })
}

/// Tells how a new file differs from the told part of the one it replaced. Of each old key only a fingerprint is
/// kept, and only while this runs.
fn tell_differences(old: &File, told: Place, new: &File, tell: &mut dyn FnMut(Change)) -> io::Result<Place> {
    let hasher = RandomState::new();
    let fingerprint = |entry: &Entry| hasher.hash_one((entry.secret.expose(), &entry.name));
    let mut before: HashMap<(PeerId, KeyId), Before> = HashMap::new();
    scan::scan(old, Place::START, |raw| match raw.decode() {
        Ok(Line::Key(entry)) if raw.place.at < told.at => {
            let before_entry = Before { fingerprint: fingerprint(&entry), still_there: false };
            before.insert((entry.peer, entry.key_id), before_entry);
        }
        Ok(Line::Gone { peer, key_id }) if raw.place.at < told.at => {
            before.remove(&(peer, key_id));
        }
        _ => {}
    })?;
    scan::scan(new, Place::START, |raw| {
        if let Ok(Line::Key(entry)) = raw.decode()
            && let Some(key) = before.get_mut(&(entry.peer, entry.key_id))
        {
            key.still_there = true;
        }
    })?;
    // What is gone is told first: so a peer never has more keys than it may.
    for ((peer, key_id), _) in before.extract_if(|_, key| !key.still_there) {
        tell(Change::Gone { peer, key_id });
    }
    tell_from(new, Place::START, &mut |change| match change {
        Change::Key(entry)
            if before.get(&(entry.peer, entry.key_id)).is_some_and(|key| key.fingerprint == fingerprint(&entry)) => {}
        news => tell(news),
    })
}

/// A key as it was told.
struct Before {
    fingerprint: u64,
    still_there: bool,
}
