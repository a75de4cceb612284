//! A store in a real directory that keeps unsynced writes in the process's memory: a SIGKILL is a power cut.
//!
//! The directory holds what was synced and, by seeded chance, any part of the rest, written early, in any order and torn
//! at any byte. Other processes read it as they would after the cut. Only the store's own process sees what is not synced.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Chance;
use super::inode::SECTOR;
use crate::store::{Dir, Store, StoreFile, SyncSite};

/// Files that have no durable name yet.
const NAMELESS: &str = "nameless";

/// A directory in which nothing lasts that was not synced. Clones are the same store.
#[derive(Clone, Debug)]
pub struct Volatile {
    dir: Dir,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    path: PathBuf,
    files: BTreeMap<u64, Cached>,
    next: u64,
    /// The names as this process sees them, and as the directory has them.
    names: BTreeMap<String, u64>,
    durable: BTreeMap<String, u64>,
    chance: Chance,
    /// How much of what is written reaches the directory before it is synced.
    early_percent: u64,
    ignored: Option<SyncSite>,
}

/// One file: what this process sees of it, and the file in the directory that lags behind.
#[derive(Debug)]
struct Cached {
    visible: Vec<u8>,
    dirty: BTreeSet<usize>,
    /// The shortest it was since the last sync: what the directory has behind that is not part of it.
    shortest: usize,
    disk: File,
}

/// An open file of a [`Volatile`] store.
#[derive(Debug)]
pub struct VolatileFile {
    store: Volatile,
    file: u64,
}

impl Volatile {
    /// The store in the directory at `path`, made if it is not there, with what survived there. What is written early, and how
    /// torn, goes by `seed`.
    ///
    /// # Errors
    /// As the file system says.
    pub fn new(path: &Path, seed: u64) -> io::Result<Self> {
        let dir = Dir::create(path)?;
        match fs::remove_dir_all(path.join(NAMELESS)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => fs::create_dir(path.join(NAMELESS))?,
        }
        let mut chance = Chance::new(seed);
        let early_percent = [0, 20, 50, 80, 100][chance.below(5) as usize];
        let mut state = State {
            path: path.to_owned(),
            files: BTreeMap::new(),
            next: 0,
            names: BTreeMap::new(),
            durable: BTreeMap::new(),
            chance,
            early_percent,
            ignored: None,
        };
        for name in dir.names()? {
            let at = path.join(&name);
            if fs::metadata(&at)?.is_file() {
                let disk = OpenOptions::new().read(true).write(true).open(&at)?;
                let number = state.add(Cached::new(fs::read(&at)?, disk));
                state.durable.insert(name, number);
            }
        }
        state.names = state.durable.clone();
        Ok(Self { dir, state: Arc::new(Mutex::new(state)) })
    }

    /// Makes every sync at `site` do nothing and claim success, to show that the site is needed.
    pub fn ignore(&self, site: Option<SyncSite>) {
        self.state().ignored = site;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Whoever panicked while holding it has a message of its own.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, file: Cached) -> u64 {
        let number = self.next;
        self.next += 1;
        self.files.insert(number, file);
        number
    }

    fn nameless(&self, number: u64) -> PathBuf {
        self.path.join(NAMELESS).join(number.to_string())
    }

    fn file(&mut self, number: u64) -> io::Result<&mut Cached> {
        self.files.get_mut(&number).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Makes the directory say of `name` what this process does.
    fn settle(&mut self, name: &str) -> io::Result<()> {
        let (now, at) = (self.names.get(name).copied(), self.path.join(name));
        if now == self.durable.get(name).copied() {
            return Ok(());
        }
        match now {
            Some(number) => {
                fs::rename(self.nameless(number), at)?;
                self.durable.insert(name.to_owned(), number);
            }
            None => {
                fs::remove_file(at)?;
                self.durable.remove(name);
            }
        }
        Ok(())
    }

    /// As a disk that is not idle does: writes something before it must.
    fn write_early(&mut self, number: u64) -> io::Result<()> {
        let Some(file) = self.files.get_mut(&number) else { return Ok(()) };
        for &sector in &file.dirty {
            if self.chance.percent(self.early_percent) {
                let torn = self.chance.percent(5);
                file.put(sector, if torn { self.chance.below(SECTOR as u64) as usize } else { SECTOR })?;
            }
        }
        Ok(())
    }

    fn name_early(&mut self, name: &str) -> io::Result<()> {
        if self.chance.percent(self.early_percent) { self.settle(name) } else { Ok(()) }
    }
}

impl Cached {
    fn new(visible: Vec<u8>, disk: File) -> Self {
        Self { shortest: visible.len(), visible, dirty: BTreeSet::new(), disk }
    }

