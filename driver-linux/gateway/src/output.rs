//! Where a command's result goes: standard output, or a file that only its owner may read.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::private_file::{self, PrivateFileError};

/// A sink for output that may contain keys: what it buffers is wiped.
#[derive(Debug)]
pub(crate) struct Output {
    to: To,
    buffer: Zeroizing<Vec<u8>>,
}

#[derive(Debug)]
enum To {
    Stdout,
    File(File, PathBuf),
}

const BUFFER_BYTES: usize = 64 << 10;

impl Output {
    /// Standard output, or a new file.
    ///
    /// # Errors
    /// There is such a file already, or it cannot be made.
    pub(crate) fn new(file: Option<&Path>) -> Result<Self, PrivateFileError> {
        let to = match file {
            Some(path) => To::File(private_file::create_new(path)?, path.to_owned()),
            None => To::Stdout,
        };
        // Twice the size: a piece of up to BUFFER_BYTES never makes it move and leave a copy behind.
        Ok(Self { to, buffer: Zeroizing::new(Vec::with_capacity(2 * BUFFER_BYTES)) })
    }

    /// The file, if it is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.to {
            To::Stdout => None,
            To::File(_, path) => Some(path),
        }
    }

    /// Leaves nothing behind.
    pub(crate) fn discard(self) {
        if let Some(path) = self.path() {
            // The error that made it superfluous is the one to tell.
            let _ = fs::remove_file(path);
        }
    }

    /// Writes everything out; for a file, onto the disk.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match &self.to {
            To::Stdout => Ok(()),
            To::File(file, _) => file.sync_all(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let piece = &piece[..piece.len().min(BUFFER_BYTES)];
        self.buffer.extend_from_slice(piece);
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(&self.buffer)?;
                stdout.flush()?;
            }
            To::File(file, _) => file.write_all(&self.buffer)?,
        }
        self.buffer.clear();
        Ok(())
    }
}
