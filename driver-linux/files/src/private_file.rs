//! Files that hold keys: only their owner may read or write them, or they are refused.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::Exit;

/// Why a file that holds keys is not used.
#[derive(Debug, thiserror::Error)]
pub enum PrivateFileError {
    /// Group or others have rights to it.
    #[error("{} may be used by others (mode {mode:04o}); run: chmod 600 {}", file.display(), file.display())]
    Mode {
        /// The file.
        file: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It is somebody else's.
    #[error("{} belongs to user {owner}, not to user {user} who runs this; run: chown {user} {}", file.display(), file.display())]
    Owner {
        /// The file.
        file: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who asks.
        user: u32,
    },
    /// It cannot be opened or made.
    #[error("{} cannot be opened: {error}; check its name and rights", file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl PrivateFileError {
    /// What a program ends with that it stops.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Mode { .. } | Self::Owner { .. } => Exit::Permission,
            Self::Open { error, .. } if error.kind() == io::ErrorKind::PermissionDenied => Exit::Permission,
            Self::Open { .. } => Exit::Failed,
        }
    }

    /// Whether there simply is no such file.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Open { error, .. } if error.kind() == io::ErrorKind::NotFound)
    }
}

/// Opens an existing file for reading.
///
/// # Errors
/// It cannot be opened, or others than its owner may use it.
pub fn open(file: &Path) -> Result<File, PrivateFileError> {
    checked(file, OpenOptions::new().read(true))
}

/// Opens a file for reading and writing and makes it, for its owner only, if there is none.
///
/// # Errors
/// It cannot be opened or made, or others than its owner may use it.
pub fn open_or_create(file: &Path) -> Result<File, PrivateFileError> {
    checked(file, OpenOptions::new().read(true).write(true).create(true).mode(0o600))
}

/// Makes a new file for its owner only; an existing one is left alone.
///
/// # Errors
/// It exists already or cannot be made.
pub fn create_new(file: &Path) -> Result<File, PrivateFileError> {
    checked(file, OpenOptions::new().read(true).write(true).create_new(true).mode(0o600))
}

/// Checks the open file, not the name: what is behind a name may change between two calls.
fn checked(file: &Path, how: &OpenOptions) -> Result<File, PrivateFileError> {
    let failed = |error| PrivateFileError::Open { file: file.to_owned(), error };
    let opened = how.open(file).map_err(failed)?;
    let is = opened.metadata().map_err(failed)?;
    let user = rustix::process::geteuid().as_raw();
    if is.uid() != user {
        return Err(PrivateFileError::Owner { file: file.to_owned(), owner: is.uid(), user });
    }
    let mode = is.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(PrivateFileError::Mode { file: file.to_owned(), mode });
    }
    Ok(opened)
}
