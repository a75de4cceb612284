//! What the three threads of an outbox tell each other: the one that pushes, the disk's and the network's.

#[cfg(all(test, tallylink_loom))]
mod tests;

use super::error::DurableError;
use super::handover::Handover;
use super::queue::Queue;
use crate::clock;
use crate::outbox::{Group, OutboxError};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard, Thread};
use crate::wake::Gate;
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tallylink_core::Epoch;

/// So much that waits is a group worth a write of its own.
pub(super) const GROUP_BYTES: usize = 1 << 20;

/// See the module.
#[derive(Debug)]
pub(crate) struct Shared {
    history: u64,
    capacity: usize,
    queue: Queue,
    /// Numbers of this opening.
    pushed: AtomicU64,
    durable: AtomicU64,
    received: AtomicU64,
    stored: AtomicU64,
    /// Durable records that are not STORED, of all openings.
    waiting: AtomicU64,
    /// Of those, how many earlier openings left.
    inherited: AtomicU64,
    /// The receiver has more than this outbox ever had.
    rolled_back: AtomicBool,
    /// Number of the first record that was not given up because the gateway lowered its limit.
    too_large_below: AtomicU64,
    failing: AtomicBool,
    failure: Mutex<Option<Arc<OutboxError>>>,
    closing: AtomicBool,
    closed: AtomicBool,
    keeper: OnceLock<Thread>,
    pub(super) handover: Handover,
    told: Mutex<Option<Told>>,
    pub(super) gate: Gate,
}

/// What the receiver has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) epoch: Epoch,
    /// Records below are STORED.
    pub(super) stored: u64,
}

impl Shared {
    pub(crate) fn new(history: u64, waiting: u64, memory_bytes: usize, max_record: u32) -> Self {
        Self {
            history,
            capacity: memory_bytes.max(max_record as usize + 8),
            queue: Queue::default(),
            pushed: AtomicU64::new(0),
            durable: AtomicU64::new(0),
            received: AtomicU64::new(0),
            stored: AtomicU64::new(0),
            waiting: AtomicU64::new(waiting),
            inherited: AtomicU64::new(waiting),
            rolled_back: AtomicBool::new(false),
            too_large_below: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            failure: Mutex::new(None),
            closing: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            keeper: OnceLock::new(),
            handover: Handover::default(),
            told: Mutex::new(None),
            gate: Gate::default(),
        }
    }

    pub(super) fn history(&self) -> u64 {
        self.history
    }

    // The thread that pushes

    /// Bytes that may wait for the disk: at least one record of the largest size.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Takes records, as many as `add` puts into the room that it is told of; back comes how many.
    ///
    /// # Errors
    /// [`DurableError::Full`] when it puts none.
    #[inline]
    pub(super) fn push(&self, add: impl FnOnce(&mut Group, usize) -> u64) -> Result<u64, DurableError> {
        if self.failing.load(Ordering::Acquire) || self.closed.load(Ordering::Acquire) {
            return Err(self.refusal());
        }
        let mut records = 0;
        let bytes = self.queue.fill(self.capacity, |group, room| {
            records = add(group, room);
            self.pushed.fetch_add(records, Ordering::Release);
        });
        if records == 0 {
            return Err(DurableError::Full);
        }
        // The thread sleeps while nothing waits, and while what waits is too little.
        if bytes.before == 0 || (bytes.before < GROUP_BYTES && bytes.after >= GROUP_BYTES) {
            self.wake_keeper();
        }
        Ok(records)
    }

    #[cold]
    fn refusal(&self) -> DurableError {
        if self.closed.load(Ordering::Acquire) {
            return DurableError::Closed;
        }
        lock(&self.failure).clone().map_or(DurableError::Full, DurableError::Outbox)
    }

    /// Waits for room. False when the deadline passed; true also when a push will say what is wrong.
    pub(super) fn wait_for_room(&self, bytes: usize, deadline: Option<Instant>) -> bool {
        self.hurry();
        let ready = || {
            let room = self.capacity.saturating_sub(self.queue.bytes());
            let over = self.failing.load(Ordering::Acquire) || self.closed.load(Ordering::Acquire);
            (room >= bytes.min(self.capacity) || over).then_some(())
        };
        self.gate.wait(deadline, ready).is_some()
    }

    pub(super) fn flush_durable(&self, deadline: Option<Instant>) -> Result<(), DurableError> {
        let pushed = self.pushed.load(Ordering::Acquire);
        self.wait(pushed, deadline, || self.durable.load(Ordering::Acquire) >= pushed)
    }

    pub(super) fn flush(&self, deadline: Option<Instant>) -> Result<(), DurableError> {
        let pushed = self.pushed.load(Ordering::Acquire);
        let done = || self.stored.load(Ordering::Acquire) >= pushed && self.inherited.load(Ordering::Acquire) == 0;
        self.wait(pushed, deadline, done)
    }

