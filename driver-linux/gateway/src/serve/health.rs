//! What is wrong with the gateway, since when, and what to do about it: the one home of it for logs, `status` and HTTP.
//!
//! A subject is said to have gone wrong, to be wrong in another way, and to be right again; each at most once a
//! minute, however often it changes.

use std::io::ErrorKind;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::{error, info, warn};

use crate::clock;
use crate::status::Trouble;

/// How long a subject is silent after a message.
const QUIET: Duration = Duration::from_secs(60);

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// Records are not stored.
    Journal,
    /// Checkpoints are not written, or old segments not deleted.
    Upkeep,
    /// Followers do not see what is stored.
    Followers,
    /// Changes of the key store are not seen.
    Keys,
    /// What waits for devices is not taken.
    Downlink,
    /// The health endpoint does not answer.
    Http,
}

impl Subject {
    /// In the order in which they are shown.
    pub(super) const ALL: [Self; 6] =
        [Self::Journal, Self::Upkeep, Self::Followers, Self::Keys, Self::Downlink, Self::Http];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Upkeep => "upkeep",
            Self::Followers => "followers",
            Self::Keys => "keys",
            Self::Downlink => "downlink",
            Self::Http => "http",
        }
    }

    /// Whether the gateway takes nothing while it is wrong.
    fn stops(self) -> bool {
        self == Self::Journal
    }
}

/// Every subject's state.
#[derive(Debug, Default)]
pub(super) struct Health {
    rows: Mutex<[Row; Subject::ALL.len()]>,
}

#[derive(Debug, Default)]
struct Row {
    wrong: Option<Wrong>,
    said_at: Option<Instant>,
    /// Changes that were not said since.
    unsaid: u32,
}

#[derive(Debug)]
struct Wrong {
    since_us: u64,
    since: Instant,
    what: String,
    remedy: &'static str,
    said: bool,
}

impl Health {
    /// Something is wrong. Being told the same again changes nothing.
    pub(super) fn wrong(&self, subject: Subject, what: String, remedy: &'static str) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let row = &mut rows[subject as usize];
        if row.wrong.as_ref().is_some_and(|wrong| wrong.what == what) {
            return;
        }
        let now = clock::monotonic();
        let may = row.said_at.is_none_or(|at| now.saturating_duration_since(at) >= QUIET);
        if may {
            let before = match std::mem::take(&mut row.unsaid) {
                0 => String::new(),
                n => format!(" ({n} times since this was said last)"),
            };
            let text = format!("{}: {what}; {remedy}{before}", subject.name());
            if subject.stops() {
                error!("{text}")
            } else {
                warn!("{text}")
            }
            row.said_at = Some(now);
        } else {
            row.unsaid += 1;
        }
        let (since_us, since, said) = match &row.wrong {
            Some(wrong) => (wrong.since_us, wrong.since, wrong.said),
            None => (clock::unix_micros(), now, false),
        };
        row.wrong = Some(Wrong { since_us, since, what, remedy, said: said || may });
    }

    /// It is right, again or still.
    pub(super) fn right(&self, subject: Subject) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wrong) = rows[subject as usize].wrong.take()
            && wrong.said
        {
            let took = clock::monotonic().saturating_duration_since(wrong.since);
            let took = humantime::format_duration(Duration::from_millis(took.as_millis() as u64));
            info!("{}: right again after {took}", subject.name());
        }
    }

    /// Everything that is wrong.
    pub(super) fn troubles(&self) -> Vec<Trouble> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let told = |subject: &Subject| {
            let wrong = rows[*subject as usize].wrong.as_ref()?;
            Some(Trouble {
                subject: subject.name().to_owned(),
                since: clock::rfc3339(wrong.since_us / 1_000_000),
                what: wrong.what.clone(),
                remedy: wrong.remedy.to_owned(),
                stops: subject.stops(),
            })
        };
        Subject::ALL.iter().filter_map(told).collect()
    }
}

/// What a person can do about an error of the journal's disk.
pub(super) fn remedy(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free space on that disk, or lower retain_bytes; the gateway then goes on by itself"
        }
        ErrorKind::ReadOnlyFilesystem => "mount that disk for writing; the gateway then goes on by itself",
        ErrorKind::NotFound => "put the directory back, or mount its disk; the gateway then goes on by itself",
        ErrorKind::PermissionDenied => "let the gateway's user write there; it then goes on by itself",
        _ => "look for that disk in the kernel's messages (dmesg); the gateway tries again every few seconds",
    }
}

#[cfg(test)]
mod tests;
