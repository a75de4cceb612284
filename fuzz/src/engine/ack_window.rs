//! The window of received numbers against a set that forgets nothing (wire-format §5.4).

use super::bytes::Bytes;
use std::collections::BTreeSet;
use tallylink_core::internals::AckWindow;

const WORDS: usize = 4;
const WIDTH: u64 = 64 * WORDS as u64;

/// Numbers arrive in any order: near the newest, behind it, far ahead; now and then the window goes on from its newest bits.
pub fn ack_window(data: &[u8]) {
    let mut bytes = Bytes(data);
    let mut words = [0; WORDS];
    let mut window = AckWindow::new(&mut words);
    let (mut received, mut next, mut floor) = (BTreeSet::new(), 0_u64, 0_u64);
    while let Some(step) = bytes.byte() {
        let number = match step {
            0..=0x3f => next.saturating_add(u64::from(step & 7)),
            0x40..=0xbf => next.saturating_sub(1 + u64::from(step - 0x40) * 3),
            0xc0..=0xef => next.saturating_add(u64::from(step - 0xc0) * 16),
            0xf0..=0xfd => bytes.long().unwrap_or(0) >> 2,
            _ => {
                floor = floor.max(next.saturating_sub(64));
                window.restore();
                continue;
            }
        };
        let lowest = floor.max(next.saturating_sub(WIDTH));
        let new = number >= lowest && !received.contains(&number);
        assert_eq!(window.insert(number), new, "{number} with {next} next");
        if new {
            received.insert(number);
            next = next.max(number + 1);
        }
        check(&window, &received, next, floor.max(next.saturating_sub(WIDTH)), number);
    }
}

fn check(window: &AckWindow<'_>, received: &BTreeSet<u64>, next: u64, lowest: u64, around: u64) {
    let has = |number: &u64| *number >= lowest && received.contains(number);
    for number in around.saturating_sub(70)..around.saturating_add(70) {
        let expected = (number >= lowest || number >= next).then(|| received.contains(&number));
        assert_eq!(window.has(number), expected, "{number}, {lowest} to {next}");
    }
    if !has(&around) {
        return;
    }
    let mut run = window.run_around(around);
    if crate::planted::here() && run.high - run.low == 9 {
        // A run that reaches one number too far.
        run.low = run.low.saturating_sub(1);
    }
    let low = (lowest..around).rev().take(64).take_while(has).last().unwrap_or(around);
    let high = (around + 1..next).take(64).take_while(has).last().unwrap_or(around);
    assert_eq!((run.low, run.high), (low, high), "the run around {around}");
    if let Some(below) = window.received_below(low) {
        assert_eq!(received.range(..low).next_back(), Some(&below), "the next below {low}");
        assert!(has(&below), "{below} is below the window");
    }
}
