//! Many devices, one gateway.

use super::{Node, PEER, at};
use std::collections::VecDeque;
use tallylink_core::*;

/// Devices, their gateway, and what is on its way: (arrival, device, to the gateway, bytes).
pub(crate) struct Fleet {
    pub(crate) now: u64,
    pub(crate) devices: Vec<Node>,
    pub(crate) gateway: Node,
    pub(crate) wire: VecDeque<(u64, usize, bool, Vec<u8>)>,
    pub(crate) delay_us: u64,
}

impl Fleet {
    /// `devices` devices, each with one stream and place for a second, and a gateway with `links` links.
    pub(crate) fn new(config: &Config, devices: usize, links: usize, ring: usize) -> Self {
        let config = Config { max_peers: devices.next_power_of_two() as u32, ..config.clone() };
        let gateway =
            Node::new(config.clone(), End::Gateway, "10.0.0.1:2000", [devices, links, 2 * devices, 1 << 22], 0);
        let devices = (0..devices as u32).map(|n| {
            let address = format!("10.0.{}.{}:1000", 1 + n / 200, 1 + n % 200);
            let mut node = Node::new(config.clone(), End::Device, &address, [1, 1, 2, 2 * ring], n);
            let name = Name::new("s").unwrap();
            node.endpoint.open(at(0), OutIx(0), PEER, name, EpochSource::FirstSession, 0, 0..ring as u32).unwrap();
            node.endpoint.connect(at(0), PEER, Path::to(gateway.address)).unwrap();
            node
        });
        Self { now: 0, devices: devices.collect(), gateway, wire: VecDeque::new(), delay_us: 500 }
    }

    pub(crate) fn push(&mut self, device: usize, record: &[u8]) -> Result<u64, PushError> {
        self.devices[device].endpoint.push(at(self.now), OutIx(0), record)
    }

    /// The gateway gets a stream to each device, with `ring` bytes for it.
    pub(crate) fn give_gateway_streams(&mut self, ring: u32) {
        for n in 0..self.devices.len() as u32 {
            let (ix, peer, name) = (OutIx(n), PeerIx(n), Name::new("down").unwrap());
            let ring = n * ring..(n + 1) * ring;
            self.gateway.endpoint.open(at(self.now), ix, peer, name, EpochSource::FirstSession, 0, ring).unwrap();
        }
    }

    pub(crate) fn run(&mut self, until: u64) {
        loop {
            self.flush();
            let arrival = self.wire.iter().map(|w| w.0).min().unwrap_or(u64::MAX);
            let timers = self.devices.iter().chain([&self.gateway]).map(Node::next_timeout_us).min();
            let next = arrival.min(timers.unwrap_or(u64::MAX));
            if next > until {
                self.now = until;
                return;
            }
            self.now = self.now.max(next);
            for node in self.devices.iter_mut().chain([&mut self.gateway]) {
                if node.next_timeout_us() <= self.now {
                    node.endpoint.handle_timeout(at(self.now));
                }
            }
            self.arrive();
        }
    }

    fn arrive(&mut self) {
        let arrived = self.wire.iter().filter(|w| w.0 <= self.now).count();
        for _ in 0..arrived {
            let i = self.wire.iter().position(|w| w.0 <= self.now).unwrap();
            let (_, device, up, mut bytes) = self.wire.remove(i).unwrap();
            let from = if up { self.devices[device].address } else { self.gateway.address };
            let node = if up { &mut self.gateway } else { &mut self.devices[device] };
            if let Ok(Handled::Reply(len)) = node.take(self.now, from, &mut bytes) {
                bytes.truncate(len);
                self.wire.push_back((self.now + self.delay_us, device, !up, bytes));
            }
        }
    }

    fn flush(&mut self) {
        for (i, node) in self.devices.iter_mut().enumerate() {
            for (_, bytes) in node.transmit(self.now) {
                self.wire.push_back((self.now + self.delay_us, i, true, bytes));
            }
        }
        for (to, bytes) in self.gateway.transmit(self.now) {
            let device = self.devices.iter().position(|d| d.address == to).expect("a device lives there");
            self.wire.push_back((self.now + self.delay_us, device, false, bytes));
        }
    }
}
