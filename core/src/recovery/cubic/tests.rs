//! CUBIC against RFC 9438's equations in floating point, and HyStart++ against RFC 9406's text.

#![expect(clippy::arithmetic_side_effects, reason = "a test may panic")]

use super::super::congestion::{Acked, Law};
use super::{Cubic, cube_root};
use crate::time::{Duration, Instant};
use std::vec::Vec;

const SIZE: f64 = 1200.0;

/// RFC 9438 §4, as it is written: windows in datagrams, times in seconds.
struct Model {
    cwnd: f64,
    w_max: f64,
    prior: f64,
    k: f64,
    w_est: f64,
    start: Option<f64>,
}

impl Model {
    fn ack(&mut self, now: f64, segments: f64, rtt: f64) {
        let start = *self.start.get_or_insert_with(|| {
            self.w_max = self.w_max.max(self.cwnd);
            self.k = ((self.w_max - self.cwnd) / 0.4).cbrt();
            self.w_est = self.cwnd;
            now
        });
        let alpha = if self.w_est < self.prior { 3.0 * 0.3 / 1.7 } else { 1.0 };
        self.w_est += alpha * segments / self.cwnd;
        let curve = |t: f64| 0.4 * (t - self.k).powi(3) + self.w_max;
        let t = now - start;
        if curve(t) < self.w_est {
            self.cwnd = self.w_est.max(self.cwnd);
        } else {
            let target = curve(t + rtt).clamp(self.cwnd, 1.5 * self.cwnd);
            self.cwnd += (target - self.cwnd) / self.cwnd * segments;
        }
    }

    fn cut(&mut self) {
        self.prior = self.cwnd;
        self.w_max = if self.cwnd < self.w_max { self.cwnd * 1.7 / 2.0 } else { self.cwnd };
        self.cwnd *= 0.7;
        self.start = None;
    }
}

fn at(seconds: f64) -> Instant {
    Instant::from_micros((seconds * 1e6) as u64)
}

fn acked(now: f64, bytes: f64, rtt: f64) -> Acked {
    let rtt = Duration::from_micros((rtt * 1e6) as u64);
    Acked { now: at(now), bytes: bytes as u64, largest: 0, next: 1, sample: None, rtt }
}

/// Runs both from `window` datagrams for `seconds`, cut at the times in `cuts`; returns the windows, in datagrams.
fn both(window: f64, rtt: f64, seconds: f64, cuts: &[f64]) -> Vec<(f64, f64)> {
    let mut model = Model { cwnd: window, w_max: 0.0, prior: 0.0, k: 0.0, w_est: 0.0, start: None };
    let mut cubic = Cubic::new();
    let mut bytes = (window * SIZE) as u64;
    let (mut now, mut cuts, mut windows) = (1.0, cuts.iter().peekable(), Vec::new());
    while now < 1.0 + seconds {
        // ACKs of two packets each, spread over the round trip.
        let step = rtt * 2.0 / model.cwnd.max(2.0);
        now += step;
        if cuts.next_if(|c| **c + 1.0 <= now).is_some() {
            model.cut();
            bytes = cubic.cut(bytes);
        }
        model.ack(now, 2.0, rtt);
        bytes = cubic.avoid(bytes, &acked(now, 2.0 * SIZE, rtt), SIZE as u64);
        windows.push((bytes as f64 / SIZE, model.cwnd));
    }
    windows
}

#[test]
fn windows_follow_the_equations() {
    for (rtt, window) in [(0.0005, 10.0), (0.01, 10.0), (0.01, 100.0), (0.1, 100.0), (0.6, 1_000.0)] {
        let windows = both(window, rtt, 10.0, &[0.1, 3.0, 4.0, 8.0]);
        for (i, (ours, model)) in windows.iter().enumerate() {
            let off = (ours - model).abs();
            assert!(off < 0.02 * model + 1.0, "{ours} and {model} datagrams at ACK {i}, {window} in {rtt} s");
        }
    }
}

/// Concave up to the window before the cut, flat there, convex beyond: 8,000 datagrams are back after K = 18.2 s.
#[test]
fn a_large_window_is_back_after_k_seconds() {
    let windows = both(8_000.0, 0.1, 30.0, &[0.0]);
    let back = windows.iter().position(|(w, _)| *w >= 7_999.0).unwrap();
    let share = back as f64 / windows.len() as f64;
    let all: Vec<f64> = windows.iter().map(|w| w.0).collect();
    assert!(all.windows(2).all(|w| w[1] >= w[0]), "it never shrinks");
    let k = (8_000.0_f64 * 0.3 / 0.4).cbrt();
    assert!((k - 18.17).abs() < 0.01);
    // ACKs come with the window's own rate: more than half of them after K of 30 s.
    assert!((0.5..0.68).contains(&share), "{share}");
}

