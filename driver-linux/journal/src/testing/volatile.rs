//! A store in a real directory that lacks what was not synced: a SIGKILL of the process is a power cut.
//!
//! The directory holds what was synced and, by seeded chance, any part of the rest, written early, in any order and torn
//! at any byte. Other processes read it as they would after the cut. Below it, `cached` holds what the store's own process
//! sees, as a kernel does that outlives the process: who comes next chooses whether that is gone ([`Volatile::new`]) or
//! still there ([`Volatile::resume`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::Chance;
use super::inode::SECTOR;
use crate::store::{Dir, LOCK, Store, StoreFile, SyncSite};

/// Files that have no durable name yet.
const NAMELESS: &str = "nameless";
/// What the process that wrote last saw.
const CACHED: &str = "cached";

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
    slowest: Duration,
}

/// One file: what this process sees of it, and the file in the directory that lags behind.
#[derive(Debug)]
struct Cached {
    visible: Vec<u8>,
    /// The same, for the next process.
    kept: File,
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
    /// The store in the directory at `path`, made if it is not there, after a power cut: with what survived there. What is
    /// written early, and how torn, goes by `seed`.
    ///
    /// # Errors
    /// As the file system says.
    pub fn new(path: &Path, seed: u64) -> io::Result<Self> {
        let dir = Dir::create(path)?;
        for below in [NAMELESS, CACHED] {
            match fs::remove_dir_all(path.join(below)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => fs::create_dir(path.join(below))?,
            }
        }
        for name in files(path)? {
            fs::copy(path.join(&name), path.join(CACHED).join(name))?;
        }
        Self::load(dir, path, seed)
    }

    /// The same after a SIGKILL of the process that had it: with all that it had written, synced or not.
    ///
    /// # Errors
    /// As the file system says; `NotFound` where nobody had a store.
    pub fn resume(path: &Path, seed: u64) -> io::Result<Self> {
        Self::load(Dir::open(path)?, path, seed)
    }

    /// Where the files are that [`resume`](Self::resume) will find.
    #[must_use]
    pub fn cached(path: &Path) -> PathBuf {
        path.join(CACHED)
    }

    fn load(dir: Dir, path: &Path, seed: u64) -> io::Result<Self> {
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
            slowest: Duration::ZERO,
        };
        let (visible, durable) = (files(&path.join(CACHED))?, files(path)?);
        for name in &visible {
            let named = durable.contains(name);
            let at = if named { path.join(name) } else { state.nameless(name) };
            let disk = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&at)?;
            let kept = OpenOptions::new().read(true).write(true).open(path.join(CACHED).join(name))?;
            let number = state.add(Cached::found(fs::read(path.join(CACHED).join(name))?, kept, &fs::read(&at)?, disk));
            state.names.insert(name.clone(), number);
            if named {
                state.durable.insert(name.clone(), number);
            }
        }
        for name in durable.difference(&visible) {
            // Its name is still to go.
            state.next += 1;
            state.durable.insert(name.clone(), state.next - 1);
        }
        Ok(Self { dir, state: Arc::new(Mutex::new(state)) })
    }

    /// Makes every sync at `site` do nothing and claim success, to show that the site is needed.
    pub fn ignore(&self, site: Option<SyncSite>) {
        self.state().ignored = site;
    }

    /// Lets every sync take up to so long before it does anything, by chance: more processes are killed in the middle of one.
    pub fn slow(&self, most: Duration) {
        self.state().slowest = most;
    }

    /// Waits as a slow disk does. Others may write meanwhile.
    fn dawdle(&self) {
        let pause = {
            let state = &mut *self.state();
            let most = u64::try_from(state.slowest.as_micros()).unwrap_or(u64::MAX);
            if most == 0 { 0 } else { state.chance.below(most) }
        };
        if pause > 0 {
            thread::sleep(Duration::from_micros(pause));
        }
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

    fn nameless(&self, name: &str) -> PathBuf {
        self.path.join(NAMELESS).join(name)
    }

    fn cached(&self, name: &str) -> PathBuf {
        self.path.join(CACHED).join(name)
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
                fs::rename(self.nameless(name), at)?;
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
    fn new(kept: File, disk: File) -> Self {
        Self { visible: Vec::new(), kept, dirty: BTreeSet::new(), shortest: 0, disk }
    }

    /// As the process before left it: everything by which the directory differs is not synced.
    fn found(visible: Vec<u8>, kept: File, on_disk: &[u8], disk: File) -> Self {
        let sectors = visible.len().div_ceil(SECTOR);
        let of = |bytes: &[u8], at: usize| bytes.get(at * SECTOR..).map(|b| b[..b.len().min(SECTOR)].to_vec());
        let dirty = (0..sectors).filter(|&at| of(&visible, at) != of(on_disk, at)).collect();
        Self { shortest: visible.len().min(on_disk.len()), visible, kept, dirty, disk }
    }

    fn resize(&mut self, bytes: u64) -> io::Result<()> {
        self.kept.set_len(bytes)?;
        self.visible.resize(bytes as usize, 0);
        self.shortest = self.shortest.min(self.visible.len());
        Ok(())
    }

    fn write(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.kept.write_all_at(bytes, offset)?;
        let from = offset as usize;
        let to = from + bytes.len();
        if self.visible.len() < to {
            self.visible.resize(to, 0);
        }
        self.visible[from..to].copy_from_slice(bytes);
        self.dirty.extend(from / SECTOR..to.div_ceil(SECTOR));
        Ok(())
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
                file.resize(0)?;
                file.dirty.clear();
                number
            }
            None => {
                // A name that was removed and comes back is another file: the directory forgets the old one first.
                state.settle(name)?;
                let open = |at| OpenOptions::new().read(true).write(true).create(true).truncate(true).open(at);
                let disk = open(state.nameless(name))?;
                let kept = open(state.cached(name))?;
                let number = state.add(Cached::new(kept, disk));
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
        fs::remove_file(state.cached(name))?;
        state.name_early(name)
    }

    fn sync_names(&self, site: SyncSite) -> io::Result<()> {
        self.dawdle();
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
        if bytes > file.visible.len() as u64 { file.resize(bytes) } else { Ok(()) }
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.store.state().file(self.file)?.resize(bytes)
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
        state.file(self.file)?.write(bytes, offset)?;
        state.write_early(self.file)
    }

    fn sync(&mut self, site: SyncSite) -> io::Result<()> {
        self.store.dawdle();
        let state = &mut *self.store.state();
        if state.ignored == Some(site) {
            return Ok(());
        }
        state.file(self.file)?.sync()
    }
}

/// The names of the files in a directory.
fn files(path: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            // A name that is not UTF-8 is not one of ours; and the lock is no content.
            names.extend(entry.file_name().into_string().ok().filter(|name| name != LOCK));
        }
    }
    Ok(names)
}
