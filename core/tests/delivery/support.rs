//! Two endpoints on a wire that the test holds in its hands.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use tallylink_core::crypto::{Crypto, Psk, Soft};
use tallylink_core::wire::Open;
use tallylink_core::*;

type Key = <Soft as Crypto>::Key;

/// The arrays of a test's endpoint.
pub(crate) struct Arrays {
    pub(crate) peers: Vec<Peer>,
    links: Vec<Link<Key>>,
    pub(crate) inbound: Vec<InStream>,
    pub(crate) outbound: Vec<OutStream>,
    sent: Vec<Sent>,
    windows: Vec<u64>,
    ring: Vec<u8>,
    held: Vec<Held>,
    slots: Vec<u8>,
    timers: Vec<LinkIx>,
}

impl Arrays {
    fn new(config: &Config, ring: usize) -> Self {
        let links = 2;
        let many = |n: usize| n;
        Self {
            peers: (0..many(2)).map(|_| Peer::default()).collect(),
            links: (0..links).map(|_| Link::default()).collect(),
            inbound: (0..many(8)).map(|_| InStream::default()).collect(),
            outbound: (0..many(8)).map(|_| OutStream::default()).collect(),
            sent: vec![Sent::default(); links * config.in_flight as usize],
            windows: vec![0; links * (config.ack_window / 64) as usize],
            ring: vec![0; ring * 8],
            held: vec![Held::default(); usize::from(config.held)],
            slots: vec![0; usize::from(config.held) * usize::from(config.max_datagram)],
            timers: vec![LinkIx(0); links],
        }
    }
}

impl Storage<Key> for Arrays {
    fn parts(&mut self) -> Parts<'_, Key> {
        Parts {
            peers: &mut self.peers,
            links: &mut self.links,
            inbound: &mut self.inbound,
            outbound: &mut self.outbound,
            sent: &mut self.sent,
            windows: &mut self.windows,
            ring: &mut self.ring,
            held: &mut self.held,
            slots: &mut self.slots,
            timers: &mut self.timers,
        }
    }

    fn find(&self, id: PeerId) -> Option<PeerIx> {
        self.peers.iter().position(|p| p.in_use() && p.id() == id).map(|i| PeerIx(i as u32))
    }
}

/// What a receiving end has been given, by stream name.
#[derive(Default)]
pub(crate) struct Inbox {
    names: HashMap<String, InIx>,
    pub(crate) streams: Vec<Received>,
    /// How many more batches fit.
    pub(crate) room: Option<usize>,
}

#[derive(Default)]
pub(crate) struct Received {
    pub(crate) name: String,
    pub(crate) epoch: Epoch,
    pub(crate) first: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) next: Position,
    pub(crate) gaps: Vec<(u64, u64, u8)>,
}

impl Received {
    /// The whole records so far.
    pub(crate) fn records(&self) -> Vec<Vec<u8>> {
        let mut rest = &self.bytes[..];
        let mut records = vec![];
        while let Ok((size, length)) = wire::varint::decode(rest) {
            let end = length + size as usize;
            if rest.len() < end {
                break;
            }
            records.push(rest[length..end].to_vec());
            rest = &rest[end..];
        }
        records
    }
}

impl Deliver for Inbox {
    fn open(&mut self, _: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        let fresh = InIx(self.names.len() as u32);
        let ix = *self.names.entry(open.name.to_string()).or_insert(fresh);
        if ix == fresh {
            self.streams.push(Received {
                name: open.name.into(),
                epoch: open.epoch,
                first: open.first,
                ..Default::default()
            });
        }
        let s = &mut self.streams[ix.0 as usize];
        s.epoch = open.epoch;
        Ok(Accept { stream: ix, stored_below: s.next.number, next: s.next.number })
    }

    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        if let Some(room) = &mut self.room {
            *room = room.checked_sub(1).ok_or(Full)?;
        }
        let s = &mut self.streams[batch.stream.0 as usize];
        assert_eq!(batch.from, s.next, "delivery continues the stream");
        s.bytes.extend_from_slice(batch.bytes);
        s.next = batch.to;
        Ok(())
    }

    fn gap(&mut self, stream: InIx, _: Epoch, from: u64, below: u64, reason: u8) -> Result<(), Full> {
        let s = &mut self.streams[stream.0 as usize];
        s.gaps.push((from, below, reason));
        s.next = Position { number: below, offset: 0 };
        Ok(())
    }
}

pub(crate) struct Node {
    pub(crate) endpoint: Endpoint<Soft, Arrays>,
    pub(crate) inbox: Inbox,
    pub(crate) address: SocketAddr,
    pub(crate) events: Vec<Event>,
    /// Tell the core at once that what was delivered is stored.
    pub(crate) storing: bool,
}

