//! The two lanes between two threads.

use std::collections::VecDeque;

use tallylink_core::{Epoch, Full, Position};

use super::{Item, Put, QUICK_BYTES, Take, queue};

const BODY: usize = 1000;
/// What one item takes up.
const SIZE: u64 = 64 + BODY as u64;

/// Record `n` of a stream.
fn chunk(n: u64) -> Item {
    let (from, to) = (Position::start_of(n), Position::start_of(n + 1));
    Item::Chunk { epoch: Epoch([1; 8]), from, to, first_start: 0, starts: 1, arrival_us: 0 }
}

/// Some streams, the queue, and what each stream has in it.
struct Both {
    put: Put,
    take: Take,
    streams: Vec<(VecDeque<u64>, u64)>,
}

impl Both {
    fn new(bytes: usize, streams: usize) -> Self {
        let (put, take) = queue(bytes);
        Self { put, take, streams: vec![Default::default(); streams] }
    }

    fn put(&mut self, stream: usize) -> Result<(), Full> {
        let (waiting, next) = &mut self.streams[stream];
        self.put.put(stream as u32, &chunk(*next), &[0; BODY])?;
        waiting.push_back(*next);
        *next += 1;
        Ok(())
    }

    /// Takes one item, which must be its stream's oldest. Back comes whose it was.
    fn take(&mut self) -> Option<usize> {
        let (stream, number) = self.take.take(|stream, item, _| match item {
            Item::Chunk { from, .. } => (stream as usize, from.number),
            other => panic!("{other:?}"),
        })?;
        assert_eq!(self.streams[stream].0.pop_front(), Some(number), "stream {stream}");
        Some(stream)
    }

    /// How many items are taken until one of `stream` is.
    fn taken_until(&mut self, stream: usize) -> u64 {
        std::iter::repeat_with(|| self.take().expect("an item")).take_while(|taken| *taken != stream).count() as u64
    }
}

#[test]
fn a_stream_with_little_goes_before_all_that_a_fast_one_has_ahead() {
    let mut both = Both::new(8 << 20, 3);
    while both.put(0).is_ok() {}
    for stream in [1, 2] {
        both.put(stream).expect("its lane has room");
    }
    // What the fast one has put into the quick lane itself goes before them, and no more.
    assert!(both.taken_until(1) <= u64::from(QUICK_BYTES) / SIZE + 1);
    assert_eq!(both.taken_until(2), 0);
}

#[test]
fn a_full_lane_of_fast_ones_does_not_refuse_those_with_little() {
    let mut both = Both::new(1 << 20, 9);
    while both.put(0).is_ok() {}
    assert!((1..8).all(|stream| both.put(stream).is_ok()));
    // The other way round the quick lane overflows into the other, in order.
    let mut both = Both::new(1 << 20, 500);
    assert!((0..500).all(|stream| both.put(stream).is_ok()));
    let order: Vec<_> = std::iter::from_fn(|| both.take()).collect();
    assert_eq!(order, (0..500).collect::<Vec<_>>());
}

#[test]
fn a_fast_stream_has_its_half_however_many_with_little_there_are() {
    let mut both = Both::new(8 << 20, 1001);
    let fast = 1000;
    for _ in 0..100 {
        both.put(fast).expect("room");
    }
    for slow in 0..900 {
        both.put(slow).expect("room");
    }
    let mut of_fast = 0;
    for turn in 0..10_000 {
        both.put.look();
        // As many come as are taken.
        if both.take() == Some(fast) {
            of_fast += 1;
            both.put(fast).expect("room");
        } else {
            both.put(turn % 1000).expect("room");
        }
    }
    assert!((4_500..5_500).contains(&of_fast), "{of_fast} of 10,000");
}

#[test]
fn a_stream_comes_back_to_the_quick_lane_when_nothing_of_it_waits() {
    let mut both = Both::new(8 << 20, 2);
    for _ in 0..1000 {
        both.put(0).expect("room");
    }
    // It has been fast, and is slow now.
    while !both.streams[0].0.is_empty() {
        both.take();
    }
    both.put.look();
    while both.put(1).is_ok() {}
    both.put(0).expect("room");
    assert!(both.taken_until(0) <= u64::from(QUICK_BYTES) / SIZE + 1);
}

#[test]
fn the_order_of_each_stream_holds_whatever_lanes_it_takes() {
    for seed in 1..200u64 {
        let mut random = seed;
        let mut draw = |most: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % most
        };
        let mut both = Both::new(256 << 10, 5);
        for _ in 0..400 {
            match draw(3) {
                0 => {
                    let (stream, times) = (draw(5) as usize, draw(40));
                    for _ in 0..times {
                        // Full is an answer too.
                        let _ = both.put(stream);
                    }
                }
                1 => both.put.look(),
                _ => {
                    let times = draw(50);
                    for _ in 0..times {
                        both.take();
                    }
                }
            }
        }
        while both.take().is_some() {}
        assert!(both.streams.iter().all(|(waiting, _)| waiting.is_empty()), "seed {seed}");
        assert_eq!(both.put.waiting(), 0, "seed {seed}");
    }
}

#[test]
fn resume_comes_after_all_that_was_put_before_it_and_before_the_rest() {
    let mut both = Both::new(1 << 20, 3);
    while both.put(0).is_ok() {}
    both.put(1).expect("room");
    both.put.put_resume().expect("room");
    let before: usize = both.streams.iter().map(|(waiting, _)| waiting.len()).sum();
    both.put(2).expect("room");
    for _ in 0..before {
        assert_ne!(both.take(), Some(2));
    }
    // Room for one in each lane: the fast one's goes into its own.
    both.put(0).expect("room");
    assert_eq!(both.take.take(|_, item, _| item), Some(Item::Resume));
    assert_eq!((both.take(), both.take(), both.take()), (Some(2), Some(0), None));
}

#[test]
fn it_is_over_when_the_other_end_is_gone_and_both_lanes_are_empty() {
    let mut both = Both::new(1 << 20, 1);
    for _ in 0..100 {
        both.put(0).expect("room");
    }
    let Both { put, mut take, .. } = both;
    drop(put);
    for _ in 0..100 {
        assert!(!take.is_over());
        assert!(take.take(|_, _, _| ()).is_some());
    }
    assert!(take.is_over());
}
