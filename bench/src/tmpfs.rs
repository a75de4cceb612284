//! File systems that are small enough to fill.
use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, ensure};

/// A file system that is gone when this goes out of scope.
pub(crate) struct Tmpfs(PathBuf);

impl Tmpfs {
    /// Mounts one of `size` at a new directory.
    pub(crate) fn mount(at: PathBuf, size: &str) -> Result<Self> {
        fs::create_dir(&at)?;
        let options = format!("size={size},mode=700");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "tallylink-bench"]).arg(&at);
        ensure!(mount.status()?.success(), "a tmpfs cannot be mounted; run this as root");
        Ok(Self(at))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Takes every byte that is left there; returns the file that has them.
pub(crate) fn fill(directory: &Path) -> Result<PathBuf> {
    let filler = directory.join("filler");
    let mut file = File::create(&filler)?;
    while file.write_all(&[0; 4096]).is_ok() {}
    Ok(filler)
}
