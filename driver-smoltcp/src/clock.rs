//! smoltcp's time and the core's: both count microseconds from a start of the board's choosing.

use smoltcp::time::Instant;
use tallylink_core as tallylink;

/// The core's moment; a moment before the start is the start.
pub(crate) fn to_core(at: Instant) -> tallylink::Instant {
    tallylink::Instant::from_micros(u64::try_from(at.total_micros()).unwrap_or(0))
}

/// smoltcp's moment; one beyond its range is its last.
pub(crate) fn from_core(at: tallylink::Instant) -> Instant {
    Instant::from_micros(i64::try_from(at.as_micros()).unwrap_or(i64::MAX))
}

/// smoltcp's moment `wait` after the core's.
pub(crate) fn after(at: tallylink::Instant, wait: tallylink::Duration) -> Instant {
    let us = at.as_micros().saturating_add(wait.as_micros());
    from_core(tallylink::Instant::from_micros(us))
}

/// The earlier of two moments to wake up at; `None` stands for never.
#[must_use]
pub fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, None) | (None, one) => one,
    }
}
