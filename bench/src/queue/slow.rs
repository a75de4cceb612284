//! A directory on a disk that was made slow, as a memory card is.
use std::{fs::File, io, path::PathBuf, thread, time::Duration};

use tallylink_journal::{Dir, Store, StoreFile, SyncSite};

/// What each sync takes longer, and each byte written before it.
const PER_SYNC: Duration = Duration::from_millis(20);
const PER_BYTE: Duration = Duration::from_nanos(50);

pub(super) struct Disk {
    dir: Dir,
    slow: bool,
}

pub(super) struct DiskFile {
    file: File,
    slow: bool,
    /// Bytes written since the last sync.
    written: u32,
}

impl Disk {
    pub(super) fn new(path: PathBuf, slow: bool) -> io::Result<Self> {
        Ok(Self { dir: Dir::create(path)?, slow })
    }

    fn file(&self, file: File) -> DiskFile {
        DiskFile { file, slow: self.slow, written: 0 }
    }
}

impl Store for Disk {
    type File = DiskFile;
    type Lock = File;

    fn lock(&self) -> io::Result<Option<File>> {
        self.dir.lock()
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.dir.names()
    }

    fn create(&self, name: &str) -> io::Result<DiskFile> {
        Ok(self.file(self.dir.create(name)?))
    }

    fn open(&self, name: &str, writable: bool) -> io::Result<DiskFile> {
        Ok(self.file(self.dir.open(name, writable)?))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.dir.remove(name)
    }

    fn sync_names(&self, site: SyncSite) -> io::Result<()> {
        self.dir.sync_names(site)
    }

    fn describe(&self, name: &str) -> String {
        self.dir.describe(name)
    }
}

impl StoreFile for DiskFile {
    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn allocate(&mut self, bytes: u64) -> io::Result<()> {
        self.file.allocate(bytes)
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.file.truncate(bytes)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        StoreFile::read_at(&self.file, into, offset)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.written = self.written.saturating_add(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.file.write_at(bytes, offset)
    }

    fn sync(&mut self, site: SyncSite) -> io::Result<()> {
        if self.slow {
            thread::sleep(PER_SYNC + PER_BYTE * self.written);
        }
        self.written = 0;
        self.file.sync(site)
    }
}
