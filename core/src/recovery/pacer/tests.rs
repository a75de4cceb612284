//! Pacing: the rate that it lets through, and the timers that it asks for.

#![expect(clippy::arithmetic_side_effects, reason = "a test may panic")]

use super::{Pacer, Rate};
use crate::time::{Duration, Instant};

/// Sends as much as may leave in a second, waiting for each release; returns the bytes and the timers.
fn second(window: u64, rtt_us: u64, doubling: bool, cap: Option<u64>) -> (u64, u64) {
    let rate = Rate { window, rtt: Duration::from_micros(rtt_us), doubling, cap };
    let size = 1200;
    let mut now = Instant::from_micros(0);
    let mut pacer = Pacer::new(now, 1200);
    pacer.refill(now, &rate, 1200);
    while pacer.ready(size) {
        pacer.spent(size);
    }
    let (mut sent, mut timers) = (0, 0);
    while now < Instant::from_micros(1_000_000) {
        pacer.refill(now, &rate, 1200);
        while pacer.ready(size) {
            pacer.spent(size);
            sent += size;
        }
        let release = pacer.release(size, &rate);
        assert!(release >= now + Duration::from_millis(1), "a timer that no driver serves: {release:?} at {now:?}");
        now = release;
        timers += 1;
    }
    (sent, timers)
}

#[test]
fn a_window_leaves_in_four_fifths_of_a_round_trip_and_in_half_while_it_doubles() {
    for rtt_us in [10, 400, 5_000, 50_000, 400_000] {
        for window in [12_000u64, 100_000, 1 << 20] {
            if window / rtt_us > 300 {
                continue; // More than a machine sends.
            }
            let round_trips = 1_000_000.0 / rtt_us as f64;
            for (doubling, gain) in [(false, 1.25), (true, 2.0)] {
                let (sent, _) = second(window, rtt_us, doubling, None);
                let ideal = gain * window as f64 * round_trips;
                assert!(
                    (0.9..1.1).contains(&(sent as f64 / ideal)),
                    "{sent} of {ideal} bytes, {window} in {rtt_us} us"
                );
            }
        }
    }
}

#[test]
fn timers_come_at_most_a_thousand_times_a_second() {
    let (_, timers) = second(1 << 24, 1_000, false, None);
    assert!(timers <= 1_001, "{timers}");
}

#[test]
fn after_an_hour_of_silence_no_more_leaves_at_once_than_the_bucket_holds() {
    let mut pacer = Pacer::new(Instant::from_micros(0), 1200);
    let rate = Rate { window: 1 << 20, rtt: Duration::from_millis(100), doubling: false, cap: None };
    pacer.refill(Instant::from_micros(3_600_000_000), &rate, 1200);
    let mut burst = 0;
    while pacer.ready(1200) {
        pacer.spent(1200);
        burst += 1200;
    }
    // 1.25 windows a round trip, for 2 ms.
    assert!((25_000..27_000).contains(&burst), "{burst}");
}

#[test]
fn a_cap_holds_whatever_the_window_allows() {
    for cap in [5_000, 100_000, 10_000_000] {
        let (sent, _) = second(1 << 22, 1_000, true, Some(cap));
        assert!(sent <= cap + 2 * 1200 && sent + 3 * 1200 > cap * 95 / 100, "{sent} of {cap} bytes");
    }
}
