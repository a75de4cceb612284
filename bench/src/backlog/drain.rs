//! The CPU of draining, over loopback.
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tallylink_core::{
    Accept, Batch, Config, Deliver, End, Epoch, EpochSource, Full, InIx, KeyId, Name, Open, PeerId, PeerIx, Provision,
    Refusal,
    crypto::{Psk, Suite, Suites},
    wire::varint,
};
use tallylink_linux::{Application, Network, SendsOnly, Settings, Stored};

use super::{RECORD, ring_bytes};
use crate::{
    transport::watch::Patience,
    workload::{Packed, Workload},
};

/// Bytes that are out and not confirmed, at the most: a few times what the path holds.
const CREDIT: u64 = 3 << 20;
/// Records before anything is counted: the session is there, and the window open.
const WARM_UP: u64 = 50_000;

/// What draining took.
pub(crate) struct Drained {
    /// As the clock tells.
    pub(crate) spent: Duration,
    pub(crate) records: u64,
    /// Datagrams from the sender to the receiver, those before it was counted among them.
    pub(crate) packets: u64,
}

/// Drains `drained` records from `queued`, and reads `clock` before and after.
pub(crate) fn run(queued: u64, drained: u64, seed: u64, clock: fn() -> Duration) -> Result<Drained> {
    let settings = |base: Settings| {
        let config = Config { suites: Suites::from(Suite::Aes128Gcm), max_credit: CREDIT, ..base.config };
        Settings { config, listen: ([127, 0, 0, 1], 0).into(), ..base }
    };
    let provision = |end| Provision::new(PeerId(*b"measured"), end, KeyId(0), Psk::from_bytes([7; 16]));
    let mut receiver = Network::new(&settings(Settings::receiver()), Sink::default())?;
    receiver.add_peer(provision(End::Gateway))?;
    let mut sender = Network::new(&settings(Settings::sender()), SendsOnly)?;
    let peer = sender.add_peer(provision(End::Device))?;
    sender.connect(peer, receiver.local_addr()?)?;
    let name = Name::new("measured").context("a name")?;
    let stream = sender.open(peer, name, EpochSource::FirstSession, 0, ring_bytes())?;

    let workload = Workload::new(seed, RECORD);
    let mut packed = Packed::new(&workload, varint::encode(RECORD as u64).ok().context("a size")?.as_slice());
    let mut pushed = 0;
    while pushed < queued + WARM_UP {
        let (count, batch) = packed.batch(&workload, pushed, queued + WARM_UP - pushed);
        ensure!(sender.push_batch(stream, batch)?.records == count, "the ring has less room than it should");
        pushed += count;
    }
    let mut drain_to = |until: u64| {
        let mut patience = Patience::new();
        loop {
            let (sends, receives) = (sender.turn(), receiver.turn());
            let stored = sender.stream(stream).map_or(0, |stream| stream.stored_below());
            if stored >= until {
                return Ok::<_, anyhow::Error>(stored);
            }
            if !sends && !receives {
                patience.check(stored)?;
                sender.wait(Some(Duration::from_millis(1)), || true)?;
                receiver.wait(Some(Duration::ZERO), || true)?;
            }
        }
    };
    let from = drain_to(WARM_UP)?;
    let before = clock();
    let to = drain_to((from + drained).min(queued + WARM_UP))?;
    let spent = clock().saturating_sub(before);
    Ok(Drained { spent, records: to - from, packets: sender.counters().datagrams_sent })
}

/// Takes every record.
#[derive(Default)]
struct Sink {
    epoch: Epoch,
    next: u64,
    told: u64,
}

impl Deliver for Sink {
    fn open(&mut self, _: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        self.epoch = open.epoch;
        Ok(Accept { stream: InIx(0), stored_below: self.told, next: self.next })
    }

    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        self.next = batch.to.number;
        Ok(())
    }

    fn gap(&mut self, _: InIx, _: Epoch, _: u64, _: u64, _: u8) -> Result<(), Full> {
        Err(Full)
    }
}

impl Application for Sink {
    fn streams(&self) -> u32 {
        1
    }

    fn stored(&mut self) -> Option<Stored> {
        let news = self.told < self.next;
        self.told = self.next;
        news.then_some(Stored { stream: InIx(0), epoch: self.epoch, below: self.told })
    }
}
