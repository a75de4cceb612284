//! F24: packets of one key are counted; the device renews in time, and nothing is sealed beyond the limit.

#![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test")]

use super::Endpoint;
use crate::crypto::{Psk, Soft, SoftKey, Suite, Suites};
use crate::wire::{DataHeader, Open, number};
use crate::{
    Accept, Batch, BootSeed, Config, Deliver, Discard, Ecn, End, Epoch, EpochSource, Fault, Fixed, Full, Handled, InIx,
    Instant, KeyId, Name, OutIx, Path, PeerId, PeerIx, Provision, Refusal, Storage,
};
use std::vec;
use std::vec::Vec;

type Arrays = Fixed<SoftKey, 1, 2, 2, 8, 8192, 2, 1200, 1>;

const PEER: PeerIx = PeerIx(0);
const STREAM: OutIx = OutIx(0);

/// Counts records; each is stored when it arrives.
#[derive(Default)]
struct Inbox {
    epoch: Epoch,
    next: u64,
}

impl Deliver for Inbox {
    fn open(&mut self, _: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        self.epoch = open.epoch;
        Ok(Accept { stream: InIx(0), stored_below: self.next, next: self.next })
    }

    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        self.next = batch.to.number;
        Ok(())
    }

    fn gap(&mut self, _: InIx, _: Epoch, _: u64, _: u64, _: u8) -> Result<(), Full> {
        Ok(())
    }
}

struct Side {
    endpoint: Endpoint<Soft, Arrays>,
    inbox: Inbox,
}

struct World {
    now: Instant,
    device: Side,
    gateway: Side,
    /// HELLOs are lost.
    no_hello: bool,
    /// The largest number of a DATA packet that the device sent in its first session.
    largest: u64,
}

impl World {
    fn new() -> Self {
        let config = Config { suites: Suites::NONE.with(Suite::Aes128GcmSiv), max_peers: 1, ..Config::small() };
        let side = |end, seed| {
            let mut endpoint =
                Endpoint::new(config.clone(), Soft, Arrays::new(), BootSeed::entropy([seed; 16])).expect("it fits");
            let provision = Provision::new(PeerId([1; 8]), end, KeyId(1), Psk::from_bytes([7; 16]));
            endpoint.add_peer(PEER, provision).expect("an empty slot");
            Side { endpoint, inbox: Inbox::default() }
        };
        let (device, gateway) = (side(End::Device, 1), side(End::Gateway, 2));
        let mut world = Self { now: Instant::from_micros(0), device, gateway, no_hello: false, largest: 0 };
        let path = Path::to("127.0.0.1:2".parse().expect("an address"));
        world.device.endpoint.connect(world.now, PEER, path).expect("a device");
        let name = Name::new("s").expect("a name");
        let opened = world.device.endpoint.open(world.now, STREAM, PEER, name, EpochSource::FirstSession, 0, 0..8192);
        opened.expect("an empty slot");
        world
    }

    /// Passes datagrams on until nobody has one.
    fn settle(&mut self) {
        for _ in 0..200 {
            let up = transmit(&mut self.device, self.now);
            let down = transmit(&mut self.gateway, self.now);
            if up.is_empty() && down.is_empty() {
                return;
            }
            for mut packet in up {
                self.note(&packet);
                if packet[..2] == [0, 1] && self.no_hello {
                    continue;
                }
                if let Some(answer) = take(&mut self.gateway, self.now, &mut packet) {
                    take(&mut self.device, self.now, &mut packet[..answer]);
                }
            }
            for mut packet in down {
                take(&mut self.device, self.now, &mut packet);
            }
        }
    }

    fn note(&mut self, packet: &[u8]) {
        if let Ok(header) = DataHeader::parse(packet) {
            let number = number::expand(self.largest, header.truncated, header.number_len);
            self.largest = self.largest.max(number.expect("a number"));
        }
    }

    /// Pushes one record and lets everything happen that it causes.
    fn push(&mut self) {
        self.device.endpoint.push(self.now, STREAM, &[0x55; 20]).expect("there is room");
        self.pass(200_000);
    }

    fn pass(&mut self, us: u64) {
        let until = Instant::from_micros(self.now.as_micros() + us);
        loop {
            self.settle();
            let timers = [&self.device, &self.gateway].map(|s| s.endpoint.next_timeout().unwrap_or(Instant::NEVER));
            let next = timers[0].min(timers[1]).max(self.now);
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
            self.device.endpoint.handle_timeout(next);
            self.gateway.endpoint.handle_timeout(next);
        }
    }

    /// The session has sent as many packets upwards as `next` says, as far as either end can tell.
    fn pretend_sent_up(&mut self, next: u64) {
        pretend(&mut self.device, &mut self.gateway, next);
        self.largest = next;
    }
}