    fn wait(&self, pushed: u64, deadline: Option<Instant>, done: impl Fn() -> bool) -> Result<(), DurableError> {
        if self.durable.load(Ordering::Acquire) < pushed {
            self.hurry();
        }
        let ready = || {
            if done() {
                return Some(Ok(()));
            }
            let fails = self.failing.load(Ordering::Acquire) && self.durable.load(Ordering::Acquire) < pushed;
            (fails || self.closed.load(Ordering::Acquire)).then(|| Err(self.refusal()))
        };
        self.gate.wait(deadline, ready).unwrap_or_else(|| {
            let (durable, stored) = (self.durable.load(Ordering::Acquire), self.stored.load(Ordering::Acquire));
            Err(DurableError::Timeout { durable, stored, pushed, waiting: self.waiting.load(Ordering::Acquire) })
        })
    }

    fn hurry(&self) {
        self.queue.hurry();
        self.wake_keeper();
    }

    // The disk's thread

    pub(super) fn kept_by(&self, thread: Thread) {
        let known = self.keeper.set(thread);
        debug_assert!(known.is_ok(), "one thread keeps an outbox");
    }

    /// Bytes that wait to be fetched, and whether somebody waits for them.
    pub(super) fn queued(&self) -> (usize, bool) {
        (self.queue.bytes(), self.queue.is_hurried())
    }

    /// Exchanges what was pushed for `empty`.
    pub(super) fn fetch(&self, empty: &mut Group) {
        self.queue.fetch(empty);
        self.gate.notify();
    }

    /// The disk works, and this is how far all is.
    pub(super) fn is_now(&self, durable: u64, stored: u64, waiting: u64, inherited: u64) {
        self.durable.fetch_max(durable, Ordering::Release);
        self.stored.fetch_max(stored, Ordering::Release);
        self.waiting.store(waiting, Ordering::Release);
        self.inherited.store(inherited, Ordering::Release);
        self.gate.notify();
    }

    pub(super) fn fails(&self, why: OutboxError) {
        *lock(&self.failure) = Some(Arc::new(why));
        self.failing.store(true, Ordering::Release);
        self.gate.notify();
    }

    pub(super) fn works(&self) {
        if self.failing.swap(false, Ordering::AcqRel) {
            self.gate.notify();
        }
    }

    pub(super) fn was_rolled_back(&self) {
        self.rolled_back.store(true, Ordering::Release);
    }

    pub(super) fn take_told(&self) -> Option<Told> {
        lock(&self.told).take()
    }

    pub(super) fn closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    // The network thread

    /// The receiver has records below `stored`.
    pub(super) fn tell(&self, told: Told) {
        *lock(&self.told) = Some(told);
        self.wake_keeper();
    }

    pub(super) fn is_received(&self, below: u64) {
        if self.received.fetch_max(below, Ordering::Release) < below {
            self.gate.notify();
        }
    }

    pub(super) fn gives_up_too_large(&self, below: u64) -> bool {
        self.too_large_below.fetch_max(below, Ordering::AcqRel) < below
    }

    /// True while something is not STORED.
    pub(super) fn outstanding(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    // All of them

    pub(super) fn wake_keeper(&self) {
        if let Some(keeper) = self.keeper.get() {
            keeper.unpark();
        }
    }

    /// The network thread has ended: what was pushed becomes durable, and then all is over.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.wake_keeper();
    }

    /// Nobody takes anything any more.
    pub(super) fn is_closed(&self) {
        self.closed.store(true, Ordering::Release);
        self.gate.notify();
    }
}

/// How far a stream with an outbox has come. Numbers are those of this opening.
#[derive(Clone, Debug)]
pub struct Progress {
    shared: Arc<Shared>,
}

impl Progress {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Number of the next record.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.shared.pushed.load(Ordering::Acquire)
    }

    /// Number of the first record that is not durable here.
    #[must_use]
    pub fn durable_below(&self) -> u64 {
        self.shared.durable.load(Ordering::Acquire)
    }

    /// Number of the first record that is not RECEIVED.
    #[must_use]
    pub fn received_below(&self) -> u64 {
        self.shared.received.load(Ordering::Acquire)
    }

    /// Number of the first record that is not STORED.
    #[must_use]
    pub fn stored_below(&self) -> u64 {
        self.shared.stored.load(Ordering::Acquire)
    }

    /// Durable records that are not STORED, those of earlier openings included.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.shared.waiting.load(Ordering::Acquire)
    }

    /// Records of earlier openings that are not STORED.
    #[must_use]
    pub fn inherited(&self) -> u64 {
        self.shared.inherited.load(Ordering::Acquire)
    }

    /// As [`DurableStream::flush_durable`](super::DurableStream::flush_durable), for what was pushed when this was called.
    ///
    /// # Errors
    /// As there.
    pub fn flush_durable(&self, timeout: Duration) -> Result<(), DurableError> {
        self.shared.flush_durable(clock::deadline(timeout))
    }

    /// As [`DurableStream::flush`](super::DurableStream::flush), for what was pushed when this was called.
    ///
    /// # Errors
    /// As there.
    pub fn flush(&self, timeout: Duration) -> Result<(), DurableError> {
        self.shared.flush(clock::deadline(timeout))
    }

    /// True when the receiver has more of an epoch than this outbox ever had: the outbox was restored or copied.
    #[must_use]
    pub fn was_rolled_back(&self) -> bool {
        self.shared.rolled_back.load(Ordering::Acquire)
    }

    /// Whether records were given up because the receiver lowered its limit below their size: it has a gap instead.
    #[must_use]
    pub fn gave_up(&self) -> bool {
        self.shared.too_large_below.load(Ordering::Acquire) > 0
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
