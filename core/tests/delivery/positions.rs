//! Delivery by position, whatever packet brings it: repeats, re-cut chunks and chunks ahead of a gap (wire-format §7.2).

use crate::hostile::{live, live_with, open};
use crate::support::{Node, Numbers, Raw, record, small_config};
use tallylink_core::wire::{Chunk, Frame, varint};
use tallylink_core::{Config, Discard, Handled};

/// A stream's stored bytes, and chunks of it by byte range.
struct Plain {
    bytes: Vec<u8>,
    starts: Vec<usize>,
    sizes: Vec<usize>,
}

impl Plain {
    fn new(sizes: &[usize]) -> Self {
        let (mut bytes, mut starts) = (vec![], vec![]);
        for (i, size) in sizes.iter().enumerate() {
            starts.push(bytes.len());
            bytes.extend_from_slice(varint::encode(*size as u64).unwrap().as_slice());
            bytes.extend(record(i, *size));
        }
        starts.push(bytes.len());
        Self { bytes, starts, sizes: sizes.to_vec() }
    }

    /// The nearest place at or before `at` where a cut is allowed: not inside a size varint.
    fn cut_near(&self, at: usize) -> usize {
        let number = self.starts.partition_point(|s| *s <= at) - 1;
        let start = self.starts[number];
        let varint = self.sizes.get(number).map_or(0, |s| varint::len(*s as u64));
        if at - start < varint.max(1) { start } else { at }
    }

    fn chunk(&self, from: usize, to: usize) -> Frame<'_> {
        let number = self.starts.partition_point(|s| *s <= from) - 1;
        let offset = from - self.starts[number];
        let rest = if offset == 0 { 0 } else { self.starts[number + 1] - from };
        let (number, offset, rest) = (number as u64, offset as u32, rest as u32);
        Frame::Chunk(Chunk { stream: 1, number, offset, rest, bytes: &self.bytes[from..to] })
    }

    fn arrived(&self, gateway: &Node) -> bool {
        let records = gateway.inbox.stream("s").records();
        records.len() == self.sizes.len() && records.iter().enumerate().all(|(i, r)| *r == record(i, self.sizes[i]))
    }
}

/// Chunks of random extent, in random order, each sent until it is acknowledged, as a sender would.
#[test]
fn chunks_cut_anyhow_and_sent_in_any_order_make_the_stream() {
    for seed in 0..60 {
        let mut numbers = Numbers(seed);
        let sizes: Vec<usize> = (0..40).map(|_| [0, 1, 63, 64, 200, 700][numbers.below(6) as usize]).collect();
        let plain = Plain::new(&sizes);
        let (mut gateway, mut device) = live();
        device.send(&mut gateway, 0, &[Frame::Open(open(1))]).unwrap();
        // Every byte is in some chunk of the first pass; the second pass cuts elsewhere.
        let mut waiting = vec![];
        for _ in 0..2 {
            let mut from = 0;
            while from < plain.bytes.len() {
                let far = (from + 70 + numbers.below(600) as usize).min(plain.bytes.len());
                let to = if far < plain.bytes.len() { plain.cut_near(far) } else { far };
                let to = if to <= from { plain.bytes.len() } else { to };
                waiting.push((from, to.min(from + 1100)));
                from = to.min(from + 1100);
                from = plain.cut_near(from).max(waiting.last().unwrap().0 + 1);
                waiting.last_mut().unwrap().1 = from;
            }
        }
        let mut tries = 0;
        while !waiting.is_empty() {
            let pick = numbers.below(waiting.len() as u64) as usize;
            let (from, to) = waiting[pick];
            match device.send(&mut gateway, 0, &[plain.chunk(from, to)]) {
                Ok(_) => drop(waiting.swap_remove(pick)),
                Err(why) => assert_eq!(why, Discard::HeldFull, "seed {seed}"),
            }
            tries += 1;
            assert!(tries < 100_000, "seed {seed}");
        }
        assert!(plain.arrived(&gateway), "seed {seed}");
    }
}

