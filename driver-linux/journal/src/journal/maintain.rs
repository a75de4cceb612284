//! Checkpoints and the deletion of old segments.

use std::collections::VecDeque;

use super::Journal;
use super::freed::LookedUp;
use crate::checkpoint::Summary;
use crate::error::{At, Error};
use crate::recover::Recovered;
use crate::segment;
use crate::store::Store;

/// A checkpoint is due after this many times its own length, so that it costs little beside the records.
const UNCOVERED_PER_BYTE: u64 = 16;

/// A checkpoint up to this long, or up to this part of a segment, is written whenever a segment goes.
const CHEAP: u64 = 64 << 10;
const CHEAP_PART: u64 = 64;

/// The state of the two checkpoint files.
pub(super) struct Checkpoints {
    sequence: u64,
    /// The file to write next; the other is synced, or is the older one and was synced before.
    slot: usize,
    /// Segments below this are given up.
    pub(super) oldest: u64,
    /// What each file, synced by this process, says of that; 0 until it is.
    file_oldest: [u64; 2],
    /// Segments given up and not yet deleted.
    leaving: VecDeque<u64>,
    /// Bytes of segments behind the last checkpoint.
    pub(super) uncovered: u64,
    /// Length of the last checkpoint.
    pub(super) len: u64,
    /// Bytes known to be kept back.
    pub(super) reserve: u64,
    /// A write failed since the last call: space may be what is missing.
    pub(super) hurry: bool,
    pub(super) looked_up: Option<LookedUp>,
}

/// What a call of [`Journal::maintain`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Maintained {
    /// A checkpoint was written.
    pub checkpoint: bool,
    /// Segments deleted.
    pub deleted: u32,
}

impl Checkpoints {
    pub(super) fn new(recovered: &Recovered) -> Self {
        Self {
            sequence: recovered.sequence,
            slot: recovered.slot,
            oldest: recovered.oldest,
            file_oldest: [0; 2],
            leaving: recovered.leaving.iter().copied().collect(),
            uncovered: recovered.uncovered,
            len: 0,
            reserve: 0,
            hurry: false,
            looked_up: None,
        }
    }
}

impl<S: Store> Journal<S> {
    /// Writes a checkpoint and deletes old segments, as far as either is due. Cheap when nothing is.
    ///
    /// Does nothing between an append and its commit. `now_us` is UTC in microseconds, for retention by age.
    ///
    /// # Errors
    /// The disk failed. What is stored stays so; the next call tries again.
    pub fn maintain(&mut self, now_us: u64) -> Result<Maintained, Error> {
        if self.position.is_none() {
            // It could not be published last time; no commit may come for long.
            self.publish();
        }
        let mut done = Maintained::default();
        if self.failed || !self.dirty.is_empty() {
            return Ok(done);
        }
        self.give_up(now_us);
        let due = self.options.segment_bytes.max(UNCOVERED_PER_BYTE * self.checkpoints.len);
        let mut wanted = usize::from(self.checkpoints.uncovered >= due);
        let cheap = self.checkpoints.len <= CHEAP.max(self.options.segment_bytes / CHEAP_PART);
        if !self.checkpoints.leaving.is_empty() && (cheap || self.checkpoints.hurry) {
            // A segment goes only when both files do without it. A long table is not written for that alone, unless
            // the disk may be full.
            wanted = self.checkpoints.file_oldest.iter().filter(|&&o| o < self.checkpoints.oldest).count();
        }
        for _ in 0..wanted {
            self.checkpoint()?;
            done.checkpoint = true;
        }
        self.checkpoints.hurry = false;
        let [a, b] = self.checkpoints.file_oldest;
        while let Some(&segment) = self.checkpoints.leaving.front().filter(|&&segment| segment < a.min(b)) {
            let name = segment::name(segment);
            match self.store.remove(&name) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(e).at(|| self.store.describe(&name), "delete");
                }
                _ => done.deleted += 1,
            }
            self.checkpoints.leaving.pop_front();
        }
        self.stats.deleted_segments += u64::from(done.deleted);
        if done.checkpoint || done.deleted > 0 {
            self.keep_reserve();
        }
        Ok(done)
    }

    /// Gives up the segments that retention no longer keeps.
    fn give_up(&mut self, now_us: u64) {
        let retention = self.options.retention;
        while let Some(&first) = self.sealed.front() {
            // Everything in a segment is older than the first entry of the next.
            let sealed = self.sealed.iter().skip(1).map(|sealed| sealed.created_us);
            let active = self.active.as_ref().map(|active| active.created_us);
            // A damaged header tells no time.
            let next_us = sealed.chain(active).find(|&us| us > 0);
            let too_old = retention.max_age_us.zip(next_us).is_some_and(|(age, at)| at.saturating_add(age) < now_us);
            let too_much = retention.max_bytes.is_some_and(|most| self.segment_bytes() > most);
            if !too_old && !too_much && !self.oldest_is_freed() {
                break;
            }
            self.checkpoints.leaving.push_back(first.segment);
            self.checkpoints.oldest = first.segment + 1;
            self.sealed.pop_front();
        }
    }

    /// The checkpoints of a new journal: both files exist from the beginning, so that later no space is needed.
    pub(super) fn first_checkpoints(&mut self) -> Result<(), Error> {
        self.checkpoint()?;
        self.checkpoint()
    }

    pub(super) fn checkpoint(&mut self) -> Result<(), Error> {
        let summary = Summary {
            journal: self.id,
            sequence: self.checkpoints.sequence + 1,
            oldest: self.checkpoints.oldest,
            covered: self.durable_end(),
            next_segment: self.next_segment,
        };
        let slot = self.checkpoints.slot;
        let len = self.write_checkpoint(slot, &summary)?;
        self.checkpoints.sequence = summary.sequence;
        self.checkpoints.file_oldest[slot] = summary.oldest;
        self.checkpoints.slot = 1 - slot;
        self.checkpoints.uncovered = 0;
        self.checkpoints.len = len;
        self.stats.checkpoints += 1;
        self.stats.written_bytes += len;
        Ok(())
    }
}
