//! The ring against a plain list of records, at every offset.

#![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test")]

use super::{Bounds, Cut, MIN_PART, Run, Stop, copy_in, cut, measure, pieces, pieces_mut, span, stored_size};
use crate::wire::varint;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::vec;
use std::vec::Vec;

/// A record as it is stored.
fn stored(size: usize) -> Vec<u8> {
    let mut bytes = varint::encode(size as u64).unwrap().as_slice().to_vec();
    bytes.extend((0..size).map(|i| (i * 7) as u8));
    bytes
}

fn packed(sizes: &[usize]) -> Vec<u8> {
    sizes.iter().flat_map(|size| stored(*size)).collect()
}

/// A ring of `len` bytes with `bytes` from `at` on.
fn ring_with(len: usize, at: u32, bytes: &[u8]) -> Vec<u8> {
    let mut ring = vec![0xee; len];
    copy_in(&mut ring, at, bytes);
    ring
}

/// F37: a record of exactly the ring's size works wherever it begins.
#[test]
fn what_was_copied_in_is_found_again_at_every_offset() {
    for size in [0usize, 1, 62, 63, 64, 100, 16_382, 16_384] {
        let record = stored(size);
        let len = record.len();
        for at in (0..len as u32).step_by(1 + len / 400) {
            let mut ring = ring_with(len, at, &record);
            let (front, back) = pieces(&ring, at, len as u32);
            assert_eq!([front, back].concat(), record, "{size} at {at}");
            assert_eq!(stored_size(&ring, at), len as u32, "{size} at {at}");
            assert_eq!(span(&ring, at, 1), len as u32);
            let (front, back) = pieces_mut(&mut ring, at, len as u32);
            assert_eq!(front.len() + back.len(), len);
        }
    }
}

/// What `cut` should do, record by record over a plain list: (bytes, records ended, offset, rest).
fn plain_cut(sizes: &[u32], offset: u32, bounds: &Bounds) -> (u32, u16, u32, u32) {
    let (mut len, mut ended, mut begun) = (0u32, 0u16, 0u64);
    for (i, size) in sizes.iter().enumerate() {
        let (left, resumed) = if i == 0 { (size - offset, offset > 0) } else { (*size, false) };
        if !resumed && (u64::from(*size) > bounds.max_stored || begun + u64::from(*size) > bounds.credit) {
            break;
        }
        if left > bounds.room - len {
            let part = bounds.room - len;
            if resumed || part >= MIN_PART {
                let offset = if resumed { offset + part } else { part };
                return (bounds.room, ended, offset, left - part);
            }
            break;
        }
        len += left;
        ended += 1;
        begun += if resumed { 0 } else { u64::from(*size) };
    }
    (len, ended, 0, 0)
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn a_cut_is_what_a_plain_list_gives(
        sizes in prop::collection::vec(prop_oneof![0usize..70, 0usize..400, 16_380usize..16_390], 1..30),
        at_share: u16, part_share: u16, spare in 0usize..50, room in 1u32..2_000,
        credit in prop_oneof![Just(u64::MAX), 0u64..3_000], max_record in prop_oneof![Just(1u64 << 20), 0u64..300],
    ) {
        let bytes = packed(&sizes);
        let len = bytes.len() + spare;
        let start = ((len as u64 * u64::from(at_share)) >> 16) as u32;
        let ring = ring_with(len, start, &bytes);
        let stored: Vec<u32> = sizes.iter().map(|s| stored(*s).len() as u32).collect();
        // The first record may have been begun by an earlier packet, at least MIN_PART bytes of it.
        let first = stored[0];
        let offset = match (u32::from(part_share) * first) >> 16 {
            part if part < MIN_PART => 0,
            part => part,
        };
        let rest = if offset > 0 { first - offset } else { 0 };
        let at = (start + offset) % len as u32;
        let bounds = Bounds { available: bytes.len() as u32 - offset, room, credit, max_stored: max_record + 4 };
        let found = cut(&ring, at, offset, rest, bounds);
        prop_assert_eq!((found.len, found.ended, found.offset, found.rest), plain_cut(&stored, offset, &bounds));
        prop_assert!(found.len <= room && found.len <= bounds.available);
        if found.rest > 0 && rest == 0 && found.ended == 0 {
            prop_assert!(found.offset >= MIN_PART, "no cut inside a size varint");
        }
    }

    #[test]
    fn spans_are_sums(sizes in prop::collection::vec(0usize..300, 1..20), at_share: u16, spare in 0usize..9) {
        let bytes = packed(&sizes);
        let len = bytes.len() + spare;
        let at = ((len as u64 * u64::from(at_share)) >> 16) as u32;
        let ring = ring_with(len, at, &bytes);
        for count in 0..=sizes.len() {
            prop_assert_eq!(span(&ring, at, count as u64) as usize, packed(&sizes[..count]).len());
        }
    }

    #[test]
    fn measuring_takes_the_whole_records_that_fit(
        sizes in prop::collection::vec(0usize..300, 0..20), room in 0u32..4_000, limit in 0u32..400,
    ) {
        let bytes = packed(&sizes);
        let found = measure(&bytes, room, limit);
        let mut run = Run { records: 0, bytes: 0 };
        let mut expected = None;
        for size in &sizes {
            let after = run.bytes + stored(*size).len() as u32;
            if *size > limit as usize {
                expected = Some(None);
                break;
            }
            if after > room {
                break;
            }
            run = Run { records: run.records + 1, bytes: after };
        }
        prop_assert_eq!(found, expected.unwrap_or(Some(run)));
    }

    #[test]
    fn what_is_no_run_of_whole_records_is_refused(sizes in prop::collection::vec(1usize..300, 1..9)) {
        let bytes = packed(&sizes);
        prop_assert_eq!(measure(&bytes[..bytes.len() - 1], u32::MAX, u32::MAX), None);
        let long_form = [&[0x40, 1, 9][..], &bytes].concat();
        prop_assert_eq!(measure(&long_form, u32::MAX, u32::MAX), None);
    }
}

#[test]
fn why_a_cut_ends_is_told() {
    let bytes = packed(&[10, 200, 10]);
    let of = |room, credit, max_stored| {
        cut(&bytes, 0, 0, 0, Bounds { available: bytes.len() as u32, room, credit, max_stored })
    };
    let cases = [
        (of(1000, u64::MAX, 1000), 224, Stop::Empty),
        (of(60, u64::MAX, 1000), 11, Stop::Packet),
        (of(100, u64::MAX, 1000), 100, Stop::Packet),
        (of(1000, 212, 1000), 11, Stop::Credit(202)),
        (of(1000, 213, 1000), 213, Stop::Credit(11)),
        (of(1000, u64::MAX, 201), 11, Stop::TooLarge),
    ];
    for (Cut { len, stop, .. }, expected_len, expected_stop) in cases {
        assert_eq!((len, stop), (expected_len, expected_stop));
    }
}