    fn resize(&mut self, bytes: u64) {
        self.visible.resize(bytes as usize, 0);
        self.shortest = self.shortest.min(self.visible.len());
    }

    fn write(&mut self, bytes: &[u8], offset: u64) {
        let from = offset as usize;
        let to = from + bytes.len();
        if self.visible.len() < to {
            self.visible.resize(to, 0);
        }
        self.visible[from..to].copy_from_slice(bytes);
        self.dirty.extend(from / SECTOR..to.div_ceil(SECTOR));
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.set_len(self.shortest as u64)?;
        self.disk.set_len(self.visible.len() as u64)?;
        self.shortest = self.visible.len();
        for sector in std::mem::take(&mut self.dirty) {
            self.put(sector, SECTOR)?;
        }
        Ok(())
    }

    /// The first `len` bytes of a sector reach the directory.
    fn put(&self, sector: usize, len: usize) -> io::Result<()> {
        let from = (sector * SECTOR).min(self.visible.len());
        let to = (from + len).min(self.visible.len());
        self.disk.write_all_at(&self.visible[from..to], from as u64)
    }
}

impl Store for Volatile {
    type File = VolatileFile;
    type Lock = File;

    fn lock(&self) -> io::Result<Option<File>> {
        self.dir.lock()
    }

    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.state().names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<VolatileFile> {
        let state = &mut *self.state();
        let number = match state.names.get(name).copied() {
            Some(number) => {
                let file = state.file(number)?;
                file.resize(0);
                file.dirty.clear();
                number
            }
            None => {
                let at = state.nameless(state.next);
                let disk = OpenOptions::new().read(true).write(true).create_new(true).open(at)?;
                let number = state.add(Cached::new(Vec::new(), disk));
                // A name that was removed and comes back is another file: the directory forgets the old one first.
                state.settle(name)?;
                state.names.insert(name.to_owned(), number);
                state.name_early(name)?;
                number
            }
        };
        Ok(VolatileFile { store: self.clone(), file: number })
    }

    fn open(&self, name: &str, _writable: bool) -> io::Result<VolatileFile> {
        let number = *self.state().names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(VolatileFile { store: self.clone(), file: number })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let state = &mut *self.state();
        state.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        state.name_early(name)
    }

    fn sync_names(&self, site: SyncSite) -> io::Result<()> {
        let state = &mut *self.state();
        if state.ignored == Some(site) {
            return Ok(());
        }
        let all: BTreeSet<String> = state.names.keys().chain(state.durable.keys()).cloned().collect();
        all.iter().try_for_each(|name| state.settle(name))
    }

    fn describe(&self, name: &str) -> String {
        self.dir.describe(name)
    }
}

impl StoreFile for VolatileFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.store.state().file(self.file)?.visible.len() as u64)
    }

    fn allocate(&mut self, bytes: u64) -> io::Result<()> {
        let state = &mut *self.store.state();
        let file = state.file(self.file)?;
        if bytes > file.visible.len() as u64 {
            file.resize(bytes);
        }
        Ok(())
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.store.state().file(self.file)?.resize(bytes);
        Ok(())
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = &mut *self.store.state();
        let visible = &state.file(self.file)?.visible;
        let from = (offset as usize).min(visible.len());
        let len = into.len().min(visible.len() - from);
        into[..len].copy_from_slice(&visible[from..from + len]);
        Ok(len)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let state = &mut *self.store.state();
        state.file(self.file)?.write(bytes, offset);
        state.write_early(self.file)
    }

    fn sync(&mut self, site: SyncSite) -> io::Result<()> {
        let state = &mut *self.store.state();
        if state.ignored == Some(site) {
            return Ok(());
        }
        state.file(self.file)?.sync()
    }
}
