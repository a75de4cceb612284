//! Flows through one slow link with a queue that drops what does not fit, in virtual time: real endpoints, and a model of TCP to
//! compete with.

use super::tcp::{Receiver, SEGMENT, Sender};
use super::{Node, Numbers, PEER, at};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tallylink_core::*;

/// IPv4 and UDP headers.
const HEADERS: u64 = 28;
const RING: u32 = 1 << 22;
const RECORD: usize = 4000;
/// The receiver's disk takes this long.
const DISK_US: u64 = 5_000;

/// The path that all flows share on their way up; on the way down there is only the delay.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    /// Bits per second.
    pub(crate) rate: u64,
    /// One way.
    pub(crate) delay_us: u64,
    /// Each way may be so much shorter or longer.
    pub(crate) jitter_us: u64,
    /// Round trips of data that fit into the queue.
    pub(crate) queue: u64,
}

enum What {
    Datagram(bool, Vec<u8>),
    Segment(u64),
    Ack(Vec<u64>),
}

struct Arrival {
    flow: usize,
    what: What,
}

enum Ends {
    Tallylink(Box<Node>, Box<Node>),
    Tcp(Sender, Receiver),
}

struct Flow {
    ends: Ends,
    begins: u64,
    begun: bool,
    /// Nothing that goes down overtakes.
    last_down: u64,
}

impl Flow {
    /// When it must be looked at again, or begins.
    fn timeout(&self) -> u64 {
        match &self.ends {
            _ if !self.begun => self.begins,
            Ends::Tallylink(device, gateway) => device.next_timeout_us().min(gateway.next_timeout_us()),
            Ends::Tcp(sender, receiver) => sender.timeout().min(receiver.timeout()),
        }
    }
}

/// The link, the flows, and what is on its way.
pub(crate) struct Bottleneck {
    pub(crate) now: u64,
    route: Route,
    flows: Vec<Flow>,
    arrivals: BinaryHeap<Reverse<(u64, usize)>>,
    on_the_way: Vec<Option<Arrival>>,
    free: Vec<usize>,
    numbers: Numbers,
    /// When the last byte of the queue has left.
    busy_until_ns: u64,
    /// Bytes that the link has carried or has in its queue.
    next_store: u64,
    pub(crate) passed: u64,
}

impl Bottleneck {
    /// `ours` flows of Tallylink, then `tcp` of TCP's; each begins a little later than the one before.
    pub(crate) fn new(route: Route, ours: usize, tcp: usize, seed: u64) -> Self {
        let tallylink = |n: usize| {
            let sizes = [1, 1, 1, RING as usize];
            let mut device = Node::new(Config::default(), End::Device, "127.0.0.1:1000", sizes, n as u32);
            let mut gateway = Node::new(Config::default(), End::Gateway, "127.0.0.1:2000", sizes, n as u32);
            (gateway.inbox.forgets, gateway.storing) = (true, false);
            let name = Name::new("s").unwrap();
            device.endpoint.open(at(0), OutIx(0), PEER, name, EpochSource::FirstSession, 0, 0..RING).unwrap();
            device.endpoint.connect(at(0), PEER, Path::to(gateway.address)).unwrap();
            Ends::Tallylink(Box::new(device), Box::new(gateway))
        };
        let ends = (0..ours).map(tallylink).chain((0..tcp).map(|_| Ends::Tcp(Sender::new(), Receiver::default())));
        let flow = |(n, ends)| {
            // TCP's handshake takes a round trip, too.
            let handshake = if n < ours { 0 } else { 2 * route.delay_us };
            Flow { ends, begins: 10_000 * n as u64 + handshake, begun: false, last_down: 0 }
        };
        Self {
            now: 0,
            route,
            flows: ends.enumerate().map(flow).collect(),
            arrivals: BinaryHeap::new(),
            on_the_way: vec![],
            free: vec![],
            numbers: Numbers(seed),
            busy_until_ns: 0,
            next_store: DISK_US,
            passed: 0,
        }
    }

    /// Bytes of data that each flow has brought to the other end.
    pub(crate) fn taken(&self) -> Vec<u64> {
        let taken = |flow: &Flow| match &flow.ends {
            Ends::Tallylink(_, gateway) => gateway.inbox.taken,
            Ends::Tcp(_, receiver) => receiver.taken,
        };
        self.flows.iter().map(taken).collect()
    }

    /// The sums of an end of ours.
    pub(crate) fn totals(&self, flow: usize) -> Totals {
        match &self.flows[flow].ends {
            Ends::Tallylink(device, _) => *device.endpoint.totals(),
            Ends::Tcp(..) => Totals::default(),
        }
    }

