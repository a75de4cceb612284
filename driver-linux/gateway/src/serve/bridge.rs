//! What the journal's writer tells the network thread.

#[cfg(all(test, tallylink_loom))]
mod tests;

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tallylink_core::Epoch;
use tallylink_journal::Stats;

use super::disk::{Lost, Pulse};
use super::health::Health;
use crate::clock;
use crate::sync::atomic::{AtomicBool, Ordering, fence};
use crate::sync::{Condvar, Mutex, MutexGuard};

/// Shared by both threads, and by those that tell how the gateway is. Whoever changes what the network thread looks at
/// wakes it if it sleeps.
#[derive(Debug, Default)]
pub(super) struct Bridge {
    /// There is something below to look at.
    news: AtomicBool,
    stop: AtomicBool,
    failed: AtomicBool,
    /// The journal failed, and the disk has passed a trial since.
    mended: AtomicBool,
    lost: Mutex<Option<Lost>>,
    /// How often the writer was asked to look at its disk, and how often it has looked.
    looks: Mutex<Looks>,
    looked: Condvar,
    pub(super) pulse: Arc<Pulse>,
    pub(super) health: Health,
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

#[derive(Clone, Copy, Debug, Default)]
struct Looks {
    asked: u64,
    done: u64,
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
        set(&self.news, true);
    }

    /// The network thread: exchanges what was reported for an empty list.
    pub(super) fn take_reports(&self, into: &mut Vec<Report>) {
        std::mem::swap(&mut *locked(&self.reports), into);
    }

    /// The writer: the journal failed; until [`Item::Resume`](super::queue::Item::Resume) everything is passed over.
    pub(super) fn fail(&self) {
        set(&self.mended, false);
        set(&self.failed, true);
        set(&self.news, true);
    }

    /// The network thread: whether the journal failed since it was asked last.
    pub(super) fn take_failure(&self) -> bool {
        self.failed.swap(false, Ordering::AcqRel)
    }

    /// The writer: the disk works again, as far as a trial shows.
    pub(super) fn mend(&self) {
        set(&self.mended, true);
        set(&self.news, true);
    }

    /// The network thread: whether it may go on, once it has heard of the failure.
    pub(super) fn is_mended(&self) -> bool {
        self.mended.load(Ordering::Acquire)
    }

    /// The network thread: it has gone on.
    pub(super) fn gone_on(&self) {
        set(&self.mended, false);
    }

    /// The writer: nothing will be stored any more.
    pub(super) fn lose(&self, why: Lost) {
        *locked(&self.lost) = Some(why);
        set(&self.news, true);
    }

    pub(super) fn lost(&self) -> Option<Lost> {
        *locked(&self.lost)
    }

    /// Has the writer look at its disk, and waits for that as long as given. `wake` wakes the writer.
    pub(super) fn look(&self, wake: impl FnOnce(), at_most: Duration) {
        let mut looks = locked(&self.looks);
        looks.asked += 1;
        let wanted = looks.asked;
        drop(looks);
        wake();
        // Whether it came in time is seen from what it left.
        let until = clock::monotonic() + at_most;
        let mut looks = locked(&self.looks);
        while looks.done < wanted {
            let left = until.saturating_duration_since(clock::monotonic());
            if left.is_zero() {
                break;
            }
            looks = self.looked.wait_timeout(looks, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The writer: looks if it was asked to.
    pub(super) fn when_asked(&self, look: impl FnOnce()) {
        let asked = locked(&self.looks).asked;
        if asked > locked(&self.looks).done {
            look();
            locked(&self.looks).done = asked;
            self.looked.notify_all();
        }
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
            set(&self.news, true);
        }
    }

    pub(super) fn stop(&self) {
        set(&self.stop, true);
        set(&self.news, true);
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Whether there is news; looking at all of it follows.
    pub(super) fn take_news(&self) -> bool {
        self.news.swap(false, Ordering::AcqRel)
    }

    /// Whether there is something to look at. An order to stop stays news, whoever has looked at the rest meanwhile.
    pub(super) fn has_news(&self) -> bool {
        self.news.load(Ordering::Acquire) || self.stopped()
    }

    pub(super) fn set_journal(&self, now: JournalNow) {
        *locked(&self.journal) = now;
    }

    pub(super) fn journal(&self) -> JournalNow {
        *locked(&self.journal)
    }
}

/// Changes a flag. A swap, as all that changes it: with stores among them loom would not see that the changes have one order.
fn set(flag: &AtomicBool, to: bool) {
    flag.swap(to, Ordering::AcqRel);
}

/// What these locks guard is whole at any time, whoever died holding one.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
