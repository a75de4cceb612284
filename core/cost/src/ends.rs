//! Two endpoints that hand each other their datagrams.

use crate::plain::{NoKey, Plain};
use std::net::SocketAddr;
use tallylink_core::crypto::Psk;
use tallylink_core::wire::{Open, varint};
use tallylink_core::{
    Accept, Batch, BootSeed, Config, Deliver, Ecn, End, Endpoint, Epoch, EpochSource, Fixed, Full, Handled, InIx,
    Instant, KeyId, Name, OutIx, OutStream, Path, PeerId, PeerIx, Provision, Refusal, Storage,
};

/// Bytes that are out and not STORED, at the most.
pub(crate) const RING: usize = 1 << 20;
const IN_FLIGHT: usize = 1024;
const HELD: usize = 64;
const DATAGRAM: usize = 1452;
const WORDS: usize = 64;

/// The time from one turn to the next.
const STEP_US: u64 = 100;
/// Datagrams that leave one end before the other has its turn: what one send call takes.
const AT_ONCE: usize = 45;
/// Turns without a record STORED, after which something is broken.
const PATIENCE: u32 = 100_000;

const PEER: PeerIx = PeerIx(0);
const STREAM: OutIx = OutIx(0);

type Arrays = Fixed<NoKey, 1, 1, 1, IN_FLIGHT, RING, HELD, DATAGRAM, WORDS>;
type Node = Endpoint<Plain, Arrays>;

/// Both ends, and the time that they live in.
pub(crate) struct Pair {
    device: Node,
    gateway: Node,
    inbox: Inbox,
    now: u64,
    idle: u32,
    datagram: [u8; DATAGRAM],
}

/// Takes every record.
struct Inbox {
    epoch: Epoch,
    next: u64,
    stored: u64,
}

impl Pair {
    pub(crate) fn new() -> Self {
        let (mut device, gateway) = (node(End::Device), node(End::Gateway));
        let now = Instant::from_micros(1);
        let name = Name::new("cost").expect("a name has 1 to 64 bytes");
        device.open(now, STREAM, PEER, name, EpochSource::FirstSession, 0, 0..RING as u32).expect("a free stream");
        device.connect(now, PEER, Path::to(address(End::Gateway))).expect("a known peer");
        let inbox = Inbox { epoch: Epoch::default(), next: 0, stored: 0 };
        Self { device, gateway, inbox, now: 1, idle: 0, datagram: [0; DATAGRAM] }
    }

    /// Bytes that can be pushed.
    pub(crate) fn room(&mut self) -> usize {
        self.out().map_or(0, |s| s.room() as usize)
    }

    fn out(&mut self) -> Option<&OutStream> {
        self.device.storage_mut().parts().outbound.first().map(|s| s as &OutStream)
    }

    pub(crate) fn push(&mut self, record: &[u8]) {
        self.device.push(Instant::from_micros(self.now), STREAM, record).expect("there is room");
    }

    pub(crate) fn push_batch(&mut self, packed: &[u8]) {
        let pushed = self.device.push_batch(Instant::from_micros(self.now), STREAM, packed).expect("there is room");
        assert_eq!(pushed.bytes, packed.len(), "there is room for all");
    }

    /// Records that the device knows to be STORED.
    pub(crate) fn stored(&mut self) -> u64 {
        self.out().map_or(0, OutStream::stored_below)
    }

    /// Datagrams that the device sent.
    pub(crate) fn packets(&self) -> u64 {
        self.device.totals().packets_sent
    }

    /// Both ends send what they may, and time passes.
    pub(crate) fn turn(&mut self) {
        let before = self.stored();
        let now = Instant::from_micros(self.now);
        for node in [&mut self.device, &mut self.gateway] {
            if node.next_timeout().is_some_and(|due| due <= now) {
                node.handle_timeout(now);
            }
        }
        carry(&mut self.device, &mut self.gateway, now, End::Device, &mut self.inbox, &mut self.datagram);
        if self.inbox.stored < self.inbox.next {
            self.inbox.stored = self.inbox.next;
            self.gateway.stored(now, InIx(0), self.inbox.epoch, self.inbox.next);
        }
        carry(&mut self.gateway, &mut self.device, now, End::Gateway, &mut self.inbox, &mut self.datagram);
        for node in [&mut self.device, &mut self.gateway] {
            while node.next_event().is_some() {}
        }
        self.now += STEP_US;
        self.idle = if self.stored() > before { 0 } else { self.idle + 1 };
        assert!(self.idle < PATIENCE, "stuck: {:?}", self.device.totals());
    }
}

/// What `from` sends arrives at `to`.
fn carry(from: &mut Node, to: &mut Node, now: Instant, end: End, inbox: &mut Inbox, buffer: &mut [u8; DATAGRAM]) {
    let path = Path::to(address(end));
    for _ in 0..AT_ONCE {
        let Some(envelope) = from.peek_transmit(now) else { return };
        let datagram = &mut buffer[..usize::from(envelope.len)];
        if !from.seal_transmit(now, &envelope, datagram) {
            return;
        }
        if let Ok(Handled::Reply(len)) = to.handle_datagram(now, &path, Ecn::NotEct, datagram, inbox) {
            let answer = &mut datagram[..len];
            let _ = from.handle_datagram(now, &envelope.path, Ecn::NotEct, answer, inbox);
        }
    }
}

fn node(end: End) -> Node {
    let config = Config {
        max_datagram: DATAGRAM as u16,
        initial_datagram: DATAGRAM as u16,
        ack_window: 64 * WORDS as u32,
        in_flight: IN_FLIGHT as u32,
        held: HELD as u16,
        max_peers: 1,
        ..Config::default()
    };
    let mut node = Endpoint::new(config, Plain, Fixed::new(), BootSeed::entropy([end as u8 + 1; 16]))
        .expect("the configuration fits the arrays");
    let provision = Provision::new(PeerId(*b"counting"), end, KeyId(0), Psk::from_bytes([7; 16]));
    node.add_peer(PEER, provision).expect("a free place");
    node
}

fn address(end: End) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], if end == End::Device { 1000 } else { 2000 }))
}

/// One record of `size` bytes as it is pushed in a batch.
pub(crate) fn packed(size: usize) -> Vec<u8> {
    let prefix = varint::encode(size as u64).expect("a record's size");
    [prefix.as_slice(), &vec![0x55; size]].concat()
}

impl Deliver for Inbox {
    fn open(&mut self, _: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        self.epoch = open.epoch;
        Ok(Accept { stream: InIx(0), stored_below: 0, next: 0 })
    }

    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        self.next = batch.to.number;
        Ok(())
    }

    fn gap(&mut self, _: InIx, _: Epoch, _: u64, below: u64, _: u8) -> Result<(), Full> {
        self.next = below;
        Ok(())
    }
}
