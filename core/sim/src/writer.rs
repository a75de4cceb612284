//! The journal's writer and the outbox's: they gather, write, sync, and only then tell.

use crate::outbox::Outbox;
use crate::sending::RECORD_COST;
use crate::world::{Happens, World};

impl World {
    /// The application of a stream has records.
    pub(crate) fn produces(&mut self, stream: usize) -> Result<(), String> {
        let plan = self.plan.streams[stream].clone();
        if self.calm {
            return Ok(());
        }
        let mut waits = self.ends[plan.sender].up.is_none();
        if !waits {
            let enough = self.produced[stream] >= plan.bytes
                && self.report.packets >= self.plan.packets
                && self.next_fault == self.plan.faults.len();
            let many = 1 + 20 / (u64::from(plan.largest) + 1);
            let burst = if enough { 0 } else { self.rng.within(1, plan.burst) * many };
            for _ in 0..burst {
                let size = match self.rng.below(4) {
                    0 => plan.largest,
                    1 => self.rng.below(u64::from(plan.largest).min(64) + 1) as u32,
                    _ => self.rng.below(u64::from(plan.largest) + 1) as u32,
                };
                waits |= !self.produce(stream, size)?;
                if waits {
                    break;
                }
            }
            waits |= enough;
            self.turn(plan.sender)?;
        }
        // When much has come already, little more does.
        let slower = 1 + 20 * (self.produced[stream] / (2 * plan.bytes + 1));
        let next = (plan.every_us / 2 + self.rng.below(plan.every_us + 1)) * slower;
        // A sender that has no room looks again later.
        let next = if waits { next.max(self.rng.within(10_000, 500_000)) } else { next };
        self.after(next, Happens::Produce(stream));
        Ok(())
    }

    fn produce(&mut self, stream: usize, size: u32) -> Result<bool, String> {
        let mut rng = self.rng.fork();
        let end = self.plan.streams[stream].sender;
        let Some(mut sending) = self.sending(end, stream) else {
            return Ok(false);
        };
        let taken = sending.produce(size, &mut rng)?;
        if taken {
            self.produced[stream] += u64::from(size) + RECORD_COST;
            self.report.records += 1;
        }
        Ok(taken)
    }

    /// Begins a sync of an outbox that has something to sync.
    pub(crate) fn sync_outbox(&mut self, end: usize, stream: usize) {
        let outbox = &self.ends[end].outboxes[stream];
        if !outbox.is_dirty() {
            return;
        }
        let then = outbox.clone();
        let boot = self.ends[end].boots;
        let Some(up) = &mut self.ends[end].up else {
            return;
        };
        let Some(out) = up.outs.iter_mut().find(|o| o.stream == stream) else {
            return;
        };
        if !out.syncing {
            out.syncing = true;
            let takes = self.plan.streams[stream].sync_us;
            self.after(takes, Happens::OutboxSynced(stream, boot, then));
        }
    }

    pub(crate) fn outbox_synced(&mut self, stream: usize, boot: u64, then: &Outbox) -> Result<(), String> {
        let end = self.plan.streams[stream].sender;
        if self.ends[end].boots != boot {
            return Ok(());
        }
        let Some(up) = &mut self.ends[end].up else {
            return Ok(());
        };
        for out in up.outs.iter_mut().filter(|o| o.stream == stream) {
            out.syncing = false;
        }
        self.ends[end].outboxes[stream].synced(then);
        self.turn(end)
    }

    /// Sets the journal's writer to work when something waits for it, or core for room.
    pub(crate) fn set_writer(&mut self, end: usize) {
        let boot = self.ends[end].boots;
        let Some(up) = &mut self.ends[end].up else {
            return;
        };
        if !up.writing && (up.inbox.waits() || up.inbox.starved) {
            up.writing = true;
            let gather = self.plan.ends[end].journal.gather_us;
            self.after(gather, Happens::Write(end, boot));
        }
    }

    pub(crate) fn writes(&mut self, end: usize, boot: u64) -> Result<(), String> {
        let now = self.time();
        let (low, high) = self.plan.ends[end].journal.sync_us;
        let takes = self.rng.within(low, high);
        let ends = &mut self.ends[end];
        let Some(up) = ends.up.as_mut().filter(|_| ends.boots == boot) else {
            return Ok(());
        };
        up.inbox.write_to(&mut ends.log);
        let to = ends.log.entries.len();
        if std::mem::take(&mut up.inbox.starved) {
            up.endpoint.room(now, &mut up.inbox);
        }
        self.after(takes, Happens::JournalSynced(end, boot, to));
        self.turn(end)
    }

    pub(crate) fn journal_synced(&mut self, end: usize, boot: u64, to: usize) -> Result<(), String> {
        let now = self.time();
        let ends = &mut self.ends[end];
        let Some(up) = ends.up.as_mut().filter(|_| ends.boots == boot) else {
            return Ok(());
        };
        up.writing = false;
        if std::mem::take(&mut up.sync_fails) {
            ends.log.distrust();
            up.inbox.back_to(&ends.log);
            up.endpoint.end_sessions(now);
            self.note(|| format!("end {end}: a sync failed"));
            return self.turn(end);
        }
        let news = up.inbox.synced(&ends.log.entries[ends.log.synced.min(to)..to]);
        if !self.sabotage.no_sync {
            ends.log.synced = to;
        }
        for (stream, epoch, below) in &news {
            up.endpoint.stored(now, *stream, *epoch, *below);
        }
        self.note(|| format!("end {end} synced: {news:?}"));
        self.turn(end)
    }
}
