//! A model of a TCP sender and its receiver: CUBIC as Linux has it (RFC 9438, slow start that ends when delay rises, no pacing),
//! SACK, and an ACK for every second segment. Only what decides how much is under way is there: a segment that is lost
//! goes again as another.

use std::collections::VecDeque;

/// Bytes of data in a segment, and on the wire.
pub(crate) const DATA: u64 = 1448;
pub(crate) const SEGMENT: u64 = 1500;
const BETA: f64 = 0.7;
const C: f64 = 0.4;
/// Segments that overtake make a loss.
const OVERTAKEN: u64 = 3;
const DELAYED_ACK_US: u64 = 40_000;
const LEAST_TIMEOUT_US: u64 = 200_000;

pub(crate) struct Sender {
    /// Numbers that are out, and when they left.
    out: VecDeque<(u64, u64)>,
    next: u64,
    window: f64,
    threshold: f64,
    /// The window before the last cut, and the stage since: when it began, and Reno's window.
    plateau: f64,
    stage: Option<(u64, f64, f64)>,
    /// Losses below this number belong to the last cut.
    recovery: u64,
    heard: u64,
    min_rtt: u64,
    /// HyStart: the number that ends the round, its least round-trip time, and samples.
    round: (u64, u64, u32),
}

impl Sender {
    pub(crate) fn new() -> Self {
        Self {
            out: VecDeque::new(),
            next: 0,
            window: 10.0,
            threshold: f64::MAX,
            plateau: 0.0,
            stage: None,
            recovery: 0,
            heard: 0,
            min_rtt: u64::MAX,
            round: (0, u64::MAX, 0),
        }
    }

    /// The number of a segment that leaves now.
    pub(crate) fn send(&mut self, now: u64) -> Option<u64> {
        if self.out.len() as f64 >= self.window.floor() {
            return None;
        }
        self.out.push_back((self.next, now));
        self.next += 1;
        Some(self.next - 1)
    }

    /// When the retransmission timer fires.
    pub(crate) fn timeout(&self) -> u64 {
        let rtt = if self.min_rtt == u64::MAX { 1_000_000 } else { self.min_rtt };
        match self.out.back() {
            Some((_, left)) => self.heard.max(*left) + LEAST_TIMEOUT_US.max(3 * rtt),
            None => u64::MAX,
        }
    }

    pub(crate) fn time_out(&mut self, now: u64) {
        self.out.clear();
        (self.threshold, self.window, self.stage) = ((self.window * BETA).max(2.0), 1.0, None);
        (self.recovery, self.heard) = (self.next, now);
    }

    /// These segments arrived.
    pub(crate) fn acknowledge(&mut self, now: u64, numbers: &[u64]) {
        self.heard = now;
        let largest = numbers.iter().copied().max().unwrap_or(0);
        let mut acked = 0;
        for number in numbers {
            if let Ok(at) = self.out.binary_search_by_key(number, |o| o.0) {
                let rtt = now - self.out.remove(at).map_or(now, |o| o.1);
                self.min_rtt = self.min_rtt.min(rtt);
                self.sample(*number, rtt);
                acked += 1;
            }
        }
        while let Some((number, _)) = self.out.front().copied().filter(|o| o.0 + OVERTAKEN <= largest) {
            self.out.pop_front();
            if number >= self.recovery {
                self.plateau = if self.window < self.plateau { self.window * (1.0 + BETA) / 2.0 } else { self.window };
                self.window = (self.window * BETA).max(2.0);
                (self.threshold, self.stage, self.recovery) = (self.window, None, self.next);
            }
        }
        // Nothing grows before all that was out at the cut is accounted for.
        if largest >= self.recovery {
            (0..acked).for_each(|_| self.grow(now));
        }
    }

    fn sample(&mut self, number: u64, rtt: u64) {
        if number >= self.round.0 {
            self.round = (self.next, u64::MAX, 0);
        }
        if self.round.2 < 8 {
            self.round.1 = self.round.1.min(rtt);
            self.round.2 += 1;
        }
        let rise = (self.min_rtt / 8).clamp(4_000, 16_000);
        let full = self.round.2 == 8 && self.round.1 > self.min_rtt.saturating_add(rise);
        if full && self.window < self.threshold && self.threshold == f64::MAX {
            self.threshold = self.window;
        }
    }

    fn grow(&mut self, now: u64) {
        if self.window < self.threshold {
            self.window += 1.0;
            return;
        }
        let window = self.window;
        if self.stage.is_none() {
            self.plateau = self.plateau.max(window);
        }
        let k = ((self.plateau - window) / C).cbrt();
        let (begun, k, friendly) = self.stage.get_or_insert((now, k, window));
        *friendly += 3.0 * (1.0 - BETA) / (1.0 + BETA) / window;
        let t = (now - *begun + self.min_rtt) as f64 / 1e6;
        let target = (self.plateau + C * (t - *k).powi(3)).max(*friendly);
        self.window += ((target - window) / window).clamp(0.01 / window, 0.5);
    }
}

/// The other end.
#[derive(Default)]
pub(crate) struct Receiver {
    /// Numbers that no ACK has told of, and since when.
    news: Vec<u64>,
    since: u64,
    next: u64,
    pub(crate) taken: u64,
}

impl Receiver {
    /// A segment arrives; the ACK that leaves at once, if one does.
    pub(crate) fn take(&mut self, now: u64, number: u64) -> Option<Vec<u64>> {
        if self.news.is_empty() {
            self.since = now;
        }
        self.taken += DATA;
        self.news.push(number);
        let in_order = number == self.next;
        self.next = self.next.max(number + 1);
        (!in_order || self.news.len() >= 2).then(|| std::mem::take(&mut self.news))
    }

    /// When an ACK leaves that was held back.
    pub(crate) fn timeout(&self) -> u64 {
        if self.news.is_empty() { u64::MAX } else { self.since + DELAYED_ACK_US }
    }

    pub(crate) fn time_out(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.news)
    }
}