/// RFC 9438 §4.3: on a short path CUBIC is as fast as Reno.
#[test]
fn a_short_path_is_in_the_reno_friendly_region() {
    let rtt = 0.005;
    let windows = both(40.0, rtt, 1.0, &[0.0]);
    let (end, _) = windows.last().copied().unwrap();
    // Reno with 0.7 and 9/17 datagrams a round trip, then one datagram: 200 round trips.
    let to_prior = (40.0 - 28.0) / (9.0 / 17.0);
    let reno = 40.0 + (200.0 - to_prior);
    assert!((end - reno).abs() < 0.05 * reno, "{end} and {reno}");
}

/// RFC 9438 §4.7.
#[test]
fn a_second_cut_below_the_first_gives_way() {
    let mut cubic = Cubic::new();
    let first = cubic.cut(1_000_000);
    assert_eq!((first, cubic.plateau), (700_000, 1_000_000));
    cubic.cut(800_000);
    assert_eq!(cubic.plateau, 680_000);
}

/// RFC 9438 §4.2: time without anything to send does not count.
#[test]
fn an_idle_hour_does_not_raise_the_curve() {
    let (mut a, mut b) = (Cubic::new(), Cubic::new());
    let (mut x, mut y) = (a.cut(1_000_000), b.cut(1_000_000));
    for ms in 0..1000 {
        x = a.avoid(x, &acked(f64::from(ms) / 1e3, 1200.0, 0.02), 1200);
        y = b.avoid(y, &acked(f64::from(ms) / 1e3, 1200.0, 0.02), 1200);
    }
    b.idle(Duration::from_secs(3600));
    for ms in 1000..2000 {
        x = a.avoid(x, &acked(f64::from(ms) / 1e3, 1200.0, 0.02), 1200);
        y = b.avoid(y, &acked(3600.0 + f64::from(ms) / 1e3, 1200.0, 0.02), 1200);
    }
    assert!(x.abs_diff(y) < 10, "{x} and {y}");
}

#[test]
fn the_cube_root_is_exact() {
    for root in [0u64, 1, 2, 3, 10, 999, 1_000_000, 2_642_245] {
        let cube = root * root * root;
        assert_eq!(cube_root(cube), root);
        assert_eq!(cube_root(cube + 1), root.max(1));
        if root > 1 {
            assert_eq!(cube_root(cube - 1), root - 1);
        }
    }
    assert_eq!(cube_root(u64::MAX), 2_642_245);
}

/// Rounds of `samples` ACKs, each round with its round-trip time in milliseconds; returns how much each round grew the window,
/// in shares of what was acknowledged.
fn rounds(rtts_ms: &[u64], samples: u64) -> Vec<Option<f64>> {
    let mut cubic = Cubic::new();
    let mut number = 0;
    rtts_ms
        .iter()
        .map(|ms| {
            let end = number + samples;
            let mut grown = 0;
            while number < end {
                let sample = Some(Duration::from_millis(*ms));
                let now = Instant::from_micros(number);
                let ack =
                    Acked { now, bytes: 1200, largest: number, next: end, sample, rtt: Duration::from_millis(*ms) };
                grown += cubic.slow_start(&ack, true)?;
                number += 1;
            }
            Some(grown as f64 / (samples * 1200) as f64)
        })
        .collect()
}

#[test]
fn slow_start_ends_when_the_round_trip_time_rises_and_stays_up() {
    let grown = rounds(&[40, 40, 40, 50, 52, 54, 56, 58, 60, 62], 16);
    assert!(grown[..3].iter().all(|g| *g == Some(1.0)), "{grown:?}");
    assert!(grown[4..8].iter().all(|g| *g == Some(0.25)), "a quarter while it is not sure: {grown:?}");
    assert_eq!(grown[9], None, "over after five rounds: {grown:?}");
}

#[test]
fn a_rise_that_goes_back_does_not_end_slow_start() {
    let grown = rounds(&[40, 40, 50, 41, 41, 41, 41, 41, 41, 41, 41], 16);
    assert_eq!(grown.last(), Some(&Some(1.0)), "{grown:?}");
}

#[test]
fn few_samples_and_small_rises_do_not_end_slow_start() {
    assert!(rounds(&[40, 50, 60, 70, 80, 90, 100, 110, 120], 7).iter().all(|g| *g == Some(1.0)));
    assert!(rounds(&[10, 13, 16, 19, 22, 25, 27, 30, 33], 16).iter().all(|g| *g == Some(1.0)), "below 4 ms");
    assert!(rounds(&[200, 215, 215, 215, 215, 230, 230, 230], 16).iter().all(|g| *g == Some(1.0)), "below 16 ms");
}
