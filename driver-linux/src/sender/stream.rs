//! One stream, as the thread that pushes sees it.

use super::error::{FlushError, PushError};
use super::{Sender, clock};
use crate::network::Gone;
use crate::wake::Gate;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tallylink_core::wire::varint;
use tallylink_core::{OutIx, Priority, Run, measure};

/// Records below this have a size varint of one byte.
const SMALL: usize = 64;

/// A stream of records. Each record is copied once, into a queue in its stored form, without a lock or a system call; the
/// sender's thread is woken when it sleeps.
pub struct Stream {
    sender: Sender,
    at: OutIx,
    queue: rtrb::Producer<u8>,
    shared: Arc<Shared>,
    next: u64,
    max_record: u32,
}

/// How far a stream has come, for threads that do not push.
#[derive(Clone, Debug)]
pub struct Confirmed {
    shared: Arc<Shared>,
}

impl Confirmed {
    /// Number of the next record.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.shared.pushed.load(Ordering::Acquire)
    }

    /// As [`Stream::received_below`].
    #[must_use]
    pub fn received_below(&self) -> u64 {
        self.shared.received.load(Ordering::Acquire)
    }

    /// As [`Stream::stored_below`].
    #[must_use]
    pub fn stored_below(&self) -> u64 {
        self.shared.stored.load(Ordering::Acquire)
    }
}

/// What the pushing thread and the sender's thread tell each other.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pushed: AtomicU64,
    received: AtomicU64,
    stored: AtomicU64,
    closed: AtomicBool,
    pub(super) gate: Gate,
}

impl Shared {
    /// Records below these numbers are RECEIVED and STORED.
    pub(super) fn confirmed(&self, received: u64, stored: u64) {
        self.received.fetch_max(received, Ordering::Release);
        self.stored.fetch_max(stored, Ordering::Release);
        self.gate.notify();
    }

    /// True while something is not STORED.
    pub(super) fn outstanding(&self) -> bool {
        self.stored.load(Ordering::Relaxed) < self.pushed.load(Ordering::Acquire)
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.gate.notify();
    }

    fn closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Waits until what was pushed so far is STORED.
    pub(super) fn flush(&self, deadline: Option<Instant>) -> Result<(), FlushError> {
        let pushed = self.pushed.load(Ordering::Acquire);
        let stored = || self.stored.load(Ordering::Acquire);
        let done = || match stored() >= pushed {
            true => Some(Ok(())),
            false => self.closed().then_some(Err(FlushError::Closed)),
        };
        self.gate.wait(deadline, done).unwrap_or_else(|| Err(FlushError::Timeout { stored: stored(), pushed }))
    }
}

impl Stream {
    pub(super) fn new(sender: Sender, at: OutIx, queue: rtrb::Producer<u8>, shared: Arc<Shared>) -> Self {
        let max_record = sender.inner.max_record;
        Self { sender, at, queue, shared, next: 0, max_record }
    }

    /// Says whether this stream goes before others of its sender, or leaves them the first place. Each begins as
    /// [`Priority::Live`].
    ///
    /// # Errors
    /// [`Gone`]: the sender's thread has died.
    pub fn set_priority(&self, priority: Priority) -> Result<(), Gone> {
        self.sender.set_priority(self.at, priority)
    }

    /// Pushes one record and returns its number. Waits while there is no room.
    ///
    /// # Errors
    /// [`PushError::TooLarge`] or [`PushError::Closed`]
    #[inline]
    pub fn push(&mut self, record: &[u8]) -> Result<u64, PushError> {
        match self.try_push(record) {
            Err(PushError::Full) => self.push_within(record, None),
            other => other,
        }
    }

    /// Pushes one record and returns its number, if there is room within `timeout`.
    ///
    /// # Errors
    /// [`PushError`]
    pub fn push_timeout(&mut self, record: &[u8], timeout: Duration) -> Result<u64, PushError> {
        self.push_within(record, clock::deadline(timeout))
    }

    #[cold]
    fn push_within(&mut self, record: &[u8], deadline: Option<Instant>) -> Result<u64, PushError> {
        let stored = record.len().saturating_add(varint::len(record.len() as u64));
        loop {
            match self.try_push(record) {
                Err(PushError::Full) if self.wait_for(stored, deadline) => {}
                // It waited for more room than this record needs.
                Err(PushError::Full) => return self.try_push(record),
                other => return other,
            }
        }
    }

