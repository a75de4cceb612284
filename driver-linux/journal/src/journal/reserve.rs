//! Space kept back, so that a full disk does not keep old segments from going (`core/docs/storage.md` §8.1).

use super::Journal;
use crate::checkpoint::{self, Summary};
use crate::error::{At, Error};
use crate::store::{Store, StoreFile};

/// The file that holds it.
pub(super) const RESERVE_FILE: &str = "reserve";
/// The least it holds: a checkpoint of a few hundred streams, twice, and what a file system needs beside it.
const LEAST: u64 = 256 << 10;

impl<S: Store> Journal<S> {
    /// Makes sure of the reserve, and of room for the next checkpoints to grow, as far as the disk has it: what cannot
    /// be had now is tried for again later.
    pub(super) fn keep_reserve(&mut self) {
        let wanted = LEAST.max(2 * self.checkpoints.len);
        if self.checkpoints.reserve < wanted {
            let opened = match self.store.open(RESERVE_FILE, true) {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => self.store.create(RESERVE_FILE),
                opened => opened,
            };
            let kept = opened.and_then(|mut file| {
                file.allocate(wanted)?;
                file.size()
            });
            self.checkpoints.reserve = kept.unwrap_or(0);
        }
        checkpoint::make_room(&self.store, self.checkpoints.len);
    }

    /// Writes a checkpoint; where there is no space for it, with what was kept back.
    pub(super) fn write_checkpoint(&mut self, slot: usize, summary: &Summary) -> Result<u64, Error> {
        let file = || self.store.describe(checkpoint::FILES[slot]);
        let write = || checkpoint::write(&self.store, slot, summary, &self.streams);
        match write().at(file, "write the checkpoint") {
            Err(full) if full.is_disk_full() => {
                self.checkpoints.reserve = 0;
                let given = self.store.open(RESERVE_FILE, true).and_then(|mut reserve| reserve.truncate(0));
                given.map_err(|_| full)?;
                write().at(file, "write the checkpoint")
            }
            written => written,
        }
    }
}
