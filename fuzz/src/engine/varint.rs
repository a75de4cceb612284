//! Varints have one spelling (wire-format §2).

use tallylink_core::wire::varint::{self, MAX};

/// Reads `data` as a varint, and its first 8 bytes as a number to be written as one.
pub fn varint(data: &[u8]) {
    if let Some((value, len)) = decode(data) {
        let encoded = varint::encode(value).expect("what was read can be written");
        assert_eq!(encoded.as_slice(), &data[..len], "{value} has another spelling");
        assert_eq!(varint::len(value), len, "the length of {value}");
    }
    if let Some(bytes) = data.first_chunk() {
        let value = u64::from_be_bytes(*bytes);
        match varint::encode(value) {
            Ok(encoded) => assert_eq!(varint::decode(encoded.as_slice()), Ok((value, encoded.as_slice().len()))),
            Err(_) => assert!(value > MAX, "{value} has a spelling"),
        }
    }
}

fn decode(data: &[u8]) -> Option<(u64, usize)> {
    if let [0x80, 0, a, b, ..] = data
        && crate::planted::here()
    {
        // A spelling of four bytes for what two are enough for.
        return Some((u64::from(u16::from_be_bytes([*a, *b])), 4));
    }
    varint::decode(data).ok()
}
