//! A truncated packet number is rebuilt wherever it may be (wire-format §5.1).

use tallylink_core::wire::number;

/// Reads the first 16 bytes of `data` as an expected and an actual packet number: the number that is rebuilt ends in the
/// bytes that were sent, and is the actual one if that lies within half a window of the expected one.
pub fn numbers(data: &[u8]) {
    let Some((expected, rest)) = data.split_first_chunk() else { return };
    let Some((actual, _)) = rest.split_first_chunk() else { return };
    let expected = u64::from_be_bytes(*expected) & number::LARGEST;
    let actual = u64::from_be_bytes(*actual) & number::LARGEST;
    for len in 2..=4 {
        let window = 1_u64 << (8 * len);
        let truncated = (actual % window) as u32;
        let rebuilt = expand(expected, truncated, len);
        if let Some(rebuilt) = rebuilt {
            assert_eq!(rebuilt % window, u64::from(truncated), "other low bytes");
            assert!(rebuilt <= number::LARGEST, "{rebuilt} is too large");
        }
        let distance = expected.abs_diff(actual);
        if distance < window / 2 {
            assert_eq!(rebuilt, Some(actual), "expected {expected}, {len} bytes");
        }
        // No window of packet numbers comes near the span that 4 bytes, the most there are, can cover.
        if len < 4 && number::truncated_len(distance) <= len {
            assert!(distance < window / 2, "{len} bytes are too few for {distance}");
        }
    }
}

fn expand(expected: u64, truncated: u32, len: usize) -> Option<u64> {
    let rebuilt = number::expand(expected, truncated, len);
    // One window too far, just above a border.
    let wrong = crate::planted::here() && expected & 0xffff == 0xffff && truncated & 0xffff < 8;
    if wrong { rebuilt.and_then(|number| number.checked_sub(1 << (8 * len))) } else { rebuilt }
}