    /// Pushes one record and returns its number, if there is room now.
    ///
    /// # Errors
    /// [`PushError`]
    #[inline]
    pub fn try_push(&mut self, record: &[u8]) -> Result<u64, PushError> {
        let len = record.len() as u64;
        if len > u64::from(self.max_record) {
            return Err(PushError::TooLarge { len, max: self.max_record });
        }
        if self.shared.closed() {
            return Err(PushError::Closed);
        }
        match record.len() {
            0..SMALL => {
                // Put together where it costs next to nothing, it goes into the queue in one piece.
                let mut stored = [len as u8; SMALL];
                stored[1..=record.len()].copy_from_slice(record);
                self.queue.push_entire_slice(&stored[..=record.len()]).map_err(|_| PushError::Full)?;
            }
            _ => {
                let size = varint::encode(len).map_err(|_| PushError::NotPacked)?;
                let size = size.as_slice();
                let mut chunk = self.queue.write_chunk(size.len() + record.len()).map_err(|_| PushError::Full)?;
                let (front, back) = chunk.as_mut_slices();
                let front = fill(front, back, size);
                fill(front.0, front.1, record);
                chunk.commit_all();
            }
        }
        Ok(self.pushed(1))
    }

    /// Pushes a run of packed records, `[size varint][bytes]…`, and returns their numbers. Waits while there is no room.
    ///
    /// # Errors
    /// [`PushError::NotPacked`], [`PushError::TooLarge`], or [`PushError::Closed`]: then some of them may have been taken.
    pub fn push_batch(&mut self, packed: &[u8]) -> Result<Range<u64>, PushError> {
        if self.queue.slots() < packed.len() {
            // All of them are looked at before the first is taken.
            self.measure(packed, packed.len())?;
        }
        let first = self.next;
        let mut rest = packed;
        while !rest.is_empty() {
            let run = self.measure(rest, self.queue.slots())?;
            if run.records == 0 {
                let (size, head) = varint::decode(rest).map_err(|_| PushError::NotPacked)?;
                if !self.wait_for(size as usize + head, None) {
                    return Err(PushError::Closed);
                }
                continue;
            }
            let (taken, after) = rest.split_at_checked(run.bytes as usize).ok_or(PushError::NotPacked)?;
            self.queue.push_entire_slice(taken).map_err(|_| PushError::Full)?;
            self.pushed(run.records);
            rest = after;
        }
        Ok(first..self.next)
    }

    /// Waits until everything that was pushed so far is STORED.
    ///
    /// # Errors
    /// [`FlushError`]
    pub fn flush(&self, timeout: Duration) -> Result<(), FlushError> {
        self.shared.flush(clock::deadline(timeout))
    }

    /// Number of the next record.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Number of the first record that is not RECEIVED: in the receiver's memory, for as long as the session lives.
    #[must_use]
    pub fn received_below(&self) -> u64 {
        self.shared.received.load(Ordering::Acquire)
    }

    /// Number of the first record that is not STORED.
    #[must_use]
    pub fn stored_below(&self) -> u64 {
        self.shared.stored.load(Ordering::Acquire)
    }

    /// How far the stream has come, for another thread.
    #[must_use]
    pub fn confirmed(&self) -> Confirmed {
        Confirmed { shared: Arc::clone(&self.shared) }
    }

    /// The whole records that fit in `room`; an error when any of them is not one, or too large.
    fn measure(&self, packed: &[u8], room: usize) -> Result<Run, PushError> {
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        measure(packed, room, self.max_record).ok_or_else(|| self.what_is_wrong(packed))
    }

    #[cold]
    fn what_is_wrong(&self, packed: &[u8]) -> PushError {
        let mut rest = packed;
        while let Ok((len, head)) = varint::decode(rest) {
            if len > u64::from(self.max_record) {
                return PushError::TooLarge { len, max: self.max_record };
            }
            let Some(after) = rest.get(head + len as usize..) else { break };
            rest = after;
        }
        PushError::NotPacked
    }

    #[inline]
    fn pushed(&mut self, records: u64) -> u64 {
        let first = self.next;
        self.next += records;
        self.shared.pushed.store(self.next, Ordering::Release);
        self.sender.notify();
        first
    }

    /// Waits for room. Returns false when the deadline passed; true also when the sender has stopped.
    fn wait_for(&self, bytes: usize, deadline: Option<Instant>) -> bool {
        let queue = &self.queue;
        // A quarter of the queue is worth waking up for.
        let enough = bytes.max(queue.buffer().capacity() / 4);
        let room = || (queue.slots() >= enough || self.shared.closed()).then_some(());
        self.shared.gate.wait(deadline, room).is_some()
    }
}

/// Copies `bytes` to the front of two slices that belong together, and returns what is left of them.
#[inline]
fn fill<'a>(front: &'a mut [u8], back: &'a mut [u8], bytes: &[u8]) -> (&'a mut [u8], &'a mut [u8]) {
    let n = front.len().min(bytes.len());
    let (to, front) = front.split_at_mut(n);
    let (from, rest) = bytes.split_at(n);
    to.copy_from_slice(from);
    let m = rest.len().min(back.len());
    let (to, back) = back.split_at_mut(m);
    to.copy_from_slice(&rest[..m]);
    (front, back)
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("next", &self.next).field("shared", &self.shared).finish_non_exhaustive()
    }
}
