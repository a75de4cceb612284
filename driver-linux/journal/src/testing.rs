//! A store in memory that keeps unsynced writes apart, so that a test can kill the process or cut the power.
//!
//! Dropping a journal without more is a SIGKILL: what was written stays readable, synced or not. A
//! [`power_cut`](MemStore::power_cut) on top of that keeps what was synced and, by seeded chance, any part of the
//! rest, torn at any byte. A failed sync behaves as on Linux: the pages count as clean afterwards, a later sync does
//! not write them, and only the next power cut shows that they are gone. Names are files' only after
//! [`sync_names`](crate::Store::sync_names).

mod faults;
mod inode;
mod look;
mod volatile;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use faults::{Fault, Operation};
use inode::Inode;
pub use look::{Kind, entries};
pub use volatile::{Volatile, VolatileFile};

use crate::store::{Store, StoreFile, SyncSite};

/// A store in memory; clones are the same store.
#[derive(Clone, Debug)]
pub struct MemStore {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    /// The names as a process sees them, and as a power cut leaves them.
    names: BTreeMap<String, u64>,
    durable_names: BTreeMap<String, u64>,
    locked: bool,
    chance: Chance,
    ignored: Option<SyncSite>,
    faults: Vec<Fault>,
    capacity: u64,
    /// Operations until the process dies; none unless set.
    life: Option<u64>,
    /// Calls of each kind so far that reached the disk.
    syncs: u64,
}

/// Held by the writer.
#[derive(Debug)]
pub struct MemLock(MemStore);

/// An open file of a [`MemStore`].
#[derive(Debug)]
pub struct MemFile {
    store: MemStore,
    inode: u64,
}

/// Seeded random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The sequence of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit
    }

    /// True in `percent` of a hundred cases.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

impl MemStore {
    /// An empty store; power cuts go by `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let inner = Inner {
            inodes: BTreeMap::new(),
            next_inode: 0,
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            locked: false,
            chance: Chance::new(seed),
            ignored: None,
            faults: Vec::new(),
            capacity: u64::MAX,
            life: None,
            syncs: 0,
        };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Makes every sync at `site` do nothing and claim success, to show that the site is needed.
    pub fn ignore(&self, site: Option<SyncSite>) {
        self.inner().ignored = site;
    }

    /// Adds a fault to come.
    pub fn add_fault(&self, fault: Fault) {
        self.inner().faults.push(fault);
    }

    /// Takes back every fault that is still to come.
    pub fn clear_faults(&self) {
        self.inner().faults.clear();
    }

    /// From now on all files together have room for this many bytes.
    pub fn set_capacity(&self, bytes: u64) {
        self.inner().capacity = bytes;
    }

    /// Lets every operation fail after `operations` more, as if the process had been killed there; until
    /// [`revive`](Self::revive).
    pub fn die_after(&self, operations: u64) {
        self.inner().life = Some(operations);
    }

    /// A new process: operations succeed again.
    pub fn revive(&self) {
        self.inner().life = None;
    }

    /// How many syncs reached the disk.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.inner().syncs
    }

    /// Cuts the power. Whoever held the store open must be gone, its journal and readers dropped.
    pub fn power_cut(&self) {
        let inner = &mut *self.inner();
        // How much of what was never synced the disk happens to have.
        let kept_percent = [0, 20, 50, 80, 100][inner.chance.below(5) as usize];
        for inode in inner.inodes.values_mut() {
            inode.power_cut(&mut inner.chance, kept_percent);
        }
        let changed: Vec<String> = inner.names.keys().chain(inner.durable_names.keys()).cloned().collect();
        for name in changed {
            let (now, durable) = (inner.names.get(&name).copied(), inner.durable_names.get(&name).copied());
            if now != durable && inner.chance.percent(kept_percent) {
                match now {
                    Some(inode) => inner.durable_names.insert(name, inode),
                    None => inner.durable_names.remove(&name),
                };
            }
        }
        inner.names = inner.durable_names.clone();
        let named: Vec<u64> = inner.names.values().copied().collect();
        inner.inodes.retain(|inode, _| named.contains(inode));
        inner.locked = false;
    }

    /// Changes a file behind the journal's back, as rot does; on the disk and in memory alike.
    ///
    /// # Panics
    /// There is no such file.
    pub fn edit(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let inner = &mut *self.inner();
        let inode = inner.names.get(name).and_then(|inode| inner.inodes.get_mut(inode));
        inode.expect("the file to edit").edit(change);
    }

    /// A copy of a file as a process would read it.
    ///
    /// # Panics
    /// There is no such file.
    #[must_use]
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let inner = &*self.inner();
        let inode = inner.names.get(name).and_then(|inode| inner.inodes.get(inode));
        inode.expect("the file to read").visible().to_vec()
    }

    /// A store of its own with the same files, all of them durable.
    #[must_use]
    pub fn fork(&self, seed: u64) -> Self {
        let fork = Self::new(seed);
        {
            let (from, to) = (&*self.inner(), &mut *fork.inner());
            to.names = from.names.clone();
            to.durable_names = from.names.clone();
            to.next_inode = from.next_inode;
            to.inodes = from.inodes.iter().map(|(id, inode)| (*id, Inode::durable(inode.visible()))).collect();
        }
        fork
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A test that panicked elsewhere has its own message.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn fault(&mut self, operation: Operation) -> io::Result<()> {
        if let Some(life) = &mut self.life {
            *life = life.checked_sub(1).ok_or(io::ErrorKind::BrokenPipe)?;
        }
        faults::strike(&mut self.faults, operation)
    }

    fn used(&self) -> u64 {
        self.names.values().filter_map(|inode| self.inodes.get(inode)).map(|i| i.visible().len() as u64).sum()
    }
}

