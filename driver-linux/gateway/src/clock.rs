//! The one place of this program that reads clocks. What the wall clock says is shown to people, never relied on.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time to measure by.
#[inline]
pub(crate) fn monotonic() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "groups of records and messages to people are timed")]
    let now = Instant::now();
    now
}

/// Whole seconds since 1970; 0 on a machine whose clock stands before that.
pub(crate) fn unix_seconds() -> u64 {
    unix_micros() / 1_000_000
}

/// Microseconds since 1970; 0 on a machine whose clock stands before that.
pub(crate) fn unix_micros() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "when a key was made and when a record came is shown")]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// 9999-12-31T23:59:59Z, the latest that RFC 3339 has.
const LAST_SECOND: u64 = 253_402_300_799;

/// A time of [`unix_seconds`] as RFC 3339 text; the latest that format has for anything beyond it.
pub(crate) fn rfc3339(unix_seconds: u64) -> String {
    let at = UNIX_EPOCH + Duration::from_secs(unix_seconds.min(LAST_SECOND));
    humantime::format_rfc3339_seconds(at).to_string()
}

/// A time of [`unix_micros`] as RFC 3339 text, likewise.
pub(crate) fn rfc3339_micros(unix_micros: u64) -> String {
    let at = UNIX_EPOCH + Duration::from_micros(unix_micros.min(LAST_SECOND * 1_000_000));
    humantime::format_rfc3339_micros(at).to_string()
}

/// The microseconds since 1970 that a person means by a time (RFC 3339) or by how long ago it was.
///
/// # Errors
/// What to write instead.
pub(crate) fn parse_since(text: &str) -> Result<u64, String> {
    if let Ok(ago) = humantime::parse_duration(text) {
        let ago = u64::try_from(ago.as_micros()).unwrap_or(u64::MAX);
        return Ok(unix_micros().saturating_sub(ago));
    }
    let at = humantime::parse_rfc3339_weak(text)
        .map_err(|_| "write a time such as 2026-07-01T12:00:00Z, or how long ago, such as 90s, 10m or 2d".to_owned())?;
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}
