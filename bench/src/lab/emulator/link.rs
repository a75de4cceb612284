//! One direction: the queue, the link behind it, and the way.
use std::time::Duration;

use super::{
    chance::{Chance, Loss},
    counters::{Counters, Queue},
    ip,
    profile::Profile,
};

pub(super) struct Link {
    profile: Profile,
    loss: Loss,
    chance: Chance,
    /// When the slow link has sent everything that waits for it.
    free_at: Duration,
    /// The latest departure of a packet that was not to overtake.
    last: Duration,
    queue: Queue,
}

/// When a packet gets to the other end, and when its copy does.
pub(super) struct Passage {
    pub(super) at: Duration,
    pub(super) again: Option<Duration>,
}

impl Link {
    pub(super) fn new(profile: &Profile, seed: u64) -> Self {
        Self {
            profile: *profile,
            loss: Loss::new(profile.loss, profile.burst),
            chance: Chance::new(seed),
            free_at: Duration::ZERO,
            last: Duration::ZERO,
            queue: Queue::default(),
        }
    }

    /// Passes a packet, or loses it. Each packet that finds room draws as many chances as any other, so that one setting does
    /// not shift another's.
    pub(super) fn pass(&mut self, now: Duration, packet: &mut [u8], counters: &mut Counters) -> Option<Passage> {
        let Some(sent) = self.admit(now, packet.len()) else {
            counters.queue_full += 1;
            return None;
        };
        let waited = sent.saturating_sub(now).as_micros() as u64;
        self.queue.longest_us = self.queue.longest_us.max(waited);
        self.queue.waited_us += waited;
        self.queue.passed += 1;
        self.queue.passed_bytes += packet.len() as u64;

        let Profile { corrupt, duplicate, reorder, .. } = self.profile;
        let lost = self.loss.next(&mut self.chance);
        let corrupted = self.chance.happens(corrupt);
        let flipped = self.chance.below(packet.len().max(1) * 8);
        let duplicated = self.chance.happens(duplicate);
        let overtakes = self.chance.happens(reorder);
        let (first, second) = (self.delay(), self.delay());
        if lost {
            counters.lost += 1;
            return None;
        }
        if corrupted && ip::corrupt(packet, flipped) {
            counters.corrupted += 1;
        }
        counters.duplicated += u64::from(duplicated);
        counters.reordered += u64::from(overtakes);
        let at = if overtakes { sent } else { self.arrival(sent + first) };
        let again = duplicated.then(|| self.arrival(sent + second));
        Some(Passage { at, again })
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// When the slow link has sent the packet, if there is room to wait for it.
    fn admit(&mut self, now: Duration, length: usize) -> Option<Duration> {
        let Some(rate) = self.profile.rate else {
            return Some(now);
        };
        let begins = self.free_at.max(now);
        let waiting = (begins - now).as_secs_f64() * rate as f64 / 8.0;
        if waiting as u64 + length as u64 > self.profile.queue {
            return None;
        }
        self.free_at = begins + Duration::from_secs_f64(length as f64 * 8.0 / rate as f64);
        Some(self.free_at)
    }

    fn delay(&mut self) -> Duration {
        let most = self.profile.jitter.most;
        (self.profile.delay + self.chance.around(most)).saturating_sub(most)
    }

    fn arrival(&mut self, at: Duration) -> Duration {
        if !self.profile.jitter.in_order {
            return at;
        }
        self.last = self.last.max(at);
        self.last
    }
}
