//! Where everything is (storage §11.1).

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::PeerId;
use crate::outbox::{dir_of, stream_of};

/// No peer's: an id has 16 digits.
const BELLS: &str = "new";
/// No stream's directory begins with a dot.
const LOCK: &str = ".lock";

/// The directory of all peers.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    dir: PathBuf,
}

impl Place {
    pub(crate) fn in_data_dir(data: &Path) -> Self {
        Self { dir: data.join("downlink") }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn of(&self, peer: PeerId) -> PeerPlace {
        PeerPlace { dir: self.dir.join(peer.to_string()) }
    }

    /// The peers that have a directory.
    pub(crate) fn peers(&self) -> io::Result<Vec<PeerId>> {
        let names = names_in(&self.dir)?;
        Ok(names.iter().filter_map(|name| name.parse().ok().filter(|id: &PeerId| id.to_string() == *name)).collect())
    }

    /// Where bells are rung.
    pub(crate) fn bells(&self) -> PathBuf {
        self.dir.join(BELLS)
    }

    /// Makes the directory that is watched for bells.
    pub(crate) fn make(&self) -> io::Result<()> {
        make_dir(&self.dir)?;
        make_dir(&self.bells())
    }

    /// Tells a running gateway that there is something new for a peer. One that starts later looks by itself.
    pub(crate) fn ring(&self, peer: PeerId) -> io::Result<()> {
        private(OpenOptions::new().create(true).truncate(true)).open(self.bells().join(peer.to_string())).map(drop)
    }

    /// Whose bells were rung since this was asked last.
    pub(crate) fn rung(&self) -> io::Result<Vec<PeerId>> {
        let mut peers = Vec::new();
        for name in names_in(&self.bells())? {
            // Before the peer is looked at: what is rung from now on is seen the next time.
            fs::remove_file(self.bells().join(&name))?;
            peers.extend(name.parse::<PeerId>());
        }
        Ok(peers)
    }
}

/// The directory of one peer.
#[derive(Clone, Debug)]
pub(crate) struct PeerPlace {
    dir: PathBuf,
}

impl PeerPlace {
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where parcels for a stream are put.
    pub(crate) fn spool(&self, stream: &str) -> PathBuf {
        dir_of(&self.dir.join("spool"), stream)
    }

    /// The gateway's outbox for a stream.
    pub(crate) fn outbox(&self, stream: &str) -> PathBuf {
        dir_of(&self.dir.join("outbox"), stream)
    }

    /// The streams that have one or the other.
    pub(crate) fn streams(&self) -> io::Result<BTreeSet<String>> {
        let mut streams = BTreeSet::new();
        for part in ["spool", "outbox"] {
            let part = self.dir.join(part);
            let found = names_in(&part)?;
            streams.extend(found.iter().filter_map(|n| stream_of(n).filter(|s| dir_of(&part, s) == part.join(n))));
        }
        Ok(streams)
    }

    /// Makes sure that the directory is there, and keeps everybody else who does so out while what comes back lives.
    pub(crate) fn lock(&self) -> io::Result<File> {
        loop {
            if let Some(parent) = self.dir.parent() {
                make_dir(parent)?;
            }
            make_dir(&self.dir)?;
            let path = self.dir.join(LOCK);
            let file = match private(OpenOptions::new().create(true).truncate(false)).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
            // It may have been removed with its peer while it was waited for.
            match fs::metadata(&path) {
                Ok(now) if now.ino() == file.metadata()?.ino() => return Ok(file),
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }

    /// Makes the directory that parcels for a stream are put into.
    pub(crate) fn make_spool(&self, stream: &str) -> io::Result<PathBuf> {
        make_dir(&self.dir.join("spool"))?;
        let dir = self.spool(stream);
        make_dir(&dir)?;
        Ok(dir)
    }

    /// Makes the directory that outboxes are in.
    pub(crate) fn make_outboxes(&self) -> io::Result<()> {
        make_dir(&self.dir.join("outbox"))
    }

    /// Removes all of it; needs the lock.
    pub(crate) fn remove(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.dir)
    }
}

/// Makes a directory for its owner only, whose name outlives a power cut.
fn make_dir(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        // Whoever made it may have died before seeing to that.
        _ => {}
    }
    match dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => sync_dir(parent),
        None => sync_dir(Path::new(".")),
    }
}

pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// The names in a directory; none in one that is not there.
pub(super) fn names_in(dir: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    // A name that is not UTF-8 is not one of ours.
    entries.filter_map(|entry| entry.map(|entry| entry.file_name().into_string().ok()).transpose()).collect()
}

pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.write(true).mode(0o600)
}
