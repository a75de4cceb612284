//! Varints have one spelling (wire-format §2); a truncated packet number is rebuilt wherever it may be (§5.1).

use tallylink_core::wire::{number, varint};

/// Reads `data` as a varint, and its first 16 bytes as an expected and an actual packet number.
pub fn numbers(data: &[u8]) {
    if let Ok((value, len)) = varint::decode(data) {
        let encoded = varint::encode(value).expect("what was read can be written");
        assert_eq!(encoded.as_slice(), &data[..len], "{value} has another spelling");
        assert_eq!(varint::len(value), len, "the length of {value}");
    }
    if let Some((expected, rest)) = data.split_first_chunk()
        && let Some((actual, _)) = rest.split_first_chunk()
    {
        packet_number(u64::from_be_bytes(*expected), u64::from_be_bytes(*actual));
    }
}

/// The number that is rebuilt ends in the bytes that were sent, and is the actual one if that lies within half a
/// window of the expected one.
fn packet_number(expected: u64, actual: u64) {
    let expected = expected & number::LARGEST;
    let actual = actual & number::LARGEST;
    for len in 2..=4 {
        let window = 1_u64 << (8 * len);
        let truncated = (actual % window) as u32;
        let rebuilt = number::expand(expected, truncated, len);
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
