//! The contents of one file: as processes see them and as the disk has them.

use std::collections::BTreeSet;
use std::io;

use super::Chance;

/// What a disk writes whole or not at all, most of the time.
pub(super) const SECTOR: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Inode {
    visible: Vec<u8>,
    durable: Vec<u8>,
    /// Sectors that the next sync writes.
    dirty: BTreeSet<usize>,
    /// The length changed since the last sync.
    resized: bool,
}

impl Inode {
    /// A file of which everything is durable.
    pub(super) fn durable(bytes: &[u8]) -> Self {
        Self { visible: bytes.to_vec(), durable: bytes.to_vec(), ..Self::default() }
    }

    pub(super) fn visible(&self) -> &[u8] {
        &self.visible
    }

    pub(super) fn read(&self, into: &mut [u8], offset: u64) -> usize {
        let from = (offset as usize).min(self.visible.len());
        let len = into.len().min(self.visible.len() - from);
        into[..len].copy_from_slice(&self.visible[from..from + len]);
        len
    }

    pub(super) fn grow(&mut self, bytes: u64, room: u64) -> io::Result<()> {
        let more = bytes.saturating_sub(self.visible.len() as u64);
        if more > room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if more > 0 {
            self.visible.resize(bytes as usize, 0);
            self.resized = true;
        }
        Ok(())
    }

    pub(super) fn cut(&mut self, bytes: u64) {
        self.visible.truncate(bytes as usize);
        self.resized = true;
    }

    pub(super) fn write(&mut self, bytes: &[u8], offset: u64, room: u64) -> io::Result<()> {
        let from = offset as usize;
        let to = from + bytes.len();
        self.grow(to as u64, room)?;
        self.visible[from..to].copy_from_slice(bytes);
        self.dirty.extend(from / SECTOR..to.div_ceil(SECTOR));
        Ok(())
    }

    pub(super) fn sync(&mut self) {
        self.durable.resize(self.visible.len(), 0);
        self.resized = false;
        for sector in std::mem::take(&mut self.dirty) {
            self.keep(sector, SECTOR);
        }
    }

    /// As on Linux: the pages count as clean, whatever became of them.
    pub(super) fn fail_sync(&mut self) {
        self.dirty.clear();
        self.resized = false;
    }

    /// Keeps what was synced and `percent` of the rest.
    pub(super) fn power_cut(&mut self, chance: &mut Chance, percent: u64) {
        if self.resized && chance.percent(percent) {
            self.durable.resize(self.visible.len(), 0);
        }
        for sector in std::mem::take(&mut self.dirty) {
            if chance.percent(percent) {
                let torn = chance.percent(5);
                self.keep(sector, if torn { chance.below(SECTOR as u64) as usize } else { SECTOR });
            }
        }
        self.visible = self.durable.clone();
        self.resized = false;
    }

    pub(super) fn edit(&mut self, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.visible);
        self.durable = self.visible.clone();
        self.dirty.clear();
    }

    /// The first `len` bytes of a sector reach the disk.
    fn keep(&mut self, sector: usize, len: usize) {
        let from = sector * SECTOR;
        let to = (from + len).min(self.visible.len());
        if from < to {
            if self.durable.len() < to {
                self.durable.resize(to, 0);
            }
            self.durable[from..to].copy_from_slice(&self.visible[from..to]);
        }
    }
}
