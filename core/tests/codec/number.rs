//! F14: truncated packet numbers come back as what they were, near zero, near the largest and under deep reordering.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tallylink_core::wire::number::{LARGEST, expand, truncated_len};

fn truncate(number: u64, len: usize) -> u32 {
    (number & ((1 << (8 * len)) - 1)) as u32
}

/// RFC 9000 appendix A.3.
#[test]
fn the_example_of_the_rfc_holds() {
    assert_eq!(expand(0xa82f_30ea + 1, 0x9b32, 2), Some(0xa82f_9b32));
}

#[test]
fn at_least_two_bytes_and_twice_the_span_travel() {
    for (span, len) in [(0, 2), (1, 2), (0x7fff, 2), (0x8000, 3), (0x7f_ffff, 3), (0x80_0000, 4), (1 << 31, 4)] {
        assert_eq!(truncated_len(span), len, "{span}");
        assert!(span < 1 << 31 && span * 2 < 1 << (8 * len) || span == 1 << 31, "{span}");
    }
}

#[test]
fn every_length_but_two_to_four_is_refused() {
    for len in [0, 1, 5, 8, usize::MAX] {
        assert_eq!(expand(100, 0, len), None);
    }
}

#[test]
fn numbers_near_zero_and_near_the_largest_come_back() {
    for len in 2..=4 {
        for number in 0..200 {
            for expected in 0..200 {
                assert_eq!(expand(expected, truncate(number, len), len), Some(number), "{expected}");
                let (high, expected) = (LARGEST - number, LARGEST - expected);
                assert_eq!(expand(expected, truncate(high, len), len), Some(high), "{expected}");
            }
        }
    }
}

#[test]
fn a_number_above_the_largest_is_never_made() {
    for len in 2..=4 {
        // One above the largest, whose low bytes are all zero.
        assert_eq!(expand(LARGEST + 1, 0, len), None);
        assert_eq!(expand(LARGEST, 0, len), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// A sender with `span` unacknowledged numbers sends `number`; meanwhile the receiver may stand anywhere in that span,
    /// below or above the number.
    #[test]
    fn within_twice_the_span_each_number_comes_back(
        bits: u64, shift in 2u32..62, span in 0u64..1 << 31, share: u16, above: bool,
    ) {
        let number = bits >> shift;
        let len = truncated_len(span);
        let far = ((u128::from(span) * u128::from(share)) >> 16) as u64;
        let expected = if above { number.saturating_add(far) } else { number.saturating_sub(far) };
        prop_assert_eq!(expand(expected, truncate(number, len), len), Some(number));
    }

    #[test]
    fn whatever_is_expanded_has_the_low_bytes_that_came(expected: u64, low: u32, len in 2usize..5) {
        if let Some(number) = expand(expected, low, len) {
            prop_assert!(number <= LARGEST);
            prop_assert_eq!(truncate(number, len), truncate(u64::from(low), len));
        }
    }
}
