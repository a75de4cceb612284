//! The clock: the only place in this crate that reads it.

use std::time;
use tallylink_core::Instant;

/// A monotonic clock that starts at zero.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: time::Instant,
}

impl Clock {
    /// Starts now.
    #[must_use]
    pub fn start() -> Self {
        Self { start: read() }
    }

    /// Microseconds since the start.
    #[must_use]
    #[inline]
    pub fn now(&self) -> Instant {
        let since = read().saturating_duration_since(self.start);
        Instant::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }
}

/// When something that was asked to take at most `timeout` must be over; `None` when that is beyond all times.
pub(crate) fn deadline(timeout: time::Duration) -> Option<time::Instant> {
    read().checked_add(timeout)
}

/// What is left until `deadline`.
pub(crate) fn left(deadline: time::Instant) -> time::Duration {
    deadline.saturating_duration_since(read())
}

/// Microseconds of UTC since 1970, as the system has them.
#[expect(clippy::disallowed_methods, reason = "a driver reads the clock, here and nowhere else")]
pub(crate) fn unix_micros() -> u64 {
    let since = time::SystemTime::now().duration_since(time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Now, for waiting.
pub(crate) fn monotonic() -> time::Instant {
    read()
}

#[expect(clippy::disallowed_methods, reason = "a driver reads the clock, here and nowhere else")]
#[inline]
fn read() -> time::Instant {
    time::Instant::now()
}
