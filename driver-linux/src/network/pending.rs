//! What other threads have for the network thread, until it takes it.

#[cfg(all(test, tallylink_loom))]
mod tests;

use crate::application::Stored;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, MutexGuard};
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::hash::RandomState;
use std::sync::PoisonError;
use tallylink_core::InIx;

/// How many calls may wait.
const CALLS_MAX: usize = 1024;

/// See the module. Whoever added something wakes the network thread.
#[derive(Debug)]
pub(super) struct Pending<C> {
    any: AtomicBool,
    stop: AtomicBool,
    queue: Mutex<Queue<C>>,
}

/// It is bounded: by the streams there are, and by [`CALLS_MAX`].
#[derive(Debug)]
struct Queue<C> {
    /// The newest report of each stream.
    stored: HashMap<InIx, Stored, RandomState>,
    room: bool,
    calls: VecDeque<C>,
    gone: bool,
}

impl<C> Pending<C> {
    pub(super) fn new() -> Self {
        let queue = Queue { stored: HashMap::default(), room: false, calls: VecDeque::new(), gone: false };
        Self { any: AtomicBool::new(false), stop: AtomicBool::new(false), queue: Mutex::new(queue) }
    }

    pub(super) fn stored(&self, reports: impl IntoIterator<Item = Stored>) {
        let mut queue = self.queue();
        queue.stored.extend(reports.into_iter().map(|report| (report.stream, report)));
        self.announce(queue);
    }

    pub(super) fn room(&self) {
        let mut queue = self.queue();
        queue.room = true;
        self.announce(queue);
    }

    /// False if nobody will take the call, or too many wait.
    pub(super) fn call(&self, call: C) -> bool {
        let mut queue = self.queue();
        if queue.gone || queue.calls.len() >= CALLS_MAX {
            return false;
        }
        queue.calls.push_back(call);
        self.announce(queue);
        true
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.announce(self.queue());
    }

    /// The network thread: whether something waits.
    pub(super) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// The network thread: takes all that waits. Back comes whether there is room, and the calls.
    pub(super) fn take(&self, confirmed: impl FnMut(Stored)) -> (bool, VecDeque<C>) {
        let mut queue = self.queue();
        self.any.store(false, Ordering::Release);
        queue.stored.drain().map(|(_, stored)| stored).for_each(confirmed);
        (std::mem::take(&mut queue.room), std::mem::take(&mut queue.calls))
    }

    /// The network thread ends: nothing is taken any more. Back come the calls that were not made.
    pub(super) fn close(&self) -> VecDeque<C> {
        let mut queue = self.queue();
        queue.gone = true;
        std::mem::take(&mut queue.calls)
    }

    fn announce(&self, queue: MutexGuard<'_, Queue<C>>) {
        self.any.store(true, Ordering::Release);
        drop(queue);
    }

    fn queue(&self) -> MutexGuard<'_, Queue<C>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
