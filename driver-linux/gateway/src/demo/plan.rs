//! What is sent: every record follows from the seed and its place.

use super::random::Random;

/// The streams of each sender.
pub(super) const STREAMS: [&str; 3] = ["readings", "events", "images"];

/// How often the gateway is killed.
pub(super) const KILLS: u64 = 2;

/// What all senders send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) senders: u32,
    pub(super) records: u64,
}

impl Plan {
    /// How many records one sender sends on each of its streams.
    pub(super) fn records_of(&self, sender: u32) -> [u64; STREAMS.len()] {
        let share = |whole: u64, parts: u64, at: u64| whole / parts + u64::from(at < whole % parts);
        let mine = share(self.records, u64::from(self.senders), u64::from(sender));
        let streams = STREAMS.len() as u64;
        [share(mine, streams, 0), share(mine, streams, 1), share(mine, streams, 2)]
    }

    /// How many records are stored when the gateway is killed once more, after so many kills.
    pub(super) fn kill_at(&self, kills: u64) -> u64 {
        (kills + 1) * self.records / (KILLS + 1)
    }

    /// How many of a stream's records may be sent after so many kills: a tenth of all more than is waited for, so that
    /// each kill finds records on their way, however short the demo is.
    pub(super) fn allowed(records: u64, kills: u64) -> u64 {
        if kills >= KILLS {
            return records;
        }
        (records * (10 * (kills + 1) + KILLS + 1)).div_ceil(10 * (KILLS + 1)).min(records)
    }

    /// Writes one record: 90 of 100 have at most 256 bytes, 9 at most 4 KiB, 1 at most 64 KiB.
    pub(super) fn record(&self, sender: u32, stream: usize, number: u64, into: &mut Vec<u8>) {
        let mut random = Random::new(self.seed, &[u64::from(sender), stream as u64, number]);
        let len = match random.below(100) {
            0 => random.below(65_537),
            1..10 => random.below(4097),
            // One of 64 is empty beside those that happen to be.
            _ if random.below(64) == 0 => 0,
            _ => random.below(257),
        };
        into.clear();
        into.resize(len as usize, 0);
        random.fill(into);
    }
}

#[cfg(test)]
mod tests;
