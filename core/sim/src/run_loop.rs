//! The run loop of each end: after any call, everything that core has to say is heard.

use crate::describe::describe;
use crate::end::Up;
use crate::plan::GATEWAY;
use crate::sending::{Sending, out_of};
use crate::stranger::Datagram;
use crate::world::{Happens, World};
use tallylink_core::{Ecn, Event, Handled, Instant, Path, SendFault};

/// Rounds of sending, events and deadlines that one moment may take.
const ROUNDS: usize = 200;
/// Packets that one moment may send.
const AT_ONCE: usize = 5_000;
/// Deadlines in one second of virtual time that are always allowed; each packet allows a few more.
const WAKES: u64 = 3_000;

impl World {
    /// A datagram has come.
    pub(crate) fn arrives(&mut self, datagram: Datagram) -> Result<(), String> {
        let Some(end) = self.end_at(datagram.to) else {
            return Ok(());
        };
        let now = self.time();
        let Some(up) = &mut self.ends[end].up else {
            return Ok(());
        };
        let mut bytes = datagram.bytes;
        let path = Path::to(datagram.from);
        let what = if self.trace { describe(&bytes, !self.plan.real_crypto) } else { String::new() };
        let handled = up.endpoint.handle_datagram(now, &path, datagram.ecn, &mut bytes, &mut up.inbox);
        self.note(|| format!("end {end} <- {} {what} => {handled:?}", datagram.from));
        if let Ok(Handled::Reply(len)) = handled {
            let Some(reply) = bytes.get(..len) else {
                return Err(format!("a reply of {len} B answers {} B", bytes.len()));
            };
            let reply = reply.to_vec();
            self.sends(end, datagram.from, Ecn::NotEct, &reply);
        }
        self.turn(end)
    }

    /// A deadline has come.
    pub(crate) fn wakes(&mut self, end: usize, boot: u64) -> Result<(), String> {
        let now = self.now;
        let here = &mut self.ends[end];
        let Some(up) = here.up.as_mut().filter(|u| here.boots == boot && u.wake_at <= now) else {
            return Ok(());
        };
        up.wake_at = u64::MAX;
        self.report.wakes += 1;
        self.turn(end)
    }

    /// Hears an end out.
    pub(crate) fn turn(&mut self, end: usize) -> Result<(), String> {
        let now = self.time();
        for _ in 0..ROUNDS {
            let full = self.transmit(end)?;
            self.events(end)?;
            let fed = self.feed(end)?;
            let Some(up) = &mut self.ends[end].up else {
                return Ok(());
            };
            if let Some(what) = up.inbox.violation.take() {
                return Err(what);
            }
            let due = up.endpoint.next_timeout().is_some_and(|at| at <= now);
            if due {
                up.endpoint.handle_timeout(now);
                count_wake(up, now)?;
            }
            if full || (!due && !fed) {
                self.set_writer(end);
                self.arm(end, full);
                return self.check_deadline(end, full);
            }
        }
        Err(format!("end {end} spins"))
    }

    /// Sends what there is to send. True when the socket had no room for all of it.
    fn transmit(&mut self, end: usize) -> Result<bool, String> {
        let now = self.time();
        for _ in 0..AT_ONCE {
            let full = !self.calm && self.rng.chance(self.plan.socket_full);
            let Some(up) = &mut self.ends[end].up else {
                return Ok(false);
            };
            let Some(envelope) = up.endpoint.peek_transmit(now) else {
                return Ok(false);
            };
            if full {
                return Ok(true);
            }
            let mut bytes = vec![0xee; usize::from(envelope.len)];
            if !up.endpoint.seal_transmit(now, &envelope, &mut bytes) {
                return Err("what was planned could not be sealed".into());
            }
            up.second.2 += 1;
            let to = envelope.path.remote;
            let device = if end == GATEWAY { self.end_at(to) } else { Some(end) };
            let mtu = device.map_or(usize::MAX, |d| self.paths[d][0].mtu());
            self.note(|| {
                let what = describe(&bytes, !self.plan.real_crypto);
                format!("end {end} -> {to} {} B: {what}", bytes.len())
            });
            if bytes.len() > mtu {
                if let Some(up) = &mut self.ends[end].up {
                    up.endpoint.transmit_failed(now, envelope.peer, SendFault::TooBig);
                }
            } else {
                self.sends(end, to, envelope.ecn, &bytes);
            }
        }
        Err(format!("end {end} sends without end"))
    }

