//! A sender that pushes a record now and then, and notes when it is confirmed.
use std::{
    net::{Ipv4Addr, SocketAddr},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use tallylink_core::{
    Accept, Batch, Deliver, Epoch, EpochSource, Event, Full, InIx, Name, Open, OutIx, PeerIx, Refusal,
};
use tallylink_linux::{Application, Network, Settings, application::SendsOnly};

use crate::{clock, many::Provided, workload::SplitMix64};

const RECORD: [u8; 61] = [b'x'; 61];
/// Between two records, on average.
const PERIOD: Duration = Duration::from_millis(2);
/// Without any news for so long it hangs.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Pulse {
    network: Network<Ear>,
    stream: OutIx,
    random: SplitMix64,
    /// Records ever pushed.
    next: u64,
}

/// Milliseconds from push to each confirmation, ascending.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) received: Vec<f64>,
    pub(crate) stored: Vec<f64>,
    pub(crate) sessions_ended: u64,
}

impl Pulse {
    pub(crate) fn start(key: &Provided, gateway: SocketAddr, seed: u64) -> Result<Self> {
        let settings = Settings { listen: (Ipv4Addr::LOCALHOST, 0).into(), ..Settings::sender() };
        let mut network = Network::new(&settings, Ear::default())?;
        let peer = network.add_peer(key.device())?;
        network.connect(peer, gateway)?;
        let name = Name::new("pulse").context("a name")?;
        let stream = network.open(peer, name, EpochSource::FirstSession, 0, 1 << 20)?;
        Ok(Self { network, stream, random: SplitMix64(seed), next: 0 })
    }

    /// Pushes so many records, and returns when the last is STORED.
    pub(crate) fn beat(&mut self, records: u64) -> Result<Seen> {
        let (first, end) = (self.next, self.next + records);
        let mut pushed: Vec<Instant> = Vec::with_capacity(records as usize);
        let (mut seen, mut due, mut news) = (Seen::default(), clock::wall(), clock::wall());
        self.network.application_mut().ended = 0;
        while (seen.stored.len() as u64) < records {
            let now = clock::wall();
            if self.next < end && due <= now {
                self.network.push(self.stream, &RECORD)?;
                pushed.push(now);
                self.next += 1;
                due = now + PERIOD.mul_f64((self.random.next() >> 11) as f64 / (1_u64 << 52) as f64);
            }
            let more = self.network.turn();
            let now = clock::wall();
            let Ear { received, stored, .. } = *self.network.application();
            let stored = self.network.stream(self.stream).map_or(stored, |stream| stream.stored_below());
            for (below, list) in [(received.max(stored), &mut seen.received), (stored, &mut seen.stored)] {
                while (list.len() as u64) < below.saturating_sub(first) {
                    list.push(now.saturating_duration_since(pushed[list.len()]).as_secs_f64() * 1e3);
                    news = now;
                }
            }
            ensure!(now.saturating_duration_since(news) < PATIENCE, "nothing was confirmed for {PATIENCE:?}");
            if !more {
                let left = if self.next < end { due.saturating_duration_since(now) } else { PERIOD };
                self.network.wait(Some(left), || true)?;
            }
        }
        seen.sessions_ended = self.network.application().ended;
        seen.received.sort_by(f64::total_cmp);
        seen.stored.sort_by(f64::total_cmp);
        Ok(seen)
    }
}

/// Hears what is confirmed, and receives nothing.
#[derive(Default)]
struct Ear {
    nothing: SendsOnly,
    received: u64,
    stored: u64,
    ended: u64,
}

impl Deliver for Ear {
    fn open(&mut self, peer: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        self.nothing.open(peer, open)
    }

    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        self.nothing.records(batch)
    }

    fn gap(&mut self, stream: InIx, epoch: Epoch, from: u64, below: u64, reason: u8) -> Result<(), Full> {
        self.nothing.gap(stream, epoch, from, below, reason)
    }
}

impl Application for Ear {
    fn streams(&self) -> u32 {
        0
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Received(_, below) => self.received = self.received.max(below),
            Event::Stored(_, below) => self.stored = self.stored.max(below),
            Event::Ended(..) => self.ended += 1,
            _ => {}
        }
    }
}
