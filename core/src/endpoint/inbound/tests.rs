//! Walking chunks against a plain stream of records.

#![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test")]

use super::{Walked, from_position, walk};
use crate::discard::Fault;
use crate::ids::Position;
use crate::wire::{Chunk, varint};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::vec;
use std::vec::Vec;

/// A stream of records, and for each of its bytes the position.
struct Plain {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl Plain {
    fn new(sizes: &[usize]) -> Self {
        let (mut bytes, mut starts) = (vec![], vec![]);
        for size in sizes {
            starts.push(bytes.len());
            bytes.extend_from_slice(varint::encode(*size as u64).unwrap().as_slice());
            bytes.extend((0..*size).map(|i| i as u8));
        }
        starts.push(bytes.len());
        Self { bytes, starts }
    }

    fn position(&self, at: usize) -> Position {
        let number = self.starts.partition_point(|s| *s <= at) - 1;
        Position { number: number as u64, offset: (at - self.starts[number]) as u32 }
    }

    /// What is left of the record that `at` is in; 0 at a start.
    fn rest(&self, at: usize) -> u32 {
        let position = self.position(at);
        if position.offset == 0 { 0 } else { (self.starts[position.number as usize + 1] - at) as u32 }
    }

    fn chunk(&self, from: usize, to: usize) -> Chunk<'_> {
        let Position { number, offset } = self.position(from);
        Chunk { stream: 1, number, offset, rest: self.rest(from), bytes: &self.bytes[from..to] }
    }

    /// A cut is allowed anywhere but inside a size varint.
    fn may_cut(&self, at: usize) -> bool {
        let Position { number, offset } = self.position(at);
        offset == 0 || {
            let start = self.starts[number as usize];
            varint::decode(&self.bytes[start..]).unwrap().1 <= offset as usize
        }
    }
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![0usize..5, 50usize..90, 300usize..400], 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_walk_ends_where_the_bytes_end(sizes in sizes(), share: u16) {
        let plain = Plain::new(&sizes);
        let len = plain.bytes.len();
        let from = (len * usize::from(share)) >> 16;
        prop_assume!(plain.may_cut(from));
        for to in (from + 1..=len).filter(|to| plain.may_cut(*to)) {
            let chunk = plain.chunk(from, to);
            let starts: Vec<usize> = plain.starts[..sizes.len()].iter().copied().filter(|s| (from..to).contains(s)).collect();
            let first_start = starts.first().map_or(to, |s| *s) - from;
            let expected = Walked {
                end: plain.position(to),
                rest: plain.rest(to),
                first_start: first_start as u32,
                starts: starts.len() as u32,
            };
            prop_assert_eq!(walk(&chunk, 1 << 20), Ok(expected), "{} to {}", from, to);
        }
    }

    /// The part of a chunk from any position on is the chunk that begins there.
    #[test]
    fn the_new_part_of_a_chunk_is_the_chunk_from_there(sizes in sizes(), share: u16) {
        let plain = Plain::new(&sizes);
        let len = plain.bytes.len();
        let from = (len * usize::from(share)) >> 16;
        prop_assume!(plain.may_cut(from) && from + 1 < len);
        let chunk = plain.chunk(from, len);
        for next in (from + 1..len).filter(|next| plain.may_cut(*next)) {
            let part = from_position(&chunk, plain.position(next), plain.rest(next));
            prop_assert_eq!(part, Ok(plain.chunk(next, len)), "from {}", next);
            if plain.rest(next) > 0 {
                let wrong = plain.rest(next) + 1;
                prop_assert_eq!(from_position(&chunk, plain.position(next), wrong), Err(Fault::Contradiction));
            }
        }
    }

    #[test]
    fn no_bytes_make_a_walk_panic(
        bytes in prop::collection::vec(any::<u8>(), 1..60), number in 0u64..1 << 62, offset in 0u32..200, rest in 1u32..200,
        next_offset in 0u32..300, ahead in 0u64..4, next_rest in 0u32..300,
    ) {
        let rest = if offset > 0 { rest } else { 0 };
        let chunk = Chunk { stream: 1, number, offset, rest, bytes: &bytes };
        let start = Position { number, offset };
        let next = Position { number: number.saturating_add(ahead), offset: next_offset };
        if let Ok(walked) = walk(&chunk, 1 << 20)
            && start < next && next < walked.end
            && let Ok(part) = from_position(&chunk, next, next_rest)
        {
            prop_assert!(part.bytes.len() < bytes.len());
            prop_assert_eq!(walk(&part, 1 << 20).map(|w| w.end), Ok(walked.end));
        }
    }
}

#[test]
fn a_record_above_the_limit_is_named_before_it_is_taken() {
    let plain = Plain::new(&[1025]);
    assert_eq!(walk(&plain.chunk(0, 100), 1024), Err(Fault::RecordTooLarge));
    assert!(walk(&plain.chunk(0, 100), 1025).is_ok());
    let small = Plain::new(&[10, 11]);
    assert_eq!(walk(&small.chunk(0, 23), 10), Err(Fault::RecordTooLarge));
    assert!(walk(&small.chunk(0, 23), 11).is_ok());
}

#[test]
fn a_size_that_is_cut_or_spelled_long_is_a_bad_frame() {
    let bytes = [&[0x40][..], &[0x40, 1, 9], &[0x80, 0, 0]];
    for bytes in bytes {
        let chunk = Chunk { stream: 1, number: 0, offset: 0, rest: 0, bytes };
        assert_eq!(walk(&chunk, 1 << 20), Err(Fault::BadFrame), "{bytes:02x?}");
    }
}
