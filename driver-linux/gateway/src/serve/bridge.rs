//! What the journal's writer tells the network thread.

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tallylink_core::Epoch;
use tallylink_journal::Stats;

/// Shared by both threads. Whoever changes it wakes the network thread if that sleeps.
#[derive(Debug, Default)]
pub(super) struct Bridge {
    /// There is something below to look at.
    news: AtomicBool,
    stop: AtomicBool,
    failed: AtomicBool,
    /// The queue was full: its emptying is news.
    wants_room: AtomicBool,
    reports: Mutex<Vec<Report>>,
    journal: Mutex<JournalNow>,
}

/// How far a stream is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) stream: u32,
    pub(super) epoch: Epoch,
    pub(super) below: u64,
}

/// What the journal is like, for `status`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JournalNow {
    pub(super) stats: Stats,
    pub(super) segment_bytes: u64,
    pub(super) failures: u64,
}

impl Bridge {
    /// The writer: so much is stored.
    pub(super) fn stored(&self, reports: impl IntoIterator<Item = Report>) {
        locked(&self.reports).extend(reports);
        self.news.store(true, Ordering::Release);
    }

    /// The network thread: exchanges what was reported for an empty list.
    pub(super) fn take_reports(&self, into: &mut Vec<Report>) {
        std::mem::swap(&mut *locked(&self.reports), into);
    }

    /// The writer: the journal failed; until [`Item::Resume`](super::queue::Item::Resume) everything is passed over.
    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::Release);
        self.news.store(true, Ordering::Release);
    }

    /// The network thread: whether the journal failed since it was asked last.
    pub(super) fn take_failure(&self) -> bool {
        self.failed.swap(false, Ordering::AcqRel)
    }

    /// The network thread: it answered `Full`, and will look whether there is room once after this.
    pub(super) fn want_room(&self) {
        self.wants_room.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    pub(super) fn has_room(&self) {
        self.wants_room.store(false, Ordering::Relaxed);
    }

    /// The writer: it took something out of the queue.
    pub(super) fn took(&self) {
        fence(Ordering::SeqCst);
        if self.wants_room.load(Ordering::Relaxed) {
            self.news.store(true, Ordering::Release);
        }
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.news.store(true, Ordering::Release);
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Whether there is news; looking at all of it follows.
    pub(super) fn take_news(&self) -> bool {
        self.news.swap(false, Ordering::AcqRel)
    }

    pub(super) fn has_news(&self) -> bool {
        self.news.load(Ordering::Acquire)
    }

    pub(super) fn set_journal(&self, now: JournalNow) {
        *locked(&self.journal) = now;
    }

    pub(super) fn journal(&self) -> JournalNow {
        *locked(&self.journal)
    }
}

/// What these locks guard is whole at any time, whoever died holding one.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
