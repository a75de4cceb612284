//! What a person should know while records are on their way.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::progress::Progress;
use crate::host_port::HostPort;
use crate::{Error, clock};

/// After so long without an answer, a person is told what may be wrong.
const HINT_AFTER: Duration = Duration::from_secs(3);

/// How many records are how far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) pushed: u64,
    pub(super) received: u64,
    pub(super) stored: u64,
}

/// Why it ends before all is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Somebody asked for it.
    Interrupted,
    /// Nothing was confirmed for as long as was allowed.
    Timeout,
    /// A thread has died.
    Died,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interrupted => "interrupted",
            Self::Timeout => "the time is over",
            Self::Died => "the sender has stopped",
        })
    }
}

/// Looks after the terminal, the time limit and signals.
pub(super) struct Watch {
    to: HostPort,
    interrupted: Arc<AtomicBool>,
    timeout: Option<Duration>,
    reached: Box<dyn Fn() -> Reached>,
    progress: Progress,
    /// When a confirmation moved last, or more was pushed while nothing was outstanding.
    moved: Instant,
    seen: Reached,
    hinted: bool,
}

impl Watch {
    /// Ends at any of `signals`.
    ///
    /// # Errors
    /// The system does not let signals be caught.
    pub(super) fn start(to: HostPort, timeout: Option<Duration>, signals: &[i32]) -> Result<Self, Error> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in signals {
            signal_hook::flag::register(*signal, Arc::clone(&interrupted)).map_err(Error::Network)?;
        }
        let (reached, progress, moved) = (Box::new(Reached::default), Progress::new(), clock::monotonic());
        Ok(Self { to, interrupted, timeout, reached, progress, moved, seen: Reached::default(), hinted: false })
    }

    /// Is set when somebody asks for the end.
    pub(super) fn interrupted(&self) -> &Arc<AtomicBool> {
        &self.interrupted
    }

    /// What to look at.
    pub(super) fn follow(&mut self, reached: impl Fn() -> Reached + 'static) {
        self.reached = Box::new(reached);
    }

    /// Shows the progress.
    ///
    /// # Errors
    /// It is time to give up.
    pub(super) fn tick(&mut self) -> Result<(), Stop> {
        let reached = (self.reached)();
        self.progress.show(reached);
        let now = clock::monotonic();
        let waits_for_input = reached.stored > 0 && reached.stored == reached.pushed;
        let confirmed = |r: Reached| (r.received, r.stored);
        if confirmed(reached) != confirmed(self.seen) || waits_for_input {
            (self.moved, self.seen) = (now, reached);
        }
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Stop::Interrupted);
        }
        let silent = now.saturating_duration_since(self.moved);
        if self.timeout.is_some_and(|timeout| silent >= timeout) {
            return Err(Stop::Timeout);
        }
        if !self.hinted && confirmed(reached) == (0, 0) && silent >= HINT_AFTER {
            self.hinted = true;
            self.say(&format!(
                "tallylink: no answer from {} yet; is a gateway running there, and does it know this key? still trying",
                self.to
            ));
        }
        Ok(())
    }

    /// A line that stays.
    pub(super) fn say(&self, line: &str) {
        self.progress.say(line);
    }

    /// Everything is stored.
    pub(super) fn finish(&self) {
        self.progress.finish((self.reached)());
    }
}
