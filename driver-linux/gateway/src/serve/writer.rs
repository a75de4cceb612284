//! The journal's thread: it appends every chunk that waits, makes groups of them durable, and tells how far.
//!
//! # When the disk fails
//!
//! ```text
//!              a write or sync fails,                 the disk passes a trial
//!              the directory is gone
//!   TAKING ────────────────────────────> FAILED ────────────────────────────────> MENDED
//!     ^                                  │    ^ │                                    │
//!     │                                  │    └─┘ it does not: again, later          │
//!     │                                  v                                           │
//!     │                                LOST: another directory is in its place       │
//!     └──────────────────────────────────────────────────────────────────────────────┘
//!                               `Resume` arrives in the queue
//! ```
//!
//! - TAKING: what the queue holds is appended and committed; what a commit returns is confirmed, and nothing else ever is.
//! - FAILED: the journal is back at what is proven ([`Journal::rewind`]) and its handle is dropped. The network thread ends
//!   all sessions and refuses streams and records before it acknowledges them. What is still queued is passed over. The
//!   first trial comes at once, later ones after 250 ms to 4 s: old segments are deleted if retention lets them go, then
//!   a file is made, preallocated, written, synced and removed.
//! - MENDED: the network thread is told. It puts `Resume` and takes streams again, each from what is stored of it; so
//!   whatever is behind `Resume` fits the journal. The journal begins a new segment with it.
//! - LOST: the directory whose lock this process holds was removed for good, or another is in its place. What is stored
//!   can only be told by opening it: the process ends with an exit code of its own.
//!
//! A failure soon after `Resume` waits longer for its trial than the one before: a disk that fails only under load does
//! not make sessions come and go all the time. Checkpoints, deletions and the published position may fail in TAKING:
//! nothing that is confirmed rests on them, and they are tried again.
//!
//! A call that does not return keeps only this thread: the network thread goes on until the queue is full, then
//! answers so before it acknowledges.

mod failure;
mod places;
mod sink;

use std::io::ErrorKind;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tallylink_journal::{Journal, Store};
use tracing::{info, warn};

use super::bridge::{Bridge, JournalNow, Report};
use super::disk::Absent;
use super::health::{Subject, remedy};
use super::queue::Take;
use crate::clock;
use failure::State;
use places::Places;
use sink::Sink;

/// A group is not left open for more, once it has so many bytes.
const GROUP_BYTES: u64 = 1 << 20;
/// Nor, once it has so many, when nothing has come for an eighth of the interval: who sent as much has used up its credit, and
/// waits for this group. It is half of the first credit that a peer gets.
const LULL_BYTES: u64 = 8 << 10;
const LULL_PART: u32 = 8;
/// The network thread's pause between two busy turns is no lull.
const LULL_LEAST: Duration = Duration::from_micros(300);
/// After checkpoints or deletions failed, they are tried again this much later.
const UPKEEP_AGAIN: Duration = Duration::from_secs(1);
/// How often old segments are looked for when nothing is written, if they may go for their age.
const AGE_CHECK: Duration = Duration::from_secs(30);

/// What a turn leaves to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Another turn, at once.
    Again,
    /// A turn when something was put, and at the latest after this.
    Wait(Duration),
    /// A turn when something was put.
    Rest,
    /// Nothing more will come.
    Over,
}

/// Writes the journal until the queue is over.
pub(super) struct Writer<S: Store> {
    journal: Journal<S>,
    queue: Take,
    bridge: Arc<Bridge>,
    ways: Ways,
    interval: Duration,
    /// When the open group got its first chunk.
    group: Option<Instant>,
    /// When something was taken last.
    took_at: Instant,
    checks_age: bool,
    places: Places,
    /// What became durable and is not told yet.
    reports: Vec<Report>,
    state: State,
    failures: u64,
    /// When checkpoints and deletions are tried again, after they failed.
    upkeep_at: Option<Instant>,
}

/// How the writer reaches what is outside.
pub(super) struct Ways {
    /// Wakes the network thread.
    pub(super) wake: Box<dyn Fn() + Send>,
    /// Whether the journal's directory is where it was.
    pub(super) check: Box<dyn Fn() -> Result<(), Absent> + Send>,
}

impl<S: Store> Writer<S> {
    pub(super) fn new(
        mut journal: Journal<S>,
        queue: Take,
        bridge: Arc<Bridge>,
        ways: Ways,
        interval: Duration,
        checks_age: bool,
    ) -> Self {
        let places = Places::of(&journal);
        // The network thread has one.
        journal.drop_index();
        Self {
            journal,
            queue,
            bridge,
            ways,
            interval,
            group: None,
            took_at: clock::monotonic(),
            checks_age,
            places,
            reports: Vec::new(),
            state: State::default(),
            failures: 0,
            upkeep_at: None,
        }
    }