/// A device end, a gateway end, and what is on its way between them.
pub(crate) struct Pair {
    pub(crate) now: u64,
    pub(crate) device: Node,
    pub(crate) gateway: Node,
    /// (arrival, to the gateway, bytes)
    pub(crate) wire: VecDeque<(u64, bool, Vec<u8>)>,
    pub(crate) delay_us: u64,
    /// Returns true for a datagram that is lost.
    pub(crate) lose: Box<dyn FnMut(bool, &[u8]) -> bool>,
    pub(crate) sent: [usize; 2],
}

pub(crate) const PEER: PeerIx = PeerIx(0);

impl Pair {
    pub(crate) fn new(config: Config, ring: usize) -> Self {
        let node = |end, seed: u8, address: &str| {
            let arrays = Arrays::new(&config, ring);
            let mut endpoint = Endpoint::new(config.clone(), Soft, arrays, BootSeed::entropy([seed; 16])).unwrap();
            let psk = Psk::from_bytes([7; 16]);
            endpoint.add_peer(PEER, Provision::new(PeerId([9; 8]), end, KeyId(1), psk)).unwrap();
            Node { endpoint, inbox: Inbox::default(), address: address.parse().unwrap(), events: vec![], storing: true }
        };
        let mut pair = Self {
            now: 0,
            device: node(End::Device, 1, "127.0.0.1:1000"),
            gateway: node(End::Gateway, 2, "127.0.0.1:2000"),
            wire: VecDeque::new(),
            delay_us: 100,
            lose: Box::new(|_, _| false),
            sent: [0; 2],
        };
        let to = Path::to(pair.gateway.address);
        pair.device.endpoint.connect(Instant::from_micros(0), PEER, to).unwrap();
        pair
    }

    pub(crate) fn open(&mut self, at: u32, name: &str, ring: u32) -> OutIx {
        let ix = OutIx(at);
        let name = Name::new(name).unwrap();
        let ring = at * ring..(at + 1) * ring;
        self.device
            .endpoint
            .open(Instant::from_micros(self.now), ix, PEER, name, EpochSource::FirstSession, 0, ring)
            .unwrap();
        ix
    }

    pub(crate) fn push(&mut self, stream: OutIx, record: &[u8]) -> Result<u64, PushError> {
        self.device.endpoint.push(Instant::from_micros(self.now), stream, record)
    }

    /// Sends what there is to send, and delivers what arrives, until `until` or until nothing is left to do.
    pub(crate) fn run(&mut self, until: u64) {
        let mut steps = 0;
        loop {
            self.flush();
            let timers =
                [&self.device, &self.gateway].map(|n| n.endpoint.next_timeout().map_or(u64::MAX, |t| t.as_micros()));
            let arrival = self.wire.iter().map(|w| w.0).min().unwrap_or(u64::MAX);
            let next = arrival.min(timers[0]).min(timers[1]);
            if next > until {
                self.now = until.max(self.now);
                return;
            }
            self.now = self.now.max(next);
            steps += 1;
            assert!(steps < 3_000_000, "the pair spins at {} us", self.now);
            let now = Instant::from_micros(self.now);
            if timers[0] <= self.now {
                self.device.endpoint.handle_timeout(now);
            }
            if timers[1] <= self.now {
                self.gateway.endpoint.handle_timeout(now);
            }
            self.arrive();
        }
    }

    fn arrive(&mut self) {
        let now = Instant::from_micros(self.now);
        while let Some(i) = self.wire.iter().position(|w| w.0 <= self.now) {
            let (_, up, mut bytes) = self.wire.remove(i).unwrap();
            let (to, from) =
                if up { (&mut self.gateway, self.device.address) } else { (&mut self.device, self.gateway.address) };
            if let Ok(Handled::Reply(len)) =
                to.endpoint.handle_datagram(now, &Path::to(from), &mut bytes, &mut to.inbox)
            {
                self.wire.push_back((self.now + self.delay_us, !up, bytes[..len].to_vec()));
            }
            if to.storing {
                for (i, s) in to.inbox.streams.iter().enumerate() {
                    to.endpoint.stored(now, InIx(i as u32), s.epoch, s.next.number);
                }
            }
        }
    }

    pub(crate) fn flush(&mut self) {
        let now = Instant::from_micros(self.now);
        for up in [true, false] {
            let node = if up { &mut self.device } else { &mut self.gateway };
            while let Some(envelope) = node.endpoint.peek_transmit(now) {
                let mut bytes = vec![0; usize::from(envelope.len)];
                assert!(node.endpoint.seal_transmit(now, &envelope, &mut bytes));
                self.sent[usize::from(!up)] += 1;
                if !(self.lose)(up, &bytes) {
                    self.wire.push_back((self.now + self.delay_us, up, bytes));
                }
            }
            while let Some(event) = node.endpoint.next_event() {
                node.events.push(event);
            }
        }
    }
}
