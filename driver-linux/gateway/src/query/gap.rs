//! Why numbers of a stream are missing.

/// What a reason stands for (wire-format §6.5); `None` is the journal's own.
pub(super) fn reason(code: Option<u8>) -> &'static str {
    match code {
        None => "lost_here",
        Some(1) => "overwritten",
        Some(2) => "above_limit",
        Some(3) => "before_first",
        Some(4) => "given_up",
        Some(5) => "lost_by_sender",
        Some(_) => "other",
    }
}
