//! A device end and a gateway end.

use super::{Node, PEER, at};
use std::collections::VecDeque;
use std::net::SocketAddr;
use tallylink_core::*;

/// What is on its way.
pub(crate) struct Datagram {
    pub(crate) arrival: u64,
    /// To the gateway.
    pub(crate) up: bool,
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) ecn: Ecn,
    pub(crate) bytes: Vec<u8>,
}

/// Says of a datagram, to the gateway or from it, whether it is lost.
type Lose = Box<dyn FnMut(bool, &[u8]) -> bool>;

/// A device end, a gateway end, and what is on its way between them.
pub(crate) struct Pair {
    pub(crate) now: u64,
    pub(crate) device: Node,
    pub(crate) gateway: Node,
    pub(crate) wire: VecDeque<Datagram>,
    pub(crate) delay_us: u64,
    /// What each datagram takes longer.
    pub(crate) jitter: Box<dyn FnMut() -> u64>,
    pub(crate) lose: Lose,
    /// What becomes of the mark of a datagram, to the gateway or from it.
    pub(crate) mark: Box<dyn FnMut(bool, Ecn) -> Ecn>,
    /// What arrives marked is dropped.
    pub(crate) drop_marked: bool,
    pub(crate) sent: [usize; 2],
    /// Copies of all that was sent, if wanted.
    pub(crate) capture: Option<Vec<(bool, Vec<u8>)>>,
    /// What the gateway sent to where the device is not.
    pub(crate) strays: Vec<(SocketAddr, Vec<u8>)>,
}

impl Pair {
    pub(crate) fn new(config: Config, ring: usize) -> Self {
        Self::of(config.clone(), config, ring)
    }

    /// A pair with different limits; `ring` bytes for each of eight streams.
    pub(crate) fn of(device: Config, gateway: Config, ring: usize) -> Self {
        Self::with_streams(device, gateway, 8, ring)
    }

    pub(crate) fn with_streams(device: Config, gateway: Config, streams: usize, ring: usize) -> Self {
        let sizes = [1, 1, streams, ring * streams];
        let mut pair = Self {
            now: 0,
            device: Node::new(device, End::Device, "127.0.0.1:1000", sizes, 0),
            gateway: Node::new(gateway, End::Gateway, "127.0.0.1:2000", sizes, 0),
            wire: VecDeque::new(),
            delay_us: 100,
            jitter: Box::new(|| 0),
            lose: Box::new(|_, _| false),
            mark: Box::new(|_, ecn| ecn),
            drop_marked: false,
            sent: [0; 2],
            capture: None,
            strays: vec![],
        };
        pair.connect();
        pair
    }

    pub(crate) fn connect(&mut self) {
        let to = Path::to(self.gateway.address);
        self.device.endpoint.connect(at(self.now), PEER, to).unwrap();
    }

    /// The device starts anew, without storage.
    pub(crate) fn restart_device(&mut self) {
        self.device.restart();
        self.connect();
    }

    /// Loses everything from now on, or nothing.
    pub(crate) fn cut(&mut self, cut: bool) {
        self.lose = Box::new(move |_, _| cut);
    }

    pub(crate) fn open(&mut self, at: u32, name: &str, ring: u32) -> OutIx {
        self.open_as(at, name, ring, EpochSource::FirstSession, 0)
    }

    pub(crate) fn open_as(&mut self, ix: u32, name: &str, ring: u32, source: EpochSource, first: u64) -> OutIx {
        let name = Name::new(name).unwrap();
        let ring = ix * ring..(ix + 1) * ring;
        self.device.endpoint.open(at(self.now), OutIx(ix), PEER, name, source, first, ring).unwrap();
        OutIx(ix)
    }

    pub(crate) fn push(&mut self, stream: OutIx, record: &[u8]) -> Result<u64, PushError> {
        self.device.endpoint.push(at(self.now), stream, record)
    }

    /// Sends what there is to send, and delivers what arrives, until `until` or until nothing is left to do.
    pub(crate) fn run(&mut self, until: u64) {
        self.run_while(until, |_| true);
    }

    /// As [`Pair::run`], but no longer than `more` says. Returns whether it stopped for that.
    pub(crate) fn run_while(&mut self, until: u64, more: impl Fn(&Self) -> bool) -> bool {
        let mut steps = 0;
        loop {
            self.flush();
            if !more(self) {
                return true;
            }
            let timers = [self.device.next_timeout_us(), self.gateway.next_timeout_us()];
            let arrival = self.wire.iter().map(|w| w.arrival).min().unwrap_or(u64::MAX);
            let next = arrival.min(timers[0]).min(timers[1]);
            if next > until {
                self.now = until.max(self.now);
                return false;
            }
            self.now = self.now.max(next);
            steps += 1;
            assert!(steps < 3_000_000, "the pair spins at {} us", self.now);
            if timers[0] <= self.now {
                self.device.endpoint.handle_timeout(at(self.now));
            }
            if timers[1] <= self.now {
                self.gateway.endpoint.handle_timeout(at(self.now));
            }
            self.arrive();
        }
    }

    /// Runs until the gateway has `count` records of the first stream on disk and the device knows it.
    pub(crate) fn run_until_stored(&mut self, count: u64, within_us: u64) {
        let until = self.now + within_us;
        let done = self.run_while(until, |p| p.device.outbound(0).stored_below() < count);
        assert!(done, "stored {} of {count} after {within_us} us", self.device.outbound(0).stored_below());
    }

    fn arrive(&mut self) {
        while let Some(i) = self.wire.iter().position(|w| w.arrival <= self.now) {
            let Datagram { up, from, to, ecn, mut bytes, .. } = self.wire.remove(i).unwrap();
            let node = if up { &mut self.gateway } else { &mut self.device };
            if node.address != to {
                self.strays.push((to, bytes));
                continue;
            }
            if let Ok(Handled::Reply(len)) = node.take_marked(self.now, from, ecn, &mut bytes) {
                bytes.truncate(len);
                self.send(!up, to, from, Ecn::NotEct, bytes);
            }
        }
    }

    fn send(&mut self, up: bool, from: SocketAddr, to: SocketAddr, ecn: Ecn, bytes: Vec<u8>) {
        if let Some(all) = &mut self.capture {
            all.push((up, bytes.clone()));
        }
        if !(self.lose)(up, &bytes) {
            let arrival = self.now + self.delay_us + (self.jitter)();
            let ecn = (self.mark)(up, ecn);
            if self.drop_marked && ecn != Ecn::NotEct {
                return;
            }
            self.wire.push_back(Datagram { arrival, up, from, to, ecn, bytes });
        }
    }

    pub(crate) fn flush(&mut self) {
        for up in [true, false] {
            let node = if up { &mut self.device } else { &mut self.gateway };
            let from = node.address;
            for (to, ecn, bytes) in node.transmit_marked(self.now) {
                self.sent[usize::from(!up)] += 1;
                self.send(up, from, to, ecn, bytes);
            }
        }
    }
}
