//! The few file operations the journal needs, so that a test can take the place of the disk.

mod dir;

pub use dir::Dir;
#[cfg(any(test, feature = "testing"))]
pub(crate) use dir::LOCK;

use std::io;

/// Where in the journal's life a sync happens; a test store may ignore one of them to show that it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SyncSite {
    /// The fdatasync that proves a group: STORED rests on it.
    Group,
    /// The directory, after a new segment got its name.
    SegmentName,
    /// The valid tail that recovery has rewritten, before anything of it is told.
    RecoveredTail,
    /// A checkpoint, before segments that only it covers may go.
    Checkpoint,
    /// The directory, after the checkpoint files got their names.
    CheckpointNames,
    /// The copy of damaged bytes, before repair writes over them.
    SetAside,
    /// The directory, after the file of such copies got its name.
    SetAsideName,
    /// What repair wrote over damage.
    Repaired,
}

impl SyncSite {
    /// Every site in a journal's life, for tests that leave out one at a time.
    pub const ALL: [Self; 5] =
        [Self::Group, Self::SegmentName, Self::RecoveredTail, Self::Checkpoint, Self::CheckpointNames];

    /// Every site of a repair.
    pub const REPAIR: [Self; 3] = [Self::SetAside, Self::SetAsideName, Self::Repaired];
}

/// A flat set of named files, one journal's own.
pub trait Store {
    /// An open file.
    type File: StoreFile;
    /// Keeps other writers out while it lives.
    type Lock;

    /// Takes the writer's lock, or says by `None` that somebody holds it.
    ///
    /// # Errors
    /// The lock file cannot be made or locked.
    fn lock(&self) -> io::Result<Option<Self::Lock>>;

    /// The names of all files, in no order.
    ///
    /// # Errors
    /// The directory cannot be read.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Makes an empty file, or empties the one of that name.
    ///
    /// # Errors
    /// As the file system says.
    fn create(&self, name: &str) -> io::Result<Self::File>;

    /// Opens a file for reading, and for writing as well if `writable`.
    ///
    /// # Errors
    /// As the file system says; `NotFound` if there is none.
    fn open(&self, name: &str, writable: bool) -> io::Result<Self::File>;

    /// Removes a file's name.
    ///
    /// # Errors
    /// As the file system says.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes names made and removed so far survive a power cut.
    ///
    /// # Errors
    /// As the file system says.
    fn sync_names(&self, site: SyncSite) -> io::Result<()>;

    /// What a message to people should call the file.
    fn describe(&self, name: &str) -> String;
}

/// One open file of a [`Store`].
pub trait StoreFile {
    /// Its length in bytes.
    ///
    /// # Errors
    /// As the file system says.
    fn size(&self) -> io::Result<u64>;

    /// Makes sure that `bytes` of space are the file's own, extending it with zeros.
    ///
    /// # Errors
    /// `StorageFull` if they are not to be had.
    fn allocate(&mut self, bytes: u64) -> io::Result<()>;

    /// Cuts the file to `bytes`.
    ///
    /// # Errors
    /// As the file system says.
    fn truncate(&mut self, bytes: u64) -> io::Result<()>;

    /// Reads at most `into.len()` bytes from `offset`; 0 at the end.
    ///
    /// # Errors
    /// As the file system says.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// As the file system says; then any part may have been written.
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Returns once all that was written survives a power cut (fdatasync).
    ///
    /// # Errors
    /// After one, nothing written since the last success may be relied on, whatever a later call says.
    fn sync(&mut self, site: SyncSite) -> io::Result<()>;
}

/// Reads until `into` is full or the file ends; the count read.
pub(crate) fn read_full<F: StoreFile>(file: &F, into: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < into.len() {
        match file.read_at(&mut into[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}
