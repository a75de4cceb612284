//! Thousands of devices and one gateway whose disk takes its time. Whoever has nothing to do costs nothing here.

use super::{Node, PEER, at};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use tallylink_core::*;

const RING: u32 = 2048;

/// (arrival, order, device, to the gateway, bytes).
type OnTheWay = (u64, u64, usize, bool, Vec<u8>);

/// Devices with one stream each, their gateway, and what is on its way.
pub(crate) struct Crowd {
    pub(crate) now: u64,
    pub(crate) devices: Vec<Node>,
    pub(crate) gateway: Node,
    /// From push to STORED, of each record.
    pub(crate) took_us: Vec<u64>,
    /// When the record that is under way was pushed.
    pushed: Vec<Option<u64>>,
    wire: BinaryHeap<Reverse<OnTheWay>>,
    order: u64,
    timers: BTreeSet<(u64, usize)>,
    armed: Vec<u64>,
    /// A group of records is on disk this much later.
    commit_us: u64,
    commit_at: u64,
    /// From one end to the other.
    pub(crate) delay_us: u64,
    /// The gateway has no processor for so long in each second.
    pub(crate) stalls_us: u64,
    /// Streams of the group that is being written, and how far.
    group: Vec<(u32, Epoch, u64)>,
}

impl Crowd {
    /// Each device pushes its first record at once.
    pub(crate) fn new(config: &Config, devices: usize, links: usize, commit_us: u64) -> Self {
        let config = Config { max_peers: devices.next_power_of_two() as u32, ..config.clone() };
        let mut gateway = Node::new(config, End::Gateway, "10.0.0.1:2000", [devices, links, devices, 64], 0);
        gateway.storing = false;
        let nodes = (0..devices as u32).map(|n| {
            let address = format!("10.{}.{}.1:1000", 1 + n / 200, 1 + n % 200);
            let mut node = Node::new(Config::small(), End::Device, &address, [1, 1, 1, RING as usize], n);
            let name = Name::new("s").unwrap();
            node.endpoint.open(at(0), OutIx(0), PEER, name, EpochSource::FirstSession, 0, 0..RING).unwrap();
            node.endpoint.connect(at(0), PEER, Path::to(gateway.address)).unwrap();
            node
        });
        let mut crowd = Self {
            now: 0,
            devices: nodes.collect(),
            gateway,
            took_us: vec![],
            pushed: vec![None; devices],
            wire: BinaryHeap::new(),
            order: 0,
            timers: BTreeSet::new(),
            armed: vec![u64::MAX; devices],
            commit_us,
            commit_at: u64::MAX,
            delay_us: 200,
            stalls_us: 0,
            group: vec![],
        };
        crowd.push_all();
        crowd
    }

    /// How many devices have a record that is not stored.
    pub(crate) fn waits(&self) -> usize {
        self.pushed.iter().flatten().count()
    }

    /// How many HELLOs were sent.
    pub(crate) fn hellos(&self) -> u64 {
        self.devices.iter().map(|d| d.endpoint.totals().hellos_sent).sum()
    }

    /// How many datagrams were sent, in either direction.
    pub(crate) fn sent(&self) -> u64 {
        self.order
    }

    /// Whether anybody waits for a moment to come.
    pub(crate) fn has_deadline(&self) -> bool {
        !self.timers.is_empty() || self.commit_at != u64::MAX || self.gateway.next_timeout_us() != u64::MAX
    }

    /// Every device pushes a record at this moment.
    pub(crate) fn push_all(&mut self) {
        (0..self.devices.len()).for_each(|device| self.push(device));
    }

    /// Every device pushes a record a second, in turn, if the one before is stored.
    pub(crate) fn push_for(&mut self, lasts: u64) {
        let (from, count) = (self.now, self.devices.len() as u64);
        for turn in 0..count * lasts / 1_000_000 {
            self.run(from + turn * 1_000_000 / count);
            let device = (turn % count) as usize;
            if self.pushed[device].is_none() {
                self.push(device);
            }
        }
    }

    fn push(&mut self, device: usize) {
        self.pushed[device] = Some(self.now);
        self.devices[device].endpoint.push(at(self.now), OutIx(0), &[7; 61]).unwrap();
        self.device_sends(device);
    }