    /// Lets time pass.
    pub(crate) fn run(&mut self, until: u64) {
        while self.now < until {
            let arrival = self.arrivals.peek().map_or(u64::MAX, |Reverse((when, _))| *when);
            let timers = self.flows.iter().map(|flow| flow.timeout()).min().unwrap_or(u64::MAX);
            let next = arrival.min(timers).min(self.next_store);
            self.now = self.now.max(next.min(until));
            if self.next_store <= self.now {
                self.next_store = self.now + DISK_US;
                for n in 0..self.flows.len() {
                    if let Ends::Tallylink(_, gateway) = &mut self.flows[n].ends {
                        gateway.store(self.now);
                    }
                    self.flush(n);
                }
            }
            for n in 0..self.flows.len() {
                self.time_out(n);
            }
            while let Some(Reverse((_, slot))) = self.arrivals.peek().copied().filter(|Reverse(a)| a.0 <= self.now) {
                self.arrivals.pop();
                self.free.push(slot);
                let Arrival { flow, what } = self.on_the_way[slot].take().unwrap();
                self.arrive(flow, what);
                self.flush(flow);
            }
        }
    }

    fn time_out(&mut self, n: usize) {
        let now = self.now;
        if self.flows[n].timeout() > now {
            return;
        }
        let flow = &mut self.flows[n];
        let ack = match &mut flow.ends {
            Ends::Tallylink(device, gateway) => {
                for node in [device, gateway] {
                    if node.next_timeout_us() <= now {
                        node.endpoint.handle_timeout(at(now));
                    }
                }
                None
            }
            Ends::Tcp(sender, receiver) => {
                if sender.timeout() <= now {
                    sender.time_out(now);
                }
                (receiver.timeout() <= now).then(|| receiver.time_out())
            }
        };
        if let Some(ack) = ack {
            self.down(n, What::Ack(ack));
        }
        self.flush(n);
    }

    fn arrive(&mut self, n: usize, what: What) {
        let (now, mut down) = (self.now, None);
        match (&mut self.flows[n].ends, what) {
            (Ends::Tallylink(device, gateway), What::Datagram(up, mut bytes)) => {
                let (node, from) = if up { (gateway, device.address) } else { (device, gateway.address) };
                if let Ok(Handled::Reply(len)) = node.take(now, from, &mut bytes) {
                    bytes.truncate(len);
                    down = Some(What::Datagram(!up, bytes));
                }
            }
            (Ends::Tcp(_, receiver), What::Segment(number)) => down = receiver.take(now, number).map(What::Ack),
            (Ends::Tcp(sender, _), What::Ack(numbers)) => sender.acknowledge(now, &numbers),
            _ => unreachable!("each kind of flow gets its own"),
        }
        if let Some(what) = down {
            self.down(n, what);
        }
    }

    /// Whatever may leave leaves.
    fn flush(&mut self, n: usize) {
        let now = self.now;
        if self.flows[n].begins > now {
            return;
        }
        self.flows[n].begun = true;
        match &mut self.flows[n].ends {
            Ends::Tallylink(device, gateway) => {
                while device.endpoint.push(at(now), OutIx(0), &[0x55; RECORD]).is_ok() {}
                let (up, down) = (device.transmit(now), gateway.transmit(now));
                for (_, bytes) in up {
                    self.up(n, bytes.len() as u64 + HEADERS, What::Datagram(true, bytes));
                }
                for (_, bytes) in down {
                    self.down(n, What::Datagram(false, bytes));
                }
            }
            Ends::Tcp(..) => {
                while let Ends::Tcp(sender, _) = &mut self.flows[n].ends
                    && let Some(number) = sender.send(now)
                {
                    self.up(n, SEGMENT, What::Segment(number));
                }
            }
        }
    }

    fn up(&mut self, flow: usize, size: u64, what: What) {
        let round_trip_ns = 2_000 * self.route.delay_us;
        let takes_ns = size * 8_000_000_000 / self.route.rate;
        let begins_ns = self.busy_until_ns.max(1_000 * self.now);
        if begins_ns + takes_ns - 1_000 * self.now > self.route.queue * round_trip_ns {
            return;
        }
        self.busy_until_ns = begins_ns + takes_ns;
        self.passed += size;
        let when = self.busy_until_ns / 1_000 + self.delay();
        self.put(when, Arrival { flow, what });
    }

    fn down(&mut self, flow: usize, what: What) {
        // Nobody's clock is so even that two flows keep step for ever.
        let mut when = self.now + self.delay() + self.numbers.below(200);
        if self.route.jitter_us == 0 {
            when = when.max(self.flows[flow].last_down);
            self.flows[flow].last_down = when;
        }
        self.put(when, Arrival { flow, what });
    }

    fn delay(&mut self) -> u64 {
        let Route { delay_us, jitter_us, .. } = self.route;
        delay_us - jitter_us + self.numbers.below(2 * jitter_us + 1)
    }

    fn put(&mut self, when: u64, arrival: Arrival) {
        let slot = self.free.pop().unwrap_or(self.on_the_way.len());
        if slot == self.on_the_way.len() {
            self.on_the_way.push(None);
        }
        self.on_the_way[slot] = Some(arrival);
        self.arrivals.push(Reverse((when, slot)));
    }
}
