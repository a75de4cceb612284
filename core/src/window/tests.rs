//! The window against a set of numbers that forgets nothing.

#![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test")]

use super::{Seen, Window};
use crate::wire::PacketRange;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeSet;
use std::vec;
use std::vec::Vec;

/// What the window should be: every number received, and from where on it still can tell.
#[derive(Default)]
struct Model {
    received: BTreeSet<u64>,
    next: u64,
    width: u64,
    floor: u64,
}

impl Model {
    fn lowest(&self) -> u64 {
        self.next.saturating_sub(self.width).max(self.floor)
    }

    fn look(&self, number: u64) -> Seen {
        if number < self.lowest() {
            Seen::TooOld
        } else if self.received.contains(&number) {
            Seen::Duplicate
        } else {
            Seen::New
        }
    }

    fn insert(&mut self, number: u64) {
        self.received.insert(number);
        self.next = self.next.max(number + 1);
    }

    /// The run around a received number, within what the window can tell, and within 64 numbers.
    fn run(&self, number: u64) -> PacketRange {
        let has = |n: &u64| *n >= self.lowest() && self.received.contains(n);
        let low = (self.lowest()..number).rev().take(64).take_while(has).last().unwrap_or(number);
        let high = (number + 1..self.next).take(64).take_while(has).last().unwrap_or(number);
        PacketRange { low, high }
    }

    /// The next received number below, within the word of the one below and the word before that.
    fn below(&self, number: u64) -> Option<u64> {
        let words = (number.saturating_sub(1) & !63).saturating_sub(64);
        (self.lowest().max(words)..number).rev().find(|n| self.received.contains(n))
    }
}

/// How the next number is chosen: mostly in order, often skipping or going back, sometimes jumping far.
fn step() -> impl Strategy<Value = i64> {
    prop_oneof![4 => Just(0i64), 2 => 1i64..5, 3 => -80i64..0, 1 => 1i64..70, 1 => 100i64..700]
}

fn run(words: usize, start: u64, steps: &[i64]) {
    let mut bits = vec![0; words];
    let mut window = Window::default();
    let mut model = Model { width: words as u64 * 64, ..Model::default() };
    let mut base = start;
    for step in steps {
        let number = base.saturating_add_signed(*step);
        let seen = window.look(&bits, number);
        assert_eq!(seen, model.look(number), "{number} of {}", model.next);
        if seen == Seen::New {
            window.insert(&mut bits, number);
            model.insert(number);
        }
        base = window.next();
        assert_eq!(base, model.next);
    }
    let shown = model.lowest().saturating_sub(3)..model.next + 3;
    for number in shown {
        assert_eq!(window.look(&bits, number), model.look(number), "{number} of {}", model.next);
        if model.look(number) == Seen::Duplicate {
            assert_eq!(window.run_around(&bits, number), model.run(number), "around {number}");
            assert_eq!(window.received_below(&bits, number), model.below(number), "below {number}");
        }
    }
    check_restore(&window, &bits, &model);
}

/// A link that is given back keeps the newest 64 numbers; what was below is refused then.
fn check_restore(window: &Window, bits: &[u64], model: &Model) {
    let newest = window.newest(bits);
    let mut again = vec![u64::MAX; bits.len()];
    let restored = Window::restore(window.next(), newest, &mut again);
    for number in model.lowest().saturating_sub(3)..model.next + 3 {
        let expected = match model.look(number) {
            _ if number < model.next.saturating_sub(64) => Seen::TooOld,
            // Below the floor of the window before, a bit was never known to be clear.
            Seen::TooOld => Seen::New,
            seen => seen,
        };
        if model.look(number) != Seen::TooOld {
            assert_eq!(restored.look(&again, number), expected, "{number} of {}", model.next);
        }
    }
    assert_eq!(restored.next(), window.next());
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn the_window_knows_what_a_set_knows(
        shift in 0usize..4, start in 0u64..1 << 40, steps in prop::collection::vec(step(), 0..300),
    ) {
        run(1 << shift, start, &steps);
        run(1 << shift, 0, &steps);
    }
}

/// What is below the window is refused, never called received.
#[test]
fn a_number_below_the_window_is_too_old() {
    let mut bits = [0];
    let mut window = Window::default();
    window.insert(&mut bits, 0);
    window.insert(&mut bits, 64);
    assert_eq!(window.look(&bits, 0), Seen::TooOld);
    assert_eq!(window.look(&bits, 1), Seen::New);
    assert_eq!(window.look(&bits, 64), Seen::Duplicate);
    assert_eq!(window.newest(&bits), 1, "number 64 alone");
}

#[test]
fn restoring_twice_keeps_what_was_refused() {
    let mut bits = vec![0; 4];
    let mut window = Window::default();
    let received: Vec<u64> = (0..200).filter(|n| n % 3 != 0).collect();
    received.iter().for_each(|n| window.insert(&mut bits, *n));
    for _ in 0..3 {
        let newest = window.newest(&bits);
        window = Window::restore(window.next(), newest, &mut bits);
    }
    for number in 0..200 {
        let expected = match (number < 200 - 64, number % 3 != 0) {
            (true, _) => Seen::TooOld,
            (false, true) => Seen::Duplicate,
            (false, false) => Seen::New,
        };
        assert_eq!(window.look(&bits, number), expected, "{number}");
    }
}

#[test]
fn what_is_kept_of_a_window_answers_as_the_restored_window_does() {
    for (next, bits) in [(0, 0), (1, 1), (5, 0b10111), (63, 1), (64, u64::MAX), (200, 0xf0f0_0000_1234_8001)] {
        let mut words = [0; 4];
        let window = Window::restore(next, bits, &mut words);
        for number in 0..next + 70 {
            let (kept, restored) = (Window::look_at_newest(next, bits, number), window.look(&words, number));
            assert_eq!(kept, restored, "{number} of {next}");
        }
    }
}
