//! Streams without measure (wire-format §6.3, §6.5, §6.10, §6.12).

use super::form::give;
use crate::hostile::stage::Stage;
use tallylink_core::wire::{Chunk, Frame, Open, QueryFor, Writer};
use tallylink_core::{Epoch, LARGEST_NUMBER};

/// What fits into a datagram beside header and tag.
const ROOM: usize = 1400;

/// The bytes of frames, as many as fit.
pub(super) fn bytes_of<'a>(frames: impl IntoIterator<Item = Frame<'a>>) -> Vec<u8> {
    let mut buffer = vec![0; ROOM];
    let mut w = Writer::new(&mut buffer);
    let mut end = 0;
    for frame in frames {
        if frame.write(&mut w).is_err() {
            break;
        }
        end = w.written();
    }
    buffer.truncate(end);
    buffer
}

pub(super) fn open(stream: u32, name: &str) -> Frame<'_> {
    Frame::Open(Open { stream, name, epoch: Epoch([1; 8]), first: 0, previous: None })
}

pub(super) fn chunk(stream: u32, number: u64, bytes: &[u8]) -> Frame<'_> {
    Frame::Chunk(Chunk { stream, number, offset: 0, rest: 0, bytes })
}

/// Ever more names.
pub(super) fn without_end(stage: &mut Stage) {
    for round in 0..400_u32 {
        let names: Vec<String> = (0..90).map(|i| format!("{:x}", round * 90 + i)).collect();
        let frames = names.iter().zip(1 + round * 90..).map(|(name, id)| open(id, name));
        stage.give(&bytes_of(frames));
    }
}

/// One name under ever new ids, with chunks that have to be held, for one after the other.
pub(super) fn ids_without_end(stage: &mut Stage) {
    for round in 0..400_u32 {
        let ids = 1 + round * 40..1 + (round + 1) * 40;
        let held = ids.clone().take(8).flat_map(|id| [open(id, "n"), chunk(id, 5, &[0])]);
        stage.give(&bytes_of(held.chain(ids.clone().skip(8).map(|id| open(id, "n")))));
    }
}

pub(super) fn changed(stage: &mut Stage) {
    let opens = [
        Open { stream: 1, name: "n", epoch: Epoch([2; 8]), first: 0, previous: None },
        Open { stream: 1, name: "n", epoch: Epoch([1; 8]), first: 5, previous: None },
        Open { stream: 1, name: "other", epoch: Epoch([1; 8]), first: LARGEST_NUMBER, previous: None },
    ];
    for changed in opens {
        give(stage, &bytes_of([open(1, "n")]));
        stage.give(&bytes_of([Frame::Open(changed)]));
    }
}

pub(super) fn not_open(stage: &mut Stage) {
    for id in [1, 2, 1 << 20, (1 << 30) - 1] {
        stage.give(&bytes_of([chunk(id, 0, &[0])]));
        stage.give(&bytes_of([Frame::Skip { stream: id, below: 9, reason: 4 }]));
    }
    // More streams than a session may have: the last ones are refused.
    let names: Vec<String> = (0..70).map(|i| format!("{i}")).collect();
    stage.give(&bytes_of(names.iter().zip(1..).map(|(name, id)| open(id, name))));
    for id in 65..70 {
        stage.give(&bytes_of([chunk(id, 0, &[0])]));
        stage.give(&bytes_of([Frame::Skip { stream: id, below: 9, reason: 4 }]));
    }
}

pub(super) fn skips(stage: &mut Stage) {
    give(stage, &bytes_of([open(1, "n")]));
    for round in 0..200_u64 {
        let skips = (1..500).map(|i| Frame::Skip { stream: 1, below: round * 500 + i, reason: 4 });
        stage.give(&bytes_of(skips));
    }
    stage.give(&bytes_of([Frame::Skip { stream: 1, below: LARGEST_NUMBER, reason: 4 }]));
}

/// Each about another stream, the one that is found last among them, and about one that is not there.
pub(super) fn queries(stage: &mut Stage) {
    let names: Vec<String> = (0..64).map(|i| format!("{i}")).collect();
    stage.give(&bytes_of(names.iter().zip(1..).map(|(name, id)| open(id, name))));
    for round in 0..200 {
        let ids = (0..500).map(|i| if i % 2 == 0 { 1 } else { 2 + 70 * (round % 2) });
        stage.give(&bytes_of(ids.map(|id| Frame::Query(QueryFor::Stored(id)))));
        stage.give(&bytes_of((0..200).map(|_| Frame::Query(QueryFor::Credit((1 << 40) - 1)))));
    }
}
