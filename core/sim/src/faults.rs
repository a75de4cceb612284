//! What goes wrong, when it does, and when it no longer does.

use crate::plan::{FaultKind, GATEWAY};
use crate::world::{Happens, World};
use tallylink_core::{Path, PeerIx};

impl World {
    /// Faults that are due.
    pub(crate) fn break_things(&mut self) -> Result<(), String> {
        while let Some(fault) = self.plan.faults.get(self.next_fault).copied() {
            // One after another: an end that is down cannot go down.
            if fault.after_packets > self.report.packets || self.ends.iter().any(|e| e.up.is_none()) {
                return Ok(());
            }
            self.next_fault += 1;
            self.note(|| format!("{:?}", fault.what));
            match fault.what {
                FaultKind::Crash { ends, power, down_us } => self.crash(ends, power, down_us),
                FaultKind::Roam(device) => self.roam(device),
                FaultKind::Reconnect(device) => self.reconnect(device),
                FaultKind::Outage(device, us) => {
                    let until = self.now + us;
                    self.paths[device].iter_mut().for_each(|d| d.outage(until));
                }
                FaultKind::Shrink(device, to) => self.paths[device].iter_mut().for_each(|d| d.shrink(to)),
                FaultKind::Sleep(sleep) => self.sleeps(&sleep)?,
                FaultKind::SyncFails(end) => {
                    if let Some(up) = &mut self.ends[end].up {
                        up.sync_fails = true;
                    }
                }
            }
        }
        Ok(())
    }

    pub(crate) fn crash(&mut self, ends: u32, power: bool, down_us: u64) {
        for end in (0..self.ends.len()).filter(|e| ends >> e & 1 == 1) {
            self.report.crashes += 1;
            let mut ledger = self.shared.ledger.borrow_mut();
            self.ends[end].crash(&self.plan, power, &mut self.rng, &mut ledger);
            drop(ledger);
            let down = down_us + self.rng.below(down_us + 1);
            self.after(down, Happens::Start(end));
        }
    }

    fn roam(&mut self, device: usize) {
        let host = self.rng.below(250) as u8;
        let port = self.rng.within(1024, 65_000) as u16;
        self.ends[device].address = ([10, 1, device as u8, host], port).into();
    }

    fn reconnect(&mut self, device: usize) {
        let now = self.time();
        if let Some(up) = &mut self.ends[device].up {
            // The end is woken for it: a deadline that is set now is seen at the next turn.
            let _ = up.endpoint.connect(now, PeerIx(0), Path::to(Self::gateway()));
            up.wake_at = self.now;
            let boot = self.ends[device].boots;
            self.after(0, Happens::Wake(device, boot));
        }
    }

    /// Nothing goes wrong from now on.
    pub(crate) fn calm_down(&mut self) {
        self.note(|| "nothing goes wrong from now on".into());
        self.calm = true;
        self.paths.iter_mut().flatten().for_each(crate::network::Direction::calm);
        for end in &mut self.ends {
            if let Some(up) = &mut end.up {
                up.inbox.calm();
                up.sync_fails = false;
            }
        }
        debug_assert!(self.ends[GATEWAY].up.is_some());
    }
}
