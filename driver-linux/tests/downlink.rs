//! Records from a gateway's outbox to a device, each on its own thread, as programs use them.

use std::time::Duration;
use tallylink_core::crypto::Psk;
use tallylink_core::{Duration as Span, End, Epoch, KeyId, Name, PeerId, PeerIx, Provision};
use tallylink_journal::testing::MemStore;
use tallylink_linux::outbox::{Outbox, OutboxOptions, Owner};
use tallylink_linux::sender::feed::{self, Feed, Feeder};
use tallylink_linux::sender::{Downlink, Progress};
use tallylink_linux::{Network, Sender, SendsOnly, Settings};

const ID: PeerId = PeerId(*b"sensor-1");

fn provision(end: End) -> Provision {
    Provision::new(ID, end, KeyId(0), Psk::from_bytes([7; 16]))
}

fn name(name: &str) -> Name {
    Name::new(name).unwrap()
}

/// A gateway that a test drives turn by turn.
struct Gateway {
    network: Network<SendsOnly>,
    peer: PeerIx,
    feeds: Vec<Feed>,
}

impl Gateway {
    fn at(listen: &str) -> Self {
        let settings = Settings { listen: listen.parse().unwrap(), ..Settings::receiver() };
        let mut network = Network::new(&settings, SendsOnly).unwrap();
        let peer = network.add_peer(provision(End::Gateway)).unwrap();
        Self { network, peer, feeds: Vec::new() }
    }

    fn address(&self) -> String {
        self.network.local_addr().unwrap().to_string()
    }

    /// Opens the outbox of a stream and begins to send from it.
    fn feed(&mut self, disk: &MemStore, stream: &str, epoch: u8) -> Feeder {
        let owner = Owner { peer: ID, stream: name(stream) };
        let outbox = Outbox::open(disk.clone(), &owner, Epoch([epoch; 8]), &OutboxOptions::default()).unwrap();
        let remote = self.network.remote();
        let (feeder, offer) = feed::start(outbox, 1 << 16, move || remote.notify()).unwrap();
        self.feeds.push(offer.open(&mut self.network, self.peer, 1 << 16).unwrap());
        feeder
    }

    fn turn(&mut self) {
        for feed in &mut self.feeds {
            feed.pump(&mut self.network);
        }
        let more = self.network.turn();
        for feed in &mut self.feeds {
            feed.confirm(&self.network);
        }
        if !more {
            let feeds = &self.feeds;
            self.network.wait(Some(Duration::from_millis(5)), || feeds.iter().all(Feed::idle)).unwrap();
        }
    }

    fn run_until(&mut self, mut done: impl FnMut() -> bool) {
        for _ in 0..10_000 {
            if done() {
                return;
            }
            self.turn();
        }
        panic!("it never came about");
    }
}

fn device(gateway: &str, streams: &[&str]) -> (Sender, Downlink) {
    let mut settings = Settings::sender();
    settings.config.poll = Some(Span::from_millis(100));
    let streams: Vec<_> = streams.iter().map(|stream| name(stream)).collect();
    Sender::with_downlink(&settings, gateway, provision(End::Device), &streams).unwrap()
}

fn packed(numbers: std::ops::Range<u32>) -> Vec<u8> {
    numbers.flat_map(|n| [&[4][..], &n.to_be_bytes()].concat()).collect()
}

fn drained(progress: &Progress) -> bool {
    progress.waiting() == 0
}

/// What has come, as numbers.
fn take(downlink: &mut Downlink, into: &mut Vec<u32>) {
    downlink.take(Duration::ZERO, |record| into.push(u32::from_be_bytes(record.bytes.try_into().unwrap())));
    downlink.confirm();
}

#[test]
fn a_gateway_that_restarts_from_its_outbox_goes_on_where_the_device_is() {
    let disk = MemStore::new(1);
    let mut gateway = Gateway::at("127.0.0.1:0");
    let address = gateway.address();
    let (_sender, mut downlink) = device(&address, &["orders"]);
    let mut all = Vec::new();
    for round in 0..5u32 {
        let mut feeder = gateway.feed(&disk, "orders", round as u8 + 1);
        assert_eq!(feeder.history(), u64::from(round * 3000));
        feeder.push_batch(&packed(round * 3000..(round + 1) * 3000)).unwrap();
        feeder.flush_durable(Duration::from_secs(10)).unwrap();
        let enough = (round as usize * 3000) + 700;
        gateway.run_until(|| {
            take(&mut downlink, &mut all);
            all.len() >= enough
        });
        // In mid-transfer: what its network knew is gone, and what its disk knows is left.
        drop(gateway);
        drop(feeder);
        gateway = Gateway::at(&address);
    }
    let feeder = gateway.feed(&disk, "orders", 9);
    let progress = feeder.progress();
    gateway.run_until(|| {
        take(&mut downlink, &mut all);
        drained(&progress)
    });
    assert!(all == (0..15_000).collect::<Vec<_>>(), "{} records", all.len());
}

#[test]
fn a_stream_that_the_device_does_not_take_waits_and_a_drained_one_can_be_closed() {
    let disks = [MemStore::new(1), MemStore::new(2)];
    let mut gateway = Gateway::at("127.0.0.1:0");
    let (_sender, mut downlink) = device(&gateway.address(), &["orders"]);
    let mut orders = gateway.feed(&disks[0], "orders", 1);
    let mut others = gateway.feed(&disks[1], "others", 1);
    others.push_batch(&packed(0..10)).unwrap();
    others.flush_durable(Duration::from_secs(10)).unwrap();
    let mut all = Vec::new();
    for round in 0..3u32 {
        orders.push_batch(&packed(round * 10..(round + 1) * 10)).unwrap();
        let progress = orders.progress();
        orders.flush_durable(Duration::from_secs(10)).unwrap();
        gateway.run_until(|| {
            while let Some(taken) = downlink.next(Duration::ZERO) {
                all.push(u32::from_be_bytes(taken.bytes.try_into().unwrap()));
            }
            drained(&progress)
        });
        let at = gateway.feeds[0].stream();
        gateway.network.close(at).unwrap();
        gateway.feeds.remove(0);
        drop(orders);
        orders = gateway.feed(&disks[0], "orders", round as u8 + 2);
        gateway.feeds.rotate_right(1);
    }
    assert_eq!(all, (0..30).collect::<Vec<_>>());
    assert_eq!(others.progress().waiting(), 10);
}