    fn events(&mut self, end: usize) -> Result<(), String> {
        loop {
            let Some(up) = &mut self.ends[end].up else {
                return Ok(());
            };
            let Some(event) = up.endpoint.next_event() else {
                return Ok(());
            };
            self.note(|| format!("end {end}: {event:?}"));
            match event {
                Event::Stored(at, below) | Event::Ahead(at, below) => {
                    let Some(up) = &self.ends[end].up else { continue };
                    let Some(out) = out_of(up, at) else { continue };
                    let stream = up.outs[out].stream;
                    if let Some(mut sending) = self.sending(end, stream) {
                        sending.stored(below).map_err(|e| format!("stream {stream}: {e}"))?;
                    }
                }
                Event::Ended(_, why) if why != tallylink_core::Fault::Local => {
                    return Err(format!("end {end} ended a session: {why}"));
                }
                _ => {}
            }
        }
    }

    fn feed(&mut self, end: usize) -> Result<bool, String> {
        let mut any = false;
        for stream in 0..self.plan.streams.len() {
            if let Some(mut sending) = self.sending(end, stream) {
                any |= sending.feed()?;
                self.sync_outbox(end, stream);
            }
        }
        Ok(any)
    }

    /// A stream, if this end sends it and runs.
    pub(crate) fn sending(&mut self, end: usize, stream: usize) -> Option<Sending<'_>> {
        let now = self.time();
        let plan = self.plan.streams.get(stream).filter(|s| s.sender == end)?;
        let here = &mut self.ends[end];
        let up = here.up.as_mut()?;
        let out = up.outs.iter().position(|o| o.stream == stream)?;
        Some(Sending { up, out, outbox: &mut here.outboxes[stream], plan, shared: &self.shared, now })
    }

    /// Sees to it that the end is woken for its next deadline, or when its socket has room.
    fn arm(&mut self, end: usize, full: bool) {
        let boot = self.ends[end].boots;
        let now = self.now;
        let Some(up) = &mut self.ends[end].up else {
            return;
        };
        let next = up.endpoint.next_timeout().map_or(u64::MAX, Instant::as_micros);
        let next = if full { next.min(now + 1_000).max(now + 1) } else { next };
        if next != u64::MAX && next != up.wake_at {
            up.wake_at = next;
            self.after(next.saturating_sub(now), Happens::Wake(end, boot));
        }
    }

    /// Something outstanding implies a deadline. (A gateway may wait for a silent device.)
    fn check_deadline(&mut self, end: usize, full: bool) -> Result<(), String> {
        let Some(up) = &self.ends[end].up else {
            return Ok(());
        };
        if end == GATEWAY || full || up.endpoint.next_timeout().is_some() {
            return Ok(());
        }
        let sent = up.endpoint.storage().outbound();
        let waiting = |s: &&tallylink_core::OutStream| s.stored_below() < s.next();
        match sent.iter().find(waiting) {
            None => Ok(()),
            Some(s) => {
                let (stored, next) = (s.stored_below(), s.next());
                Err(format!("end {end} waits for STORED of {stored}..{next} without a deadline"))
            }
        }
    }
}

/// Counts deadlines in this second of virtual time.
fn count_wake(up: &mut Up, now: Instant) -> Result<(), String> {
    let second = now.as_micros() / 1_000_000;
    if up.second.0 != second {
        up.second = (second, 0, 0);
    }
    up.second.1 += 1;
    let (_, wakes, packets) = up.second;
    if wakes > WAKES + 4 * packets {
        return Err(format!("{wakes} deadlines and {packets} packets in one second"));
    }
    Ok(())
}