fn pretend(sender: &mut Side, receiver: &mut Side, next: u64) {
    let parts = sender.endpoint.storage_mut().parts();
    parts.peers[0].session.tx_next = next;
    parts.links[0].recovery.oldest_unacked = next;
    let parts = receiver.endpoint.storage_mut().parts();
    parts.links[0].window = crate::window::Window::restore(next, u64::MAX, parts.windows);
    parts.links[0].ack.changed.clear();
}

fn transmit(side: &mut Side, now: Instant) -> Vec<Vec<u8>> {
    let mut packets = vec![];
    while let Some(envelope) = side.endpoint.peek_transmit(now) {
        let mut packet = vec![0; usize::from(envelope.len)];
        assert!(side.endpoint.seal_transmit(now, &envelope, &mut packet));
        packets.push(packet);
    }
    packets
}

fn take(side: &mut Side, now: Instant, packet: &mut [u8]) -> Option<usize> {
    let path = Path::to("127.0.0.1:1".parse().expect("an address"));
    let handled = side.endpoint.handle_datagram(now, &path, Ecn::NotEct, packet, &mut side.inbox);
    side.endpoint.stored(now, InIx(0), side.inbox.epoch, side.inbox.next);
    match handled {
        Ok(Handled::Reply(len)) => Some(len),
        _ => None,
    }
}

fn limits(world: &mut World) -> (u64, u64) {
    let config = world.device.endpoint.config().clone();
    let session = &world.device.endpoint.storage_mut().parts().peers[0].session;
    (session.soft_packet_limit(&config), session.packet_limit(&config))
}

#[test]
fn f24_the_device_renews_a_session_that_nears_its_limit() {
    let mut world = World::new();
    world.push();
    let (soft, hard) = limits(&mut world);
    assert_eq!((soft, hard), ((1 << 36) - (1 << 33), 1 << 36));
    world.pretend_sent_up(soft - 5);
    for _ in 0..10 {
        world.push();
    }
    assert_eq!(world.gateway.endpoint.totals().sessions, 2);
    let next = world.device.endpoint.storage_mut().parts().peers[0].session.tx_next;
    assert!(next < 100, "the new session counts from 0, and is at {next}");
    assert_eq!(world.gateway.inbox.next, 11);
}

/// The gateway's packets are counted by the device, which alone can renew.
#[test]
fn f24_the_device_renews_when_the_gateways_direction_nears_its_limit() {
    let mut world = World::new();
    world.push();
    let (soft, _) = limits(&mut world);
    pretend(&mut world.gateway, &mut world.device, soft - 5);
    for _ in 0..12 {
        world.push();
    }
    assert_eq!(world.gateway.endpoint.totals().sessions, 2);
    assert_eq!(world.gateway.inbox.next, 13);
}

#[test]
fn f24_without_a_new_session_sending_stops_at_the_limit() {
    let mut world = World::new();
    world.push();
    let (_, hard) = limits(&mut world);
    world.pretend_sent_up(hard - 5);
    world.no_hello = true;
    for _ in 0..20 {
        world.push();
    }
    assert!(world.largest < hard);
    assert!(world.gateway.inbox.next < 21);
    world.pass(100_000_000);
    assert_eq!(world.device.endpoint.counters().faults(Fault::NumbersUsedUp), 1);
    world.no_hello = false;
    world.pass(100_000_000);
    assert_eq!(world.gateway.inbox.next, 21, "nothing is lost");
}

/// Only what is authentic counts: packets that claim numbers beyond the limit do not renew the session, and end none.
#[test]
fn f24_forged_packets_force_neither_limit() {
    let mut world = World::new();
    world.push();
    let (soft, _) = limits(&mut world);
    world.pretend_sent_up(soft - 100);
    world.device.endpoint.push(world.now, STREAM, &[0x55; 20]).expect("there is room");
    let sealed = transmit(&mut world.device, world.now).pop().expect("a packet");
    let header = DataHeader::parse(&sealed).expect("a packet of the session");
    for number in soft..soft + 100 {
        let (mut forged, bytes) = (sealed.clone(), number.to_be_bytes());
        forged[header.len() - header.number_len..header.len()].copy_from_slice(&bytes[8 - header.number_len..]);
        assert_eq!(take(&mut world.gateway, world.now, &mut forged), None);
    }
    for _ in 0..10 {
        world.push();
    }
    assert_eq!(world.gateway.endpoint.counters().discarded(Discard::Forged), 100);
    assert_eq!(world.gateway.endpoint.totals().sessions, 1);
    assert_eq!(world.gateway.inbox.next, 12, "what was lost came again");
}
