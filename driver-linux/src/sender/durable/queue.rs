//! What was pushed and is not yet fetched by the disk's thread.

use crate::outbox::Group;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard, yield_now};
use std::sync::PoisonError;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Queue {
    group: Mutex<Group>,
    /// The group's bytes, for those that only look.
    bytes: AtomicUsize,
    /// Somebody waits for it to be durable.
    hurry: AtomicBool,
    /// The disk's thread wants the group. Whoever pushes lets go of it and has it again before a thread that sleeps for it
    /// is awake: without this, the disk stands still until the memory is full.
    wanted: AtomicBool,
}

/// Bytes in the queue before something was added, and after.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filled {
    pub(super) before: usize,
    pub(super) after: usize,
}

impl Queue {
    /// Bytes that wait. A record may have no bytes, but never no stored ones.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Acquire)
    }

    /// Somebody waits for what is queued.
    pub(super) fn hurry(&self) {
        self.hurry.store(true, Ordering::Release);
    }

    pub(super) fn is_hurried(&self) -> bool {
        self.hurry.load(Ordering::Acquire)
    }

    /// Lets `add` put records into the group, which has room for so many bytes below `capacity`; nobody can fetch it meanwhile.
    #[inline]
    pub(super) fn fill(&self, capacity: usize, add: impl FnOnce(&mut Group, usize)) -> Filled {
        while self.wanted.load(Ordering::Acquire) {
            yield_now();
        }
        let mut group = self.lock();
        let before = group.len();
        add(&mut group, capacity.saturating_sub(before));
        let after = group.len();
        self.bytes.store(after, Ordering::Release);
        Filled { before, after }
    }

    /// Exchanges what was pushed for `empty`.
    pub(super) fn fetch(&self, empty: &mut Group) {
        self.wanted.store(true, Ordering::Release);
        let mut group = self.lock();
        empty.restart(group.end());
        std::mem::swap(&mut *group, empty);
        self.bytes.store(0, Ordering::Release);
        // What was pushed before somebody was in a hurry is in what is fetched.
        self.hurry.store(false, Ordering::Release);
        drop(group);
        self.wanted.store(false, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, Group> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
