//! F19: the ranges of an ACK: they come back, they are cut to the room, and a false count costs no more than the packet.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tallylink_core::wire::frame::write_ack;
use tallylink_core::wire::varint::MAX;
use tallylink_core::wire::{Frame, PacketRange, Reader, Writer};

/// Ranges from pairs of gap and length, the largest first.
fn ranges(largest: u64, steps: &[(u64, u64)]) -> Vec<PacketRange> {
    let mut ranges: Vec<PacketRange> = vec![];
    for (gap, length) in steps {
        let high = match ranges.last() {
            None => Some(largest),
            Some(last) => last.low.checked_sub(gap + 2),
        };
        let Some((high, low)) = high.and_then(|h| Some((h, h.checked_sub(*length)?))) else { break };
        ranges.push(PacketRange { low, high });
    }
    ranges
}

fn read_back(bytes: &[u8]) -> Option<(u64, Vec<PacketRange>)> {
    let mut r = Reader::new(bytes);
    match Frame::parse(&mut r) {
        Ok(Frame::Ack { delay_us, ranges, .. }) if r.is_empty() => Some((delay_us, ranges.into_iter().collect())),
        _ => None,
    }
}

fn steps(largest: u64) -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((0..largest, 0..largest), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn ranges_come_back(largest in 0..=MAX, small in steps(300), wide in steps(1 << 40), delay in 0u64..1 << 30) {
        for list in [ranges(largest, &small), ranges(largest, &wide)] {
            prop_assume!(!list.is_empty());
            let mut buffer = [0; 1024];
            let mut w = Writer::new(&mut buffer);
            prop_assert_eq!(write_ack(&mut w, delay, &list), Ok(list.len()));
            prop_assert_eq!(read_back(w.into_written()), Some((delay, list)));
        }
    }

    #[test]
    fn what_does_not_fit_are_the_smallest_numbers(largest in 0..=MAX, steps in steps(1 << 20), size in 0usize..120) {
        let list = ranges(largest, &steps);
        prop_assume!(!list.is_empty());
        let mut buffer = vec![0; size];
        let mut w = Writer::new(&mut buffer);
        if let Ok(count) = write_ack(&mut w, 7, &list) {
            prop_assert_eq!(read_back(w.into_written()), Some((7, list[..count].to_vec())));
        } else {
            prop_assert!(size < 30, "the first range fits in 27 bytes");
        }
    }

    #[test]
    fn ranges_that_are_read_descend_and_do_not_touch(mut bytes: Vec<u8>) {
        bytes.insert(0, 7);
        if let Ok(Frame::Ack { ranges, .. }) = Frame::parse(&mut Reader::new(&bytes)) {
            let list: Vec<_> = ranges.into_iter().collect();
            prop_assert!(list.len() <= bytes.len());
            prop_assert_eq!(list[0].high, ranges.largest());
            prop_assert!(list.iter().all(|r| r.low <= r.high));
            prop_assert!(list.windows(2).all(|w| w[1].high + 1 < w[0].low));
        }
    }
}

#[test]
fn a_false_count_is_refused() {
    let mut buffer = [0; 64];
    let mut w = Writer::new(&mut buffer);
    w.u8(7).unwrap();
    for value in [1000, 0, MAX, 0] {
        w.varint(value).unwrap();
    }
    assert_eq!(read_back(w.into_written()), None);
}