    pub(crate) fn run(&mut self, until: u64) {
        loop {
            let arrival = self.wire.peek().map_or(u64::MAX, |w| w.0.0);
            let timer = self.timers.first().map_or(u64::MAX, |t| t.0);
            let timeout = self.awake(self.gateway.next_timeout_us());
            let next = arrival.min(timer).min(timeout).min(self.awake(self.commit_at));
            if next > until {
                self.now = self.now.max(until);
                return;
            }
            self.now = self.now.max(next);
            if next == arrival {
                self.arrive();
            } else if next == timer {
                let device = self.timers.first().unwrap().1;
                self.devices[device].endpoint.handle_timeout(at(self.now));
                self.device_sends(device);
            } else if next == timeout {
                self.gateway.endpoint.handle_timeout(at(self.now));
            } else {
                self.commit();
            }
            // What arrived while it was away is handled in one go.
            let more = self.wire.peek().is_some_and(|Reverse((when, _, _, up, _))| *up && *when == self.now);
            if self.gateway.endpoint.wants_to_send() || !more {
                self.gateway_sends();
            }
        }
    }

    /// When the gateway sees to something that is due then.
    fn awake(&self, due: u64) -> u64 {
        if due == u64::MAX { due } else { due.max(due / 1_000_000 * 1_000_000 + self.stalls_us) }
    }

    fn arrive(&mut self) {
        let Reverse((_, _, device, up, mut bytes)) = self.wire.pop().unwrap();
        let from = if up { self.devices[device].address } else { self.gateway.address };
        let node = if up { &mut self.gateway } else { &mut self.devices[device] };
        if let Ok(Handled::Reply(len)) = node.take(self.now, from, &mut bytes) {
            assert!(up && len <= bytes.len(), "an answer is never longer than what it answers");
            bytes.truncate(len);
            self.send(device, false, bytes);
        }
        if up {
            self.write(device);
        } else {
            self.device_sends(device);
        }
    }

    /// What was delivered waits for the disk.
    fn write(&mut self, device: usize) {
        let Some(ix) = self.gateway.inbox.stream_of(PeerIx(device as u32), "s") else { return };
        let stream = &mut self.gateway.inbox.streams[ix.at()];
        if stream.stored < stream.next.number {
            stream.stored = stream.next.number;
            self.group.push((ix.0, stream.epoch, stream.stored));
            if self.commit_at == u64::MAX {
                self.commit_at = self.now + self.commit_us;
            }
        }
    }

    /// The group is on disk. What came while it was written is the next one.
    fn commit(&mut self) {
        for (stream, epoch, below) in std::mem::take(&mut self.group) {
            self.gateway.endpoint.stored(at(self.now), InIx(stream), epoch, below);
        }
        self.commit_at = u64::MAX;
    }

    fn device_sends(&mut self, device: usize) {
        let node = &mut self.devices[device];
        for (_, bytes) in node.transmit(self.now) {
            self.send(device, true, bytes);
        }
        let node = &mut self.devices[device];
        if node.events.drain(..).any(|e| matches!(e, Event::Stored(..)))
            && let Some(pushed) = self.pushed[device].take()
        {
            self.took_us.push(self.now - pushed);
        }
        let next = node.next_timeout_us();
        let before = std::mem::replace(&mut self.armed[device], next);
        if before != next {
            self.timers.remove(&(before, device));
            if next != u64::MAX {
                self.timers.insert((next, device));
            }
        }
    }

    fn gateway_sends(&mut self) {
        while let Some(envelope) = self.gateway.endpoint.peek_transmit(at(self.now)) {
            let mut bytes = vec![0; usize::from(envelope.len)];
            assert!(self.gateway.endpoint.seal_transmit(at(self.now), &envelope, &mut bytes));
            self.send(envelope.peer.at(), false, bytes);
        }
    }

    fn send(&mut self, device: usize, up: bool, bytes: Vec<u8>) {
        self.order += 1;
        let arrives = self.now + self.delay_us;
        self.wire.push(Reverse((if up { self.awake(arrives) } else { arrives }, self.order, device, up, bytes)));
    }
}
