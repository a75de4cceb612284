//! The journal's directory as the gateway uses it.
//!
//! Every call is timed, for those who wonder why nothing moves ([`Pulse`]). And a sync counts only while the file still
//! has its name: an fdatasync of a file whose directory was removed or unmounted succeeds, and proves nothing.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tallylink_journal::{Dir, Store, StoreFile, SyncSite};

use crate::clock;

/// A call that takes longer is counted as slow.
pub(super) const SLOW: Duration = Duration::from_secs(1);
/// What [`try_out`] makes and removes again.
const TRIAL: &str = "trial";
/// As much as the smallest segment takes, and a group in it.
const TRIAL_BYTES: u64 = 128 << 10;

/// The directory, watched.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    dir: Dir,
    pulse: Arc<Pulse>,
    held: Arc<Mutex<Option<File>>>,
}

/// The directory is there and is not the one that was opened, or will never be there again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Lost {
    #[error("its lock file was removed")]
    Removed,
    #[error("another directory is in its place")]
    Replaced,
}

/// Why the directory cannot be used now.
#[derive(Debug)]
pub(super) enum Absent {
    /// It may come back.
    For(io::Error),
    /// It will not.
    Ever(Lost),
}

impl Disk {
    pub(super) fn new(dir: Dir, pulse: Arc<Pulse>) -> Self {
        Self { dir, pulse, held: Arc::default() }
    }

    /// Whether the directory is the one whose lock this process holds.
    ///
    /// # Errors
    /// It is not there, or is another.
    pub(super) fn check(&self) -> Result<(), Absent> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(held) = &*held else { return Ok(()) };
        let held = held.metadata().map_err(Absent::For)?;
        if held.nlink() == 0 {
            return Err(Absent::Ever(Lost::Removed));
        }
        let path: Arc<Path> = self.dir.path().join("lock").into();
        match self.pulse.during("look at", &path, || fs::metadata(&path)) {
            Ok(there) if identity(&there) == identity(&held) => Ok(()),
            Ok(_) => Err(Absent::Ever(Lost::Replaced)),
            Err(error) => Err(Absent::For(error)),
        }
    }

    fn watch(&self, name: &str, open: impl FnOnce() -> io::Result<File>) -> io::Result<Named> {
        let path: Arc<Path> = self.dir.path().join(name).into();
        let file = self.pulse.during("open", &path, open)?;
        let identity = identity(&file.metadata()?);
        Ok(Named { file, path, identity, pulse: Arc::clone(&self.pulse) })
    }
}

impl Store for Disk {
    type File = Named;
    type Lock = File;

    fn lock(&self) -> io::Result<Option<File>> {
        let lock = self.dir.lock()?;
        let held = lock.as_ref().map(File::try_clone).transpose()?;
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = held;
        Ok(lock)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.pulse.during("list", &self.dir.path().into(), || self.dir.names())
    }

    fn create(&self, name: &str) -> io::Result<Named> {
        self.watch(name, || self.dir.create(name))
    }

    fn open(&self, name: &str, writable: bool) -> io::Result<Named> {
        self.watch(name, || self.dir.open(name, writable))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.pulse.during("remove", &self.dir.path().join(name).into(), || self.dir.remove(name))
    }

    fn sync_names(&self, site: SyncSite) -> io::Result<()> {
        self.pulse.during("sync", &self.dir.path().into(), || self.dir.sync_names(site))
    }

    fn describe(&self, name: &str) -> String {
        self.dir.describe(name)
    }
}

/// An open file and the name it was opened by.
#[derive(Debug)]
pub(super) struct Named {
    file: File,
    path: Arc<Path>,
    identity: (u64, u64),
    pulse: Arc<Pulse>,
}

impl StoreFile for Named {
    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn allocate(&mut self, bytes: u64) -> io::Result<()> {
        let Self { file, path, pulse, .. } = self;
        pulse.during("make room in", path, || file.allocate(bytes))
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        let Self { file, path, pulse, .. } = self;
        pulse.during("cut", path, || StoreFile::truncate(file, bytes))
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.pulse.during("read", &self.path, || StoreFile::read_at(&self.file, into, offset))
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let Self { file, path, pulse, .. } = self;
        pulse.during("write", path, || StoreFile::write_at(file, bytes, offset))
    }

    fn sync(&mut self, site: SyncSite) -> io::Result<()> {
        let Self { file, path, identity: was, pulse } = self;
        pulse.during("sync", path, || file.sync(site))?;
        match pulse.during("look at", path, || fs::metadata(&*path)) {
            Ok(there) if identity(&there) == *was => Ok(()),
            Ok(_) => Err(io::Error::new(io::ErrorKind::NotFound, "another file has taken its name")),
            Err(error) => Err(error),
        }
    }
}

fn identity(file: &fs::Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// Whether the disk does what the journal asks of it, shown on a file that is removed again.
///
/// # Errors
/// It does not.
pub(super) fn try_out<S: Store>(store: &S) -> io::Result<()> {
    let tried = (|| {
        let mut file = store.create(TRIAL)?;
        file.allocate(TRIAL_BYTES)?;
        file.write_at(&[0x5a; 4096], 0)?;
        file.sync(SyncSite::Group)?;
        store.sync_names(SyncSite::SegmentName)
    })();
    let removed = store.remove(TRIAL);
    tried.and(removed)
}

/// What is asked of the disk right now, and how it answered so far.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    now: Mutex<Option<Call>>,
    past: Mutex<Past>,
}

/// A call that has not returned.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) action: &'static str,
    pub(super) file: Arc<Path>,
    pub(super) since: Instant,
}

/// The calls that have returned.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Past {
    /// Calls that took longer than [`SLOW`].
    pub(super) slow_calls: u64,
    pub(super) longest: Duration,
}

impl Pulse {
    fn during<T>(&self, action: &'static str, file: &Arc<Path>, call: impl FnOnce() -> T) -> T {
        let since = clock::monotonic();
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Some(Call { action, file: Arc::clone(file), since });
        let done = call();
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let took = clock::monotonic().saturating_duration_since(since);
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        past.slow_calls += u64::from(took >= SLOW);
        past.longest = past.longest.max(took);
        done
    }

    /// The call that runs, if one does, and for how long.
    pub(super) fn running(&self) -> Option<(Call, Duration)> {
        let call = self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let took = clock::monotonic().saturating_duration_since(call.since);
        Some((call, took))
    }

    pub(super) fn past(&self) -> Past {
        *self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
