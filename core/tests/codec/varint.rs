//! Varints: every value comes back, and has one spelling.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tallylink_core::wire::varint::{MAX, decode, encode, len};

/// The values around which the length changes.
const EDGES: [u64; 9] = [0, 63, 64, 16_383, 16_384, (1 << 30) - 1, 1 << 30, MAX - 1, MAX];

#[test]
fn the_edges_of_each_length_have_the_bytes_of_the_rfc() {
    let spelled: [(u64, &[u8]); 7] = [
        (0, &[0]),
        (63, &[0x3f]),
        (64, &[0x40, 0x40]),
        (16_383, &[0x7f, 0xff]),
        (16_384, &[0x80, 0, 0x40, 0]),
        (1 << 30, &[0xc0, 0, 0, 0, 0x40, 0, 0, 0]),
        (MAX, &[0xff; 8]),
    ];
    for (value, bytes) in spelled {
        assert_eq!(encode(value).unwrap().as_slice(), bytes, "{value}");
        assert_eq!(decode(bytes), Ok((value, bytes.len())), "{value}");
    }
}

#[test]
fn what_is_above_the_largest_has_no_encoding() {
    for value in [MAX + 1, 1 << 63, u64::MAX] {
        assert!(encode(value).is_err(), "{value}");
    }
}

/// F18: one spelling per value.
#[test]
fn f18_every_longer_form_is_refused() {
    for value in EDGES {
        for length in [2usize, 4, 8] {
            if length <= len(value) || (length < 8 && value >> (8 * length - 2) != 0) {
                continue;
            }
            let mark: u64 = [0, 0, 1, 0, 2, 0, 0, 0, 3][length];
            let spelled = (value | mark << (8 * length - 2)).to_be_bytes();
            assert!(decode(&spelled[8 - length..]).is_err(), "{value} in {length} bytes");
        }
    }
}

/// F17: a varint that is cut short is refused.
#[test]
fn f17_every_beginning_is_refused() {
    for value in EDGES {
        let encoded = encode(value).unwrap();
        for cut in 0..encoded.as_slice().len() {
            assert!(decode(&encoded.as_slice()[..cut]).is_err(), "{value} cut to {cut}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn every_value_comes_back(shift in 2u32..64, bits: u64, tail: Vec<u8>) {
        let value = bits >> shift;
        let encoded = encode(value).unwrap();
        prop_assert_eq!(encoded.as_slice().len(), len(value));
        let mut bytes = encoded.as_slice().to_vec();
        bytes.extend(tail);
        prop_assert_eq!(decode(&bytes), Ok((value, len(value))));
    }

    #[test]
    fn whatever_is_read_would_be_written_the_same(bytes: [u8; 8]) {
        if let Ok((value, length)) = decode(&bytes) {
            let encoded = encode(value).unwrap();
            prop_assert_eq!(encoded.as_slice(), &bytes[..length]);
        }
    }
}
