//! All devices, on one thread.
use std::{cmp::Reverse, collections::BinaryHeap, net::SocketAddr, time::Duration};

use anyhow::{Result, ensure};
use indicatif::ProgressBar;
use tallylink_core::{Ecn, Event, Instant, Path};
use tallylink_gateway::keystore::Entry;
use tallylink_linux::{Clock, SendsOnly};

use super::{
    device::{self, DATAGRAM, Device},
    socket::Socket,
};
use crate::clock;

/// So many open their sessions at a time.
const AT_A_TIME: usize = 1_000;
/// So many push before it is looked at what came.
const IN_A_ROW: usize = 16;
/// Nothing takes so long.
const PATIENCE: Duration = Duration::from_secs(120);
/// For a look at the time.
const TICK: Duration = Duration::from_millis(5);

pub(super) struct Crowd {
    devices: Vec<Device>,
    /// When each is to be called, as it stands in the heap.
    armed: Vec<Instant>,
    due: BinaryHeap<Reverse<(Instant, u32)>>,
    socket: Socket,
    path: Path,
    clock: Clock,
    /// Records stored, of all devices.
    stored: u64,
    sessions_ended: u64,
}

impl Crowd {
    pub(super) fn new(keys: &[Entry], gateway: SocketAddr) -> Result<Self> {
        let clock = Clock::start();
        let devices: Vec<_> = keys.iter().map(|key| device::new(key, gateway, &clock)).collect::<Result<_>>()?;
        Ok(Self {
            armed: vec![Instant::NEVER; devices.len()],
            devices,
            due: BinaryHeap::new(),
            socket: Socket::new(gateway)?,
            path: Path::to(gateway),
            clock,
            stored: 0,
            sessions_ended: 0,
        })
    }

    /// Returns when every device has a session and a record stored.
    pub(super) fn gather(&mut self) -> Result<()> {
        self.push_all(AT_A_TIME)
    }

    /// Every device pushes a record at once; returns when all are stored.
    pub(super) fn speak(&mut self) -> Result<()> {
        self.push_all(self.devices.len())
    }

    /// Does what is to be done for so long.
    pub(super) fn attend(&mut self, lasts: Duration) -> Result<()> {
        let begun = clock::wall();
        while begun.elapsed() < lasts {
            self.go(lasts.saturating_sub(begun.elapsed()))?;
        }
        Ok(())
    }

    /// Datagrams that were sent and received.
    pub(super) fn packets(&self) -> u64 {
        self.socket.packets
    }

    /// Whether a device waits for a moment to come.
    pub(super) fn waits(&self) -> bool {
        self.devices.iter().any(|device| device.next_timeout().is_some())
    }

    pub(super) fn sessions_ended(&self) -> u64 {
        self.sessions_ended
    }

    fn push_all(&mut self, at_a_time: usize) -> Result<()> {
        let (all, before) = (self.devices.len(), self.stored);
        let bar = ProgressBar::new(all as u64);
        let mut pushed = 0;
        let mut moved = (self.stored, clock::wall());
        while self.stored < before + all as u64 {
            let under_way = pushed - (self.stored - before) as usize;
            for _ in 0..IN_A_ROW.min(at_a_time - under_way).min(all - pushed) {
                device::push(&mut self.devices[pushed], &self.clock)?;
                self.go_on(pushed)?;
                pushed += 1;
            }
            self.go(if pushed < all { Duration::ZERO } else { TICK })?;
            if self.stored != moved.0 {
                moved = (self.stored, clock::wall());
                bar.set_position(self.stored - before);
            }
            ensure!(moved.1.elapsed() < PATIENCE, "only {} of {all} records were stored", self.stored - before);
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// Takes what came, does what is due, and waits so long at the most if there is nothing.
    fn go(&mut self, at_most: Duration) -> Result<()> {
        let Self { socket, devices, path, clock, .. } = self;
        let mut heard = Vec::new();
        let now = clock.now();
        let any = socket.receive(|device, datagram| {
            if let Some(endpoint) = devices.get_mut(device) {
                // What it makes of it, it counts itself.
                let _ = endpoint.handle_datagram(now, path, Ecn::NotEct, datagram, &mut SendsOnly);
                heard.push(device);
            }
        })?;
        for device in heard {
            self.go_on(device)?;
        }
        let now = self.clock.now();
        while let Some(&Reverse((at, device))) = self.due.peek().filter(|Reverse((at, _))| *at <= now) {
            self.due.pop();
            let device = device as usize;
            // One that was armed anew stands further back once more.
            if self.armed[device] == at {
                self.armed[device] = Instant::NEVER;
                self.devices[device].handle_timeout(now);
                self.go_on(device)?;
            }
        }
        if !any {
            let next =
                self.due.peek().map_or(at_most, |Reverse((at, _))| Duration::from_micros(at.since(now).as_micros()));
            self.socket.wait(next.min(at_most))?;
        }
        Ok(())
    }

    /// Sends what a device has to send, and hears its news.
    fn go_on(&mut self, at: usize) -> Result<()> {
        let (device, now) = (&mut self.devices[at], self.clock.now());
        let mut datagram = [0; DATAGRAM];
        while let Some(envelope) = device.peek_transmit(now) {
            let place = &mut datagram[..usize::from(envelope.len)];
            if !device.seal_transmit(now, &envelope, place) {
                break;
            }
            self.socket.send(at, place)?;
        }
        while let Some(event) = device.next_event() {
            match event {
                // A device pushes again only when what it pushed before is stored.
                Event::Stored(..) => self.stored += 1,
                Event::Ended(..) => self.sessions_ended += 1,
                _ => {}
            }
        }
        let due = device.next_timeout().unwrap_or(Instant::NEVER);
        if due != self.armed[at] {
            self.armed[at] = due;
            if due != Instant::NEVER {
                self.due.push(Reverse((due, at as u32)));
            }
        }
        Ok(())
    }
}
