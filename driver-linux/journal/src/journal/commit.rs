//! Making groups durable, and going back to what is proven when that fails.

use super::Journal;
use crate::chunk::{Stored, StreamId};
use crate::error::{At, Error};
use crate::position::{POSITION_FILE, Published};
use crate::recover::Sealed;
use crate::segment;
use crate::store::{Store, StoreFile, SyncSite};

/// Closing writes a checkpoint when the last one does not cover so many bytes: they take longer to read than it to write.
const CLOSING_UNCOVERED: u64 = 1 << 20;

/// An epoch appended to since the last commit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touched {
    pub(super) stream: u32,
    pub(super) epoch: [u8; 8],
    /// The stream's current epoch and its base before that, as far as it is proven.
    pub(super) current: Option<([u8; 8], u64)>,
    /// One above the highest index that the stream had used before that, as far as it is proven.
    pub(super) index_end: u64,
}

impl<S: Store> Journal<S> {
    /// Makes everything appended durable: one write, one fdatasync. Back comes how far each stream and epoch that
    /// was appended to is stored now.
    ///
    /// # Errors
    /// The disk failed: nothing appended since the last commit may be confirmed; [`rewind`](Self::rewind).
    pub fn commit(&mut self) -> Result<&[Stored], Error> {
        self.stored.clear();
        self.sync()?;
        let most = self.streams.most_epochs();
        for touched in self.dirty.drain(..) {
            let Some(stream) = self.streams.get_mut(touched.stream) else {
                continue;
            };
            if let Some(slot) = stream.epochs.find_mut(touched.epoch) {
                slot.dirty = false;
                let (stream, below) = (StreamId(touched.stream), slot.stored);
                self.stored.push(Stored { stream, epoch: touched.epoch, below });
            }
            stream.epochs.forget_old(most);
        }
        if !self.stored.is_empty() {
            self.publish();
        }
        Ok(&self.stored)
    }

    /// After an error: forgets everything that is not proven, so that appending can go on in a new segment.
    ///
    /// Every stream's position is back at its `stored_below`; epochs of which nothing is stored are no longer known.
    /// Needs no disk and cannot fail. Back comes how far each stream and epoch that was appended to since the last commit
    /// is stored: a segment that was finished in between has made a part of that durable, which nobody was told yet.
    pub fn rewind(&mut self) -> &[Stored] {
        self.stored.clear();
        self.failed = false;
        self.checkpoints.hurry = true;
        self.buffer.clear();
        if let Some(active) = self.active.take() {
            self.abandon(active.segment, active.proven, active.created_us);
        }
        let most = self.streams.most_epochs();
        // Backwards: the earliest note of a stream tells what was current when all was proven.
        for touched in self.dirty.drain(..).rev() {
            let Some(stream) = self.streams.get_mut(touched.stream) else {
                continue;
            };
            stream.epochs.end_current();
            stream.epochs.settle(most);
            // Nobody could read what is given up.
            stream.index_end = touched.index_end;
            if let Some((epoch, base)) = touched.current {
                stream.epochs.make_current(epoch, base);
            }
            if let Some(slot) = stream.epochs.find(touched.epoch) {
                let (stream, below) = (StreamId(touched.stream), slot.stored);
                self.stored.push(Stored { stream, epoch: touched.epoch, below });
            }
        }
        &self.stored
    }

    /// Commits and ends, giving back what was preallocated: the next opening has less to look through.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn close(mut self) -> Result<(), Error> {
        self.commit()?;
        self.seal()?;
        if self.checkpoints.uncovered >= CLOSING_UNCOVERED.max(self.checkpoints.len) {
            // As that: without it the next opening reads what this one wrote.
            let _ = self.checkpoint();
        }
        Ok(())
    }

    /// The bytes appended since the last commit, headers included.
    #[must_use]
    pub fn pending_bytes(&self) -> u64 {
        let end = |a: &super::Active<S::File>| a.written + self.buffer.len() as u64 - a.proven.max(segment::ENTRIES_AT);
        self.active.as_ref().map_or(0, end)
    }

    /// Writes the buffer to the segment.
    pub(super) fn write_out(&mut self) -> Result<(), Error> {
        let Some(active) = &mut self.active else {
            return Ok(());
        };
        let wrote = active.file.write_at(&self.buffer, active.written);
        self.failed = wrote.is_err();
        wrote.at(|| self.store.describe(&segment::name(active.segment)), "write")?;
        active.written += self.buffer.len() as u64;
        self.stats.writes += 1;
        self.stats.written_bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes and syncs the open group. What was appended is proven then.
    fn sync(&mut self) -> Result<(), Error> {
        if self.failed {
            return Err(Error::Failed);
        }
        if !self.active.as_ref().is_some_and(|active| active.in_group) {
            return Ok(());
        }
        self.write_out()?;
        let Some(active) = &mut self.active else {
            return Ok(());
        };
        let synced = active.file.sync(SyncSite::Group);
        self.failed = synced.is_err();
        synced.at(|| self.store.describe(&segment::name(active.segment)), "sync")?;
        self.checkpoints.uncovered += active.written - active.proven;
        active.proven = active.written;
        active.in_group = false;
        self.stats.commits += 1;
        for touched in &mut self.dirty {
            let Some(stream) = self.streams.get_mut(touched.stream) else {
                continue;
            };
            if let Some(slot) = stream.epochs.find_mut(touched.epoch) {
                slot.prove();
            }
            touched.current = stream.epochs.current().map(|slot| (slot.epoch, slot.base));
            touched.index_end = stream.index_end;
        }
        Ok(())
    }

    /// Ends the segment: its group is synced, and what was preallocated behind it given back.
    pub(super) fn seal(&mut self) -> Result<(), Error> {
        self.sync()?;
        if let Some(mut active) = self.active.take() {
            // Only tidiness: the next header tells what counts.
            let _ = active.file.truncate(active.proven);
            self.sealed.push_back(Sealed {
                segment: active.segment,
                counted: active.proven,
                created_us: active.created_us,
            });
        }
        Ok(())
    }

    /// Leaves a segment whose handle is no longer trusted. What of it is proven counts.
    fn abandon(&mut self, segment: u64, proven: u64, created_us: u64) {
        let name = segment::name(segment);
        if proven == 0 {
            let _ = self.store.remove(&name);
        } else {
            let _ = self.store.open(&name, true).and_then(|mut file| file.truncate(proven));
            self.sealed.push_back(Sealed { segment, counted: proven, created_us });
        }
    }

    /// Tells followers how far everything is durable. A failure delays them, no more.
    pub(super) fn publish(&mut self) {
        let published = Published { journal: self.id, synced: self.durable_end(), oldest: self.checkpoints.oldest };
        let bytes = published.to_bytes();
        let mut file = match self.position.take() {
            Some(file) => Ok(file),
            None => match self.store.open(POSITION_FILE, true) {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => self.store.create(POSITION_FILE),
                opened => opened,
            },
        };
        let published = match &mut file {
            Ok(file) => file.write_at(&bytes, 0).is_ok(),
            Err(_) => false,
        };
        self.stats.publish_failures += u64::from(!published);
        self.position = file.ok().filter(|_| published);
    }
}
