//! Truncated packet numbers (wire-format §5.1; RFC 9000 §17.1 and appendix A.3).

/// The largest packet number. At this number a session sends nothing more.
pub const LARGEST: u64 = (1 << 62) - 1;

/// How many bytes of packet number `next` go on the wire when `unacknowledged` numbers, counted from the oldest that the
/// other end may still expect, lie below it: at least 2, and enough for twice that span, so that no reordering within it
/// can decode to another number.
#[must_use]
#[inline]
pub const fn truncated_len(unacknowledged: u64) -> usize {
    match unacknowledged {
        0..=0x7fff => 2,
        0x8000..=0x7f_ffff => 3,
        _ => 4,
    }
}

/// Rebuilds the full number from its low `len` bytes: the one nearest to `expected`, the number after the largest that
/// was received.
///
/// `None` when `len` is not 2 to 4 or the result is above [`LARGEST`].
#[must_use]
#[inline]
pub fn expand(expected: u64, truncated: u32, len: usize) -> Option<u64> {
    let window: u64 = match len {
        2 => 1 << 16,
        3 => 1 << 24,
        4 => 1 << 32,
        _ => return None,
    };
    let half = window >> 1;
    let mask = window.wrapping_sub(1);
    let candidate = (expected & !mask) | (u64::from(truncated) & mask);
    let number = if candidate.checked_add(half).is_some_and(|c| c <= expected) {
        candidate.checked_add(window)?
    } else if candidate > expected.saturating_add(half) {
        candidate.checked_sub(window).unwrap_or(candidate)
    } else {
        candidate
    };
    (number <= LARGEST).then_some(number)
}
