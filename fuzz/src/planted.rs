//! Faults planted on purpose: with `TALLYLINK_PLANTED` set, each target is told of something that did not happen, as a bug in the code under
//! test would tell it. `.ci/fuzz --planted` shows that every one of them is found.

use std::sync::OnceLock;

/// Whether the code under test is to look as if it had a bug.
pub(crate) fn here() -> bool {
    static PLANTED: OnceLock<bool> = OnceLock::new();
    *PLANTED.get_or_init(|| std::env::var_os("TALLYLINK_PLANTED").is_some_and(|set| !set.is_empty()))
}
