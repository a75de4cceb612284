//! The real store: one directory.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, FlockOperation};

use super::{Store, StoreFile, SyncSite};

/// What the lock file is called; it stays when the journal closes.
pub(crate) const LOCK: &str = "lock";
/// Records are nobody's business but the owner's.
const FILE_MODE: u32 = 0o600;

/// A directory of the file system. Clones name the same directory.
#[derive(Clone, Debug)]
pub struct Dir {
    path: PathBuf,
}

impl Dir {
    /// The directory at `path`, made if it is not there, for a writer.
    ///
    /// # Errors
    /// It can be neither found nor made.
    pub fn create(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        if !path.is_dir() {
            fs::create_dir_all(&path)?;
        }
        // The journal's own directory must outlive a power cut as surely as its files do; who made it may have died
        // before seeing to that.
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(Self { path })
    }

    /// The directory at `path`, which must be there, for a reader.
    ///
    /// # Errors
    /// `NotFound` or `NotADirectory`.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        if fs::metadata(&path)?.is_dir() { Ok(Self { path }) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Store for Dir {
    type File = File;
    type Lock = File;

    fn lock(&self) -> io::Result<Option<File>> {
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).mode(FILE_MODE).open(self.path.join(LOCK))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    fn names(&self) -> io::Result<Vec<String>> {
        fs::read_dir(&self.path)?
            .map(|entry| entry.map(|e| e.file_name().into_string()))
            // A name that is not UTF-8 is not one of ours.
            .filter_map(|name| name.map(Result::ok).transpose())
            .collect()
    }

    fn create(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(FILE_MODE).open(self.path.join(name))
    }

    fn open(&self, name: &str, writable: bool) -> io::Result<File> {
        OpenOptions::new().read(true).write(writable).open(self.path.join(name))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_names(&self, _site: SyncSite) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn describe(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }
}

impl StoreFile for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn allocate(&mut self, bytes: u64) -> io::Result<()> {
        match rustix::fs::fallocate(&*self, FallocateFlags::empty(), 0, bytes) {
            Ok(()) => Ok(()),
            // A file system without preallocation: the length alone, and space as it comes.
            Err(rustix::io::Errno::OPNOTSUPP) if self.size()? < bytes => self.set_len(bytes),
            Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, into, offset)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn sync(&mut self, _site: SyncSite) -> io::Result<()> {
        self.sync_data()
    }
}
