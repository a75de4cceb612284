//! Why the key store did not do what it was asked.

use std::io;
use std::path::PathBuf;

use super::KeyId;
use crate::private_file::PrivateFileError;
use crate::{Exit, PeerId, PeerName};

/// Why the key store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Its file cannot be opened, or others may use it.
    #[error("the key store {0}")]
    File(#[from] PrivateFileError),
    /// Its file cannot be read.
    #[error("the key store {} cannot be read: {error}; check the disk", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// It cannot be written. What it held before is unharmed.
    #[error("the key store {} cannot be written and was left as it was: {error}; check its rights and the space on its disk", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Changes cannot be followed.
    #[error("changes of the key store {} cannot be followed: {error}; check fs.inotify.max_user_instances and max_user_watches", dir.display())]
    Watch {
        /// Its directory.
        dir: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The kernel gave no random numbers.
    #[error("the system gives no random numbers, so no key was made: {0}; try again")]
    Random(#[from] getrandom::Error),
    /// The name is taken.
    #[error("there is a peer \"{0}\" already; choose another name, or run `tallylink peer rotate {0}` for a new key")]
    NameTaken(PeerName),
    /// The id is taken.
    #[error("the id {id} belongs to the peer \"{owner}\" already; choose another id, or remove that peer first")]
    IdTaken {
        /// The id.
        id: PeerId,
        /// Whose it is.
        owner: PeerName,
    },
    /// Nobody is called that.
    #[error("there is no peer \"{0}\"; `tallylink peer list` shows all")]
    UnknownPeer(String),
    /// The peer has no such key.
    #[error("the peer \"{peer}\" has no key {key}; `tallylink peer list` shows its keys")]
    UnknownKey {
        /// The peer.
        peer: PeerName,
        /// The key.
        key: KeyId,
    },
}

impl StoreError {
    /// What a program ends with that it stops.
    pub fn exit(&self) -> Exit {
        match self {
            Self::File(PrivateFileError::Open { error, .. }) if error.kind() != io::ErrorKind::PermissionDenied => {
                Exit::KeyStore
            }
            Self::File(error) => error.exit(),
            Self::Read { .. } | Self::Write { .. } | Self::Watch { .. } | Self::Random(_) => Exit::KeyStore,
            Self::NameTaken(_) | Self::IdTaken { .. } => Exit::PeerExists,
            Self::UnknownPeer(_) | Self::UnknownKey { .. } => Exit::PeerUnknown,
        }
    }
}