impl Drop for MemLock {
    fn drop(&mut self) {
        self.0.inner().locked = false;
    }
}

impl Store for MemStore {
    type File = MemFile;
    type Lock = MemLock;

    fn lock(&self) -> io::Result<Option<MemLock>> {
        let inner = &mut *self.inner();
        let free = !std::mem::replace(&mut inner.locked, true);
        Ok(free.then(|| MemLock(self.clone())))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let inner = &mut *self.inner();
        inner.fault(Operation::List)?;
        Ok(inner.names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<MemFile> {
        let inner = &mut *self.inner();
        inner.fault(Operation::Create)?;
        let inode = inner.next_inode;
        inner.next_inode += 1;
        inner.inodes.insert(inode, Inode::default());
        inner.names.insert(name.to_owned(), inode);
        Ok(MemFile { store: self.clone(), inode })
    }

    fn open(&self, name: &str, _writable: bool) -> io::Result<MemFile> {
        let inner = &mut *self.inner();
        inner.fault(Operation::Open)?;
        let inode = *inner.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(MemFile { store: self.clone(), inode })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let inner = &mut *self.inner();
        inner.fault(Operation::Remove)?;
        inner.names.remove(name).map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_names(&self, site: SyncSite) -> io::Result<()> {
        let inner = &mut *self.inner();
        inner.fault(Operation::Sync(site))?;
        if inner.ignored != Some(site) {
            inner.durable_names = inner.names.clone();
            inner.syncs += 1;
        }
        Ok(())
    }

    fn describe(&self, name: &str) -> String {
        format!("memory/{name}")
    }
}

impl MemFile {
    fn with<T>(&self, act: impl FnOnce(&mut Inode, u64) -> io::Result<T>) -> io::Result<T> {
        let inner = &mut *self.store.inner();
        let room = inner.capacity.saturating_sub(inner.used());
        // Gone with a power cut: its holder should be, too.
        let inode = inner.inodes.get_mut(&self.inode).ok_or(io::ErrorKind::NotConnected)?;
        act(inode, room)
    }

    fn fault(&self, operation: Operation) -> io::Result<()> {
        self.store.inner().fault(operation)
    }
}

impl StoreFile for MemFile {
    fn size(&self) -> io::Result<u64> {
        self.with(|inode, _| Ok(inode.visible().len() as u64))
    }

    fn allocate(&mut self, bytes: u64) -> io::Result<()> {
        self.fault(Operation::Allocate)?;
        self.with(|inode, room| inode.grow(bytes, room))
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.fault(Operation::Truncate)?;
        self.with(|inode, _| {
            inode.cut(bytes);
            Ok(())
        })
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.fault(Operation::Read)?;
        self.with(|inode, _| Ok(inode.read(into, offset)))
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.fault(Operation::Write)?;
        self.with(|inode, room| inode.write(bytes, offset, room))
    }

    fn sync(&mut self, site: SyncSite) -> io::Result<()> {
        let failed = self.fault(Operation::Sync(site));
        if failed.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
            // Killed before the call: nothing was tried.
            return failed;
        }
        let ignored = {
            let inner = &mut *self.store.inner();
            inner.syncs += 1;
            inner.ignored == Some(site)
        };
        self.with(|inode, _| {
            match &failed {
                Err(_) => inode.fail_sync(),
                Ok(()) if !ignored => inode.sync(),
                Ok(()) => {}
            }
            Ok(())
        })?;
        failed
    }
}
