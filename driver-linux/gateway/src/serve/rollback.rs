//! An outbox or a journal that is not what it was: a restored backup, or a copy that goes on beside its original
//! (wire-format §7.1). Nothing is refused for it; it is told, counted, and what is gone is journalled as a gap.

use tallylink_core::{Epoch, Open};
use tracing::warn;

use super::streams::{Known, REMEMBERED};

/// The gap's reason: before the sender's oldest (wire-format §6.5).
pub(super) const BEFORE_FIRST: u8 = 3;

/// What an OPEN says that this journal does not agree with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The epoch before was stored up to `end` according to the sender, and here less: this journal is older than it.
    JournalOlder { previous: Epoch, end: u64, here: u64 },
    /// The epoch before is not the one that came last here, or ended earlier: the outbox was restored or copied.
    OutboxDiffers { previous: Epoch, end: u64 },
    /// The sender's oldest record of an epoch that is known here lies ahead of what came.
    FirstAhead { first: u64, here: u64 },
}

/// How often each was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rollbacks {
    pub(super) journal_older: u64,
    pub(super) outbox_differs: u64,
    pub(super) first_ahead: u64,
}

/// Compares an OPEN with the epochs that are known of its stream, the newest last.
pub(super) fn compare(open: &Open<'_>, epochs: &[Known]) -> Option<Finding> {
    let of = |epoch| epochs.iter().find(|known| known.epoch == epoch);
    if let Some(known) = of(open.epoch) {
        let ahead = Finding::FirstAhead { first: open.first, here: known.next() };
        return (open.first > known.next()).then_some(ahead);
    }
    let previous = open.previous.filter(|previous| previous.end > 0)?;
    let (epoch, end) = (previous.epoch, previous.end);
    match of(epoch) {
        Some(known) if known.next() < end => Some(Finding::JournalOlder { previous: epoch, end, here: known.next() }),
        Some(known) if known.next() == end && epochs.last().is_some_and(|last| last.epoch == epoch) => None,
        // Fewer epochs than can be remembered: none was ever forgotten, this one never came.
        None if epochs.len() < REMEMBERED => Some(Finding::JournalOlder { previous: epoch, end, here: 0 }),
        _ => Some(Finding::OutboxDiffers { previous: epoch, end }),
    }
}

impl Finding {
    /// What of the epoch before is gone, as the epoch and the number below which it is.
    pub(super) fn gone(&self) -> Option<(Epoch, u64)> {
        match *self {
            Self::JournalOlder { previous, end, .. } => Some((previous, end)),
            // The gap of a known epoch comes with its OPEN.
            Self::OutboxDiffers { .. } | Self::FirstAhead { .. } => None,
        }
    }
}

impl Rollbacks {
    /// Counts and tells it.
    pub(super) fn note(&mut self, finding: &Finding, peer: [u8; 8], stream: &str) {
        let who = format!("{}/{}", crate::PeerId(peer), stream.escape_debug());
        match finding {
            Finding::JournalOlder { previous, end, here } => {
                self.journal_older += 1;
                warn!(
                    "{who}: this journal is older than its sender: that has {end} records of epoch {previous:?} confirmed, \
                     and {here} are here; the others are shown as missing"
                );
            }
            Finding::OutboxDiffers { previous, end } => {
                self.outbox_differs += 1;
                warn!(
                    "{who}: the outbox was restored from an older copy, or copied: its last epoch before this is {previous:?} \
                     with {end} records, which is not what came last; everything new is stored"
                );
            }
            Finding::FirstAhead { first, here } => {
                self.first_ahead += 1;
                warn!(
                    "{who}: its sender's oldest record is number {first}, and {here} are here: this journal is older than its \
                     sender, or that gave records up; they are shown as missing"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests;
