//! What the writer does from a failure of its disk until that works again.

use std::fmt::Display;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tallylink_journal::{Error, Store};

use super::Writer;
use super::sink::Sink;
use crate::clock;
use crate::serve::disk::{self, Absent, Lost};
use crate::serve::health::{Subject, remedy};

/// How long after a failed trial the next one comes, at first and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(4));

/// Where the writer stands; see its module's documentation.
#[derive(Debug)]
pub(super) enum State {
    /// `since`: the last `Resume`, until a commit has shown that it holds; `delay`: what the trial before it waited for.
    Taking { since: Option<Instant>, delay: Duration },
    /// The next trial comes at `at`, `delay` after what failed.
    Failed { at: Instant, delay: Duration },
    /// The network thread knows that it may go on.
    Mended { delay: Duration },
    /// Nothing is tried any more.
    Lost,
}

impl Default for State {
    fn default() -> Self {
        Self::Taking { since: None, delay: Duration::ZERO }
    }
}

impl State {
    #[inline]
    pub(super) fn is_taking(&self) -> bool {
        matches!(self, Self::Taking { .. })
    }

    /// What is taken from here on fits the journal.
    pub(super) fn resume(&mut self) {
        match *self {
            Self::Failed { delay, .. } | Self::Mended { delay } => {
                *self = Self::Taking { since: Some(clock::monotonic()), delay };
            }
            Self::Taking { .. } | Self::Lost => {}
        }
    }

    /// A commit succeeded: after a while of that, the next failure is a first one.
    pub(super) fn worked(&mut self) {
        if let Self::Taking { since: Some(since), .. } = self
            && clock::monotonic().saturating_duration_since(*since) > AGAIN.1
        {
            *self = Self::default();
        }
    }

    /// The journal failed. The first trial comes at once; a failure right after the last one waits longer.
    fn fail(&mut self) {
        let now = clock::monotonic();
        let delay = match *self {
            Self::Taking { since: Some(since), delay } if now.saturating_duration_since(since) <= AGAIN.1 => {
                later(delay)
            }
            Self::Taking { .. } => Duration::ZERO,
            Self::Failed { .. } | Self::Mended { .. } | Self::Lost => return,
        };
        *self = Self::Failed { at: now + delay, delay };
    }
}

impl<S: Store> Writer<S> {
    /// Nothing since the last group is stored, and nothing is appended before the senders know.
    pub(super) fn fail_for(&mut self, why: &Error) {
        self.fail(why, kind(why));
    }

    fn fail(&mut self, why: &dyn Display, kind: ErrorKind) {
        if !self.state.is_taking() {
            return;
        }
        self.say(why, kind);
        let Self { journal, places, reports, state, .. } = self;
        Sink { journal, places, reports, state }.rewind();
        // Before the failure itself: it still holds.
        self.bridge.stored(self.reports.drain(..));
        self.state.fail();
        self.failures += 1;
        self.tell();
        self.bridge.fail();
        (self.ways.wake)();
    }

    /// Gives the disk its trial when that is due. Returns how long to wait for the next, if there is to be one.
    pub(super) fn try_again(&mut self) -> Option<Duration> {
        let State::Failed { at, delay } = self.state else { return None };
        let left = at.saturating_duration_since(clock::monotonic());
        if !left.is_zero() {
            return Some(left);
        }
        let tried = match (self.ways.check)() {
            Err(Absent::Ever(why)) => {
                self.lose(why);
                return None;
            }
            Err(Absent::For(why)) => Err(why),
            Ok(()) => {
                // First, since this may be what makes room.
                self.maintain();
                disk::try_out(self.journal.store())
            }
        };
        if let Err(why) = tried {
            self.say(&self.in_directory(&why), why.kind());
            let delay = later(delay);
            self.state = State::Failed { at: clock::monotonic() + delay, delay };
            return Some(delay);
        }
        self.state = State::Mended { delay };
        self.bridge.health.right(Subject::Journal);
        self.bridge.mend();
        (self.ways.wake)();
        None
    }

    /// Looks whether the directory is there, if somebody wants to know.
    pub(super) fn look_when_asked(&mut self) {
        let bridge = Arc::clone(&self.bridge);
        bridge.when_asked(|| {
            if !self.state.is_taking() {
                return;
            }
            match (self.ways.check)() {
                Ok(()) => {}
                Err(Absent::For(why)) => self.fail(&self.in_directory(&why), why.kind()),
                Err(Absent::Ever(why)) => {
                    self.fail(&self.in_directory(&why), ErrorKind::NotFound);
                    self.lose(why);
                }
            }
        });
    }

    fn lose(&mut self, why: Lost) {
        self.state = State::Lost;
        self.bridge.lose(why);
        (self.ways.wake)();
    }

    fn in_directory(&self, why: &dyn Display) -> String {
        format!("{}: {why}", self.journal.store().describe("").trim_end_matches('/'))
    }

    fn say(&self, why: &dyn Display, kind: ErrorKind) {
        let what = format!("{why}; nothing is taken, and nothing is lost: senders keep what is not stored");
        self.bridge.health.wrong(Subject::Journal, what, remedy(kind));
    }
}

fn later(delay: Duration) -> Duration {
    (2 * delay).clamp(AGAIN.0, AGAIN.1)
}

/// What kind of failure of the disk an error is.
pub(super) fn kind(why: &Error) -> ErrorKind {
    match why {
        Error::Io { source, .. } => source.kind(),
        _ => ErrorKind::Other,
    }
}
