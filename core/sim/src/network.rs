//! The paths: delay, jitter, loss, reordering, duplication, flipped bits, and a bottleneck with a bounded queue.

use crate::rng::Rng;
use tallylink_core::Ecn;

/// How a device's path behaves, both ways alike.
#[derive(Clone, Debug)]
pub(crate) struct PathPlan {
    /// One way.
    pub(crate) delay_us: u64,
    /// Up to this much more, for each datagram.
    pub(crate) jitter_us: u64,
    /// In permille of datagrams, as all rates here.
    pub(crate) loss: u32,
    /// How often a burst of losses begins, and how often it ends.
    pub(crate) burst: Option<(u32, u32)>,
    /// How often a datagram is late.
    pub(crate) late: u32,
    /// By how much at the most.
    pub(crate) late_us: u64,
    /// How often a datagram comes twice.
    pub(crate) twice: u32,
    /// How often some of its bits are flipped.
    pub(crate) flipped: u32,
    /// The largest datagram that the sender's system takes.
    pub(crate) mtu: usize,
    /// The largest that passes; others vanish.
    pub(crate) passes: usize,
    /// The bottleneck, in bytes a second.
    pub(crate) rate: Option<u64>,
    /// What the bottleneck queues.
    pub(crate) queue: u64,
    /// What becomes of marks.
    pub(crate) marks: MarksPlan,
}

/// How a path treats marked datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarksPlan {
    /// They pass, and the bottleneck marks them when half its queue is full.
    Kept,
    /// Their marks are taken off.
    TakenOff,
    /// They are dropped.
    Dropped,
    /// All are marked as if the path were congested.
    Always,
}

impl PathPlan {
    /// Draws a path.
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let delay_us = match rng.below(20) {
            0 => rng.pick(&[3_000_000, 27_000_000]),
            _ => rng.pick(&[5, 500, 5_000, 40_000, 300_000]),
        };
        let kind = rng.below(4) > 0;
        let rate = |rng: &mut Rng, of: &[u32]| if kind { rng.pick(of) } else { 0 };
        Self {
            delay_us,
            jitter_us: if delay_us > 20_000_000 { delay_us / 10 } else { rng.pick(&[0, delay_us / 10, delay_us * 2]) },
            loss: rate(rng, &[0, 10, 30, 100, 300]),
            burst: rng.chance(200).then(|| (rng.pick(&[5, 20]), rng.pick(&[50, 300]))),
            late: rate(rng, &[0, 20, 100, 300]),
            late_us: rng.pick(&[1_000, 20_000, 500_000, 3_000_000]),
            twice: rate(rng, &[0, 20, 200]),
            flipped: rate(rng, &[0, 10, 50]),
            mtu: rng.pick(&[1200, 1252, 1472, 9000]),
            passes: if rng.chance(200) { rng.pick(&[1200, 1252, 1300, 1452]) } else { usize::MAX },
            rate: rng.chance(400).then(|| rng.pick(&[20_000, 100_000, 1_000_000])),
            queue: rng.pick(&[18_000, 30_000]),
            marks: match rng.below(10) {
                0 => MarksPlan::TakenOff,
                1 => MarksPlan::Dropped,
                2 => MarksPlan::Always,
                _ => MarksPlan::Kept,
            },
        }
    }
}

/// One direction of a path.
#[derive(Clone, Debug)]
pub(crate) struct Direction {
    plan: PathPlan,
    in_burst: bool,
    free_at: u64,
    outage_until: u64,
}

/// A datagram that arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// When.
    pub(crate) at: u64,
    /// What.
    pub(crate) bytes: Vec<u8>,
    /// With which mark.
    pub(crate) ecn: Ecn,
}

impl Direction {
    /// A direction in which nothing is under way.
    #[must_use]
    pub(crate) fn new(plan: PathPlan) -> Self {
        Self { plan, in_burst: false, free_at: 0, outage_until: 0 }
    }

    /// The largest datagram that can be sent.
    #[must_use]
    pub(crate) fn mtu(&self) -> usize {
        self.plan.mtu
    }

    /// Nothing passes for a while.
    pub(crate) fn outage(&mut self, until: u64) {
        self.outage_until = self.outage_until.max(until);
    }

    /// From now on larger datagrams than this vanish.
    pub(crate) fn shrink(&mut self, passes: usize) {
        self.plan.passes = passes;
    }

    /// From now on nothing is lost, late, doubled or changed; the bottleneck stays.
    pub(crate) fn calm(&mut self) {
        let plan = &mut self.plan;
        (plan.loss, plan.burst, plan.late, plan.twice, plan.flipped) = (0, None, 0, 0, 0);
        (self.in_burst, self.outage_until) = (false, 0);
    }

    /// What becomes of a datagram.
    pub(crate) fn send(&mut self, now: u64, ecn: Ecn, bytes: &[u8], rng: &mut Rng) -> Vec<Arrival> {
        let marked = ecn != Ecn::NotEct && self.plan.marks == MarksPlan::Dropped;
        let dropped = marked || bytes.len() > self.plan.passes;
        if now < self.outage_until || self.lost(rng) || dropped {
            return Vec::new();
        }
        let ecn = self.marked(now, ecn);
        let Some(left) = self.through_bottleneck(now, bytes.len() as u64) else {
            return Vec::new();
        };
        let copies = if rng.chance(self.plan.twice) { 2 } else { 1 };
        let mut arrivals = Vec::new();
        for _ in 0..copies {
            let mut at = left + self.plan.delay_us + rng.below(self.plan.jitter_us + 1);
            if rng.chance(self.plan.late) {
                at += rng.below(self.plan.late_us);
            }
            let mut bytes = bytes.to_vec();
            if rng.chance(self.plan.flipped) {
                flip(&mut bytes, rng);
            }
            arrivals.push(Arrival { at, bytes, ecn });
        }
        arrivals
    }

    /// The mark that a datagram arrives with.
    fn marked(&self, now: u64, ecn: Ecn) -> Ecn {
        let queued = self.plan.rate.map_or(0, |rate| self.free_at.saturating_sub(now) * rate / 1_000_000);
        match (ecn, self.plan.marks) {
            (Ecn::NotEct, _) | (_, MarksPlan::TakenOff) => Ecn::NotEct,
            (_, MarksPlan::Always) => Ecn::Ce,
            _ if queued > self.plan.queue / 2 => Ecn::Ce,
            _ => ecn,
        }
    }

    fn lost(&mut self, rng: &mut Rng) -> bool {
        if let Some((begins, ends)) = self.plan.burst {
            self.in_burst = if self.in_burst { !rng.chance(ends) } else { rng.chance(begins) };
        }
        self.in_burst || rng.chance(self.plan.loss)
    }

    /// When the datagram has left the bottleneck; `None` when its queue was full.
    fn through_bottleneck(&mut self, now: u64, bytes: u64) -> Option<u64> {
        let Some(rate) = self.plan.rate else {
            return Some(now);
        };
        let waits = self.free_at.saturating_sub(now);
        if waits * rate / 1_000_000 + bytes > self.plan.queue + 1500 {
            return None;
        }
        self.free_at = self.free_at.max(now) + bytes * 1_000_000 / rate;
        Some(self.free_at)
    }
}

/// Flips one to three bits.
pub(crate) fn flip(bytes: &mut [u8], rng: &mut Rng) {
    for _ in 0..rng.within(1, 3) {
        let at = rng.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << rng.below(8);
    }
}
