//! Records that cannot be, and pieces that do not fit together (wire-format §6.4, §7.2).

use super::form::give;
use super::streams::{bytes_of, chunk, open};
use crate::hostile::spelled::varint_in;
use crate::hostile::stage::Stage;
use tallylink_core::LARGEST_NUMBER;
use tallylink_core::wire::{Chunk, Frame, Open, varint};

/// The most bytes of a chunk that fit into a datagram.
const ROOM: usize = 1380;

/// The most chunks of a packet (wire-format §6).
const MOST: u64 = 8;

fn part(number: u64, offset: u32, rest: u32, bytes: &[u8]) -> Frame<'_> {
    Frame::Chunk(Chunk { stream: 1, number, offset, rest, bytes })
}

/// The beginning of a record of so many bytes.
fn beginning(size: u64, len: usize) -> Vec<u8> {
    let mut bytes = varint_in(size, varint::len(size));
    bytes.resize(len, 0);
    bytes
}

pub(super) fn too_large(stage: &mut Stage) {
    for size in [(1 << 20) + 1, 1 << 29, 1 << 40, varint::MAX] {
        let bytes = beginning(size, 100);
        give(stage, &bytes_of([open(1, "n"), chunk(1, 0, &bytes)]));
        // Behind a small one, too.
        let behind = [&[0][..], &bytes].concat();
        give(stage, &bytes_of([open(1, "n"), chunk(1, 0, &behind)]));
    }
}

pub(super) fn numbers(stage: &mut Stage) {
    for first in [LARGEST_NUMBER, LARGEST_NUMBER - 1] {
        let far = Open { stream: 1, name: "n", epoch: tallylink_core::Epoch([4; 8]), first, previous: None };
        give(stage, &bytes_of([Frame::Open(far)]));
        stage.give(&bytes_of([chunk(1, first, &[0, 0, 0])]));
    }
}

pub(super) fn contradictions(stage: &mut Stage) {
    let begun = beginning(200, 100);
    let other = beginning(201, 120);
    let rest = [0; 50];
    let wrong = [
        part(0, 100, 103, &rest),
        part(0, 100, 50, &rest),
        chunk(1, 0, &other),
        part(0, 99, 104, &rest),
        part(0, 60, 142, &rest),
        part(0, 100, (1 << 30) - 200, &rest),
    ];
    for wrong in wrong {
        give(stage, &bytes_of([open(1, "n"), chunk(1, 0, &begun)]));
        stage.give(&bytes_of([wrong]));
    }
    // Among those that are held it is found when the gap closes.
    give(stage, &bytes_of([open(1, "n"), part(1, 70, 5, &[1, 2, 3, 4, 5])]));
    let closing = [&[0][..], &beginning(90, 70)].concat();
    stage.give(&bytes_of([chunk(1, 0, &closing)]));
}

/// The same record in pieces that begin anywhere before what is known, and end anywhere.
pub(super) fn overlaps(stage: &mut Stage) {
    let size = 3000_u32;
    let whole = beginning(u64::from(size), size as usize + 2);
    give(stage, &bytes_of([open(1, "n")]));
    for number in 0..3 {
        let mut at = 0;
        while at < whole.len() {
            let from = at.saturating_sub(at * 7 % 400);
            let to = (at + 120).min(whole.len());
            let left = (whole.len() - from) as u32;
            let piece = match from {
                0 => part(number, 0, 0, &whole[..to]),
                _ => part(number, from as u32, left, &whole[from..to]),
            };
            stage.give(&bytes_of([piece]));
            stage.give(&bytes_of([piece]));
            at = to;
        }
    }
}

/// Fills every slot, in an order that scatters the list, and then has all of it walked for each chunk of a datagram.
pub(super) fn held(stage: &mut Stage) {
    give(stage, &bytes_of([open(1, "n")]));
    for at in 0..2047_u64 {
        // A step that is coprime to their number visits each once.
        let number = 10_000 + at * 1213 % 2047;
        stage.give(&bytes_of([chunk(1, number, &[0])]));
    }
    stage.give(&bytes_of([chunk(1, 1_000_000, &[0])]));
    for round in 0..20 {
        // Behind all but the last one.
        stage.give(&bytes_of((0..MOST).map(|_| chunk(1, 12_046, &[0]))));
        stage.give(&bytes_of([chunk(1, 20_001 + round, &[0])]));
    }
}

/// Everything that is held is let go by one chunk.
pub(super) fn released(stage: &mut Stage) {
    give(stage, &bytes_of([open(1, "n")]));
    let small = vec![0; ROOM];
    for round in 0..3 {
        let begin = round * 2041 * ROOM as u64;
        for slot in 1..2041 {
            stage.give(&bytes_of([chunk(1, begin + slot * ROOM as u64, &small)]));
        }
        stage.give(&bytes_of([chunk(1, begin, &small)]));
    }
}

/// As before, and each of them overlaps with the one before it.
pub(super) fn released_overlapping(stage: &mut Stage) {
    give(stage, &bytes_of([open(1, "n")]));
    let small = vec![0; ROOM];
    for round in 0..3 {
        let begin = round * 2041 * 2;
        for slot in 1..2041 {
            stage.give(&bytes_of([chunk(1, begin + slot * 2, &small)]));
        }
        stage.give(&bytes_of([chunk(1, begin, &small)]));
    }
}

pub(super) fn tiny(stage: &mut Stage) {
    give(stage, &bytes_of([open(1, "n")]));
    for round in 0..200 {
        stage.give(&bytes_of((0..MOST).map(|i| chunk(1, round * MOST + i, &[0]))));
        // All of it is known by now.
        stage.give(&bytes_of((0..MOST).map(|i| chunk(1, round * MOST + i, &[0]))));
    }
    for most in [MOST + 1, 150] {
        give(stage, &bytes_of([open(1, "n")]));
        stage.give(&bytes_of((0..most).map(|i| chunk(1, i, &[0]))));
    }
}

pub(super) fn empty(stage: &mut Stage) {
    give(stage, &bytes_of([open(1, "n")]));
    let empty = vec![0; ROOM];
    for round in 0..200 {
        stage.give(&bytes_of([chunk(1, round * ROOM as u64, &empty)]));
        // All but one of them known.
        stage.give(&bytes_of([chunk(1, round * ROOM as u64 + 1, &empty)]));
    }
}

pub(super) fn unopened(stage: &mut Stage) {
    for id in 1..20 {
        stage.give(&bytes_of([chunk(id, 0, &[0])]));
    }
}
