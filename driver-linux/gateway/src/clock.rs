//! The one place of this program's offline commands that reads the clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Whole seconds since 1970; 0 on a machine whose clock stands before that. Shown to people, never relied on.
pub(crate) fn unix_seconds() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "a key's creation time is shown in `peer list`")]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A time of [`unix_seconds`] as RFC 3339 text; the latest that format has for anything beyond it.
pub(crate) fn rfc3339(unix_seconds: u64) -> String {
    const LAST: u64 = 253_402_300_799; // 9999-12-31T23:59:59Z
    let at = UNIX_EPOCH + Duration::from_secs(unix_seconds.min(LAST));
    humantime::format_rfc3339_seconds(at).to_string()
}