    /// Makes room for so many more streams at once.
    pub(super) fn reserve_streams(&mut self, more: usize) {
        self.journal.reserve_streams(more);
        self.places.reserve(more);
    }

    /// Runs on its own thread. Returns when the network thread is gone and all that it put is durable, or cannot be.
    pub(super) fn run(mut self) {
        loop {
            match self.turn() {
                Next::Again => {}
                Next::Wait(at_most) => thread::park_timeout(at_most),
                Next::Rest if self.checks_age => {
                    thread::park_timeout(AGE_CHECK);
                    self.maintain();
                }
                Next::Rest => thread::park(),
                Next::Over => break,
            }
        }
        if self.state.is_taking() {
            info!("everything received is stored");
        } else {
            warn!("what was received since the journal failed is not stored: its senders keep it");
        }
    }

    /// Appends what waits and, when it is time, makes it durable.
    pub(super) fn turn(&mut self) -> Next {
        let took = self.take_all();
        if took > 0 {
            self.bridge.took();
            (self.ways.wake)();
        }
        self.look_when_asked();
        if self.journal.pending_bytes() == 0 {
            self.group = None;
            return match took {
                0 if self.queue.is_over() => Next::Over,
                0 => match self.try_again().or_else(|| self.keep_up()) {
                    Some(at_most) => Next::Wait(at_most),
                    None => Next::Rest,
                },
                _ => Next::Again,
            };
        }
        let now = clock::monotonic();
        if took > 0 {
            self.took_at = now;
        }
        let began = *self.group.get_or_insert(now);
        let mut left = self.interval.saturating_sub(now.saturating_duration_since(began));
        if self.journal.pending_bytes() >= LULL_BYTES {
            let lull = (self.interval / LULL_PART).max(LULL_LEAST);
            left = left.min(lull.saturating_sub(now.saturating_duration_since(self.took_at)));
        }
        if left.is_zero() || self.journal.pending_bytes() >= GROUP_BYTES || self.queue.is_over() {
            self.group = None;
            self.commit();
        } else if took == 0 {
            return Next::Wait(left);
        }
        Next::Again
    }

    /// Appends what waits, up to a group. Returns how many items were taken.
    fn take_all(&mut self) -> usize {
        let mut took = 0;
        while self.journal.pending_bytes() < GROUP_BYTES {
            let Self { queue, journal, places, reports, state, .. } = self;
            let mut sink = Sink { journal, places, reports, state };
            let Some(result) = queue.take(|stream, item, body| sink.item(stream, item, body)) else { break };
            took += 1;
            if let Err(why) = result {
                self.fail_for(&why);
            }
        }
        took
    }

    fn commit(&mut self) {
        let Self { journal, places, reports, state, .. } = self;
        let committed = Sink { journal, places, reports, state }.commit();
        self.bridge.stored(self.reports.drain(..));
        match committed {
            Ok(()) => {
                self.state.worked();
                (self.ways.wake)();
            }
            Err(why) => self.fail_for(&why),
        }
        if self.upkeep_at.is_none_or(|at| clock::monotonic() >= at) {
            self.maintain();
        }
        self.tell();
    }

    /// Does what upkeep failed to do, when that is due. Returns how long to wait for it, if there is something.
    fn keep_up(&mut self) -> Option<Duration> {
        let left = |at: Instant| at.saturating_duration_since(clock::monotonic());
        if left(self.upkeep_at?).is_zero() {
            self.maintain();
            self.tell();
        }
        self.upkeep_at.map(left)
    }

    /// Writes checkpoints and deletes old segments, where due.
    fn maintain(&mut self) {
        match self.journal.maintain(clock::unix_micros()) {
            Ok(done) => {
                if done.deleted > 0 {
                    info!("deleted {} old segments", done.deleted);
                }
                self.upkeep_at = None;
                self.bridge.health.right(Subject::Upkeep);
            }
            Err(why) => {
                self.upkeep_at = Some(clock::monotonic() + UPKEEP_AGAIN);
                let what = format!("{why}; records are stored, but old segments stay");
                self.bridge.health.wrong(Subject::Upkeep, what, remedy(failure::kind(&why)));
            }
        }
    }

    fn tell(&mut self) {
        let stats = self.journal.stats();
        if self.journal.is_published() {
            self.bridge.health.right(Subject::Followers);
        } else {
            let what = "how far records are stored cannot be published, so that `query` does not see the newest";
            self.bridge.health.wrong(Subject::Followers, what.to_owned(), remedy(ErrorKind::Other));
            self.upkeep_at = Some(clock::monotonic() + UPKEEP_AGAIN);
        }
        let segment_bytes = self.journal.segment_bytes();
        self.bridge.set_journal(JournalNow { stats, segment_bytes, failures: self.failures });
    }
}