/// What was acknowledged must not be needed again: a longer chunk with the start of a held one is taken whole, or not at all.
#[test]
fn a_longer_chunk_in_place_of_a_held_one_is_not_cut_short() {
    let plain = Plain::new(&[100, 100, 100, 100]);
    let (mut gateway, mut device) = live();
    device.send(&mut gateway, 0, &[Frame::Open(open(1))]).unwrap();
    device.send(&mut gateway, 0, &[plain.chunk(102, 204)]).unwrap();
    let longer = device.send(&mut gateway, 0, &[plain.chunk(102, 408)]);
    device.send(&mut gateway, 0, &[plain.chunk(0, 102)]).unwrap();
    if longer.is_ok() {
        assert!(plain.arrived(&gateway), "it was acknowledged");
    }
    let shorter = device.send(&mut gateway, 0, &[plain.chunk(102, 204)]);
    assert!(shorter.is_ok(), "a repeat of what is known");
}

/// The next chunk in order needs no slot; one ahead of a gap that finds none is not acknowledged.
#[test]
fn only_chunks_ahead_of_a_gap_need_room() {
    let plain = Plain::new(&[10; 20]);
    let piece = |i: usize| plain.chunk(11 * i, 11 * (i + 1));
    let (mut gateway, mut device) = live_with(Config { held: 2, ..small_config() });
    device.send(&mut gateway, 0, &[Frame::Open(open(1))]).unwrap();
    assert!(device.send(&mut gateway, 0, &[piece(5)]).is_ok());
    assert!(device.send(&mut gateway, 0, &[piece(3)]).is_ok());
    assert_eq!(device.send(&mut gateway, 0, &[piece(7)]), Err(Discard::HeldFull));
    let refused = device.next - 1;
    for i in 0..3 {
        assert!(device.send(&mut gateway, 0, &[piece(i)]).is_ok());
    }
    assert_eq!(gateway.inbox.stream("s").next.number, 4, "with what was held");
    assert!(device.send(&mut gateway, 0, &[piece(7)]).is_ok(), "a slot is free again");
    for packet in device.receive(&mut gateway, 0) {
        for frame in crate::support::frames_in(&packet) {
            let Frame::Ack { ranges, .. } = frame else { continue };
            assert!(ranges.into_iter().all(|r| !(r.low..=r.high).contains(&refused)), "not acknowledged");
        }
    }
}

#[test]
fn chunks_before_their_open_are_not_acknowledged() {
    let plain = Plain::new(&[10]);
    let (mut gateway, mut device) = live();
    assert_eq!(device.send(&mut gateway, 0, &[plain.chunk(0, 11)]), Err(Discard::BeforeOpen));
    let frames = [Frame::Open(open(1)), plain.chunk(0, 11)];
    assert!(matches!(device.send(&mut gateway, 0, &frames), Ok(Handled::Data(_))));
    assert!(plain.arrived(&gateway));
}

/// One session's held chunks are given back when it ends: another's find room.
#[test]
fn held_chunks_end_with_their_session() {
    let plain = Plain::new(&[10; 5]);
    let config = Config { held: 2, ..small_config() };
    let (mut gateway, mut device) = live_with(config);
    device.send(&mut gateway, 0, &[Frame::Open(open(1))]).unwrap();
    for i in [1, 3] {
        device.send(&mut gateway, 0, &[plain.chunk(11 * i, 11 * (i + 1))]).unwrap();
    }
    let mut again = Raw::device(&mut gateway, 0, 2, crate::support::raw::WIDE);
    again.go_live(&mut gateway, 0);
    again.send(&mut gateway, 0, &[Frame::Open(open(1))]).unwrap();
    for i in [4, 2, 0, 1, 3] {
        let taken = again.send(&mut gateway, 0, &[plain.chunk(11 * i, 11 * (i + 1))]);
        assert!(taken.is_ok(), "{i}: {taken:?}");
    }
    assert!(plain.arrived(&gateway));
}
