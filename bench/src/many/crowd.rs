//! The slow senders: one thread, one socket, a session for each.
use std::{
    net::{Ipv4Addr, SocketAddr},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use tallylink_core::{
    Accept, Batch, Config, Deliver, End, Epoch, EpochSource, Event, Full, InIx, Name, Open, OutIx, PeerIx, Provision,
    Refusal,
};
use tallylink_linux::{Application, Network, Settings};

use super::Provided;
use crate::clock;

/// Each pushes a record so often.
const PERIOD: Duration = Duration::from_secs(1);
const RECORD: [u8; 61] = [b'x'; 61];
/// Bytes of a sender's ring: a few records.
const RING: u32 = 1_024;
/// All of them must have stored their first record by then.
const GATHERED_WITHIN: Duration = Duration::from_secs(120);

pub(super) struct Crowd {
    network: Network<Stopwatch>,
    streams: Vec<OutIx>,
    /// Whose turn it is, and since when the crowd pushes.
    turn: u64,
    begun: Instant,
}

/// What was seen for a while.
pub(super) struct Seen {
    /// From push to STORED, ascending.
    pub(super) milliseconds: Vec<f64>,
    /// Turns at which a sender's record before was not stored yet.
    pub(super) missed: u64,
    pub(super) sessions_ended: u64,
}

/// Takes the time of what is under way, by stream.
#[derive(Default)]
struct Stopwatch {
    pushed: Vec<Option<Instant>>,
    milliseconds: Vec<f64>,
    sessions_ended: u64,
}

impl Crowd {
    /// Opens a session for each and waits until each has stored one record.
    pub(super) fn gather(keys: &[Provided], gateway: SocketAddr) -> Result<Self> {
        let peers = u32::try_from(keys.len())?;
        let base = Settings::sender();
        let config = Config {
            max_peers: peers.next_power_of_two().max(8),
            ack_window: 64,
            in_flight: 8,
            first_credit: 2_048,
            ..base.config
        };
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let settings = Settings { config, links: peers, listen, ..base };
        let mut network = Network::new(&settings, Stopwatch::default())?;
        let mut streams = Vec::new();
        for key in keys {
            let peer = network.add_peer(Provision::new(key.id, End::Device, Provided::key_id(), key.psk()))?;
            network.connect(peer, gateway)?;
            let name = Name::new("slow").context("a name")?;
            streams.push(network.open(peer, name, EpochSource::FirstSession, 0, RING)?);
        }
        network.application_mut().pushed.resize(streams.len(), None);
        let mut crowd = Self { network, streams, turn: 0, begun: clock::wall() };
        let begun = clock::wall();
        let mut stored = 0;
        while stored < crowd.streams.len() {
            ensure!(begun.elapsed() < GATHERED_WITHIN, "after {GATHERED_WITHIN:?}, {stored} senders have a session");
            crowd.go(PERIOD)?;
            let has_stored = |at: &&OutIx| crowd.network.stream(**at).is_some_and(|stream| stream.stored_below() > 0);
            stored = crowd.streams.iter().filter(has_stored).count();
        }
        Ok(crowd)
    }

    /// Goes on for so long, and tells what was seen.
    pub(super) fn watch(&mut self, lasts: Duration) -> Result<Seen> {
        let watch = self.network.application_mut();
        watch.milliseconds.clear();
        watch.sessions_ended = 0;
        let missed = self.go(lasts)?;
        let watch = self.network.application_mut();
        let mut milliseconds = std::mem::take(&mut watch.milliseconds);
        milliseconds.sort_by(f64::total_cmp);
        ensure!(!milliseconds.is_empty(), "nothing was stored for {lasts:?}");
        Ok(Seen { milliseconds, missed, sessions_ended: watch.sessions_ended })
    }

    /// Everyone pushes when it is their turn. Returns how many could not.
    fn go(&mut self, lasts: Duration) -> Result<u64> {
        let until = self.begun.elapsed() + lasts;
        let gap = PERIOD / u32::try_from(self.streams.len())?;
        let mut missed = 0;
        loop {
            let now = self.begun.elapsed();
            if now >= until {
                return Ok(missed);
            }
            while gap.mul_f64(self.turn as f64) <= now {
                let at = (self.turn % self.streams.len() as u64) as usize;
                missed += u64::from(!self.push(self.streams[at])?);
                self.turn += 1;
            }
            if !self.network.turn() {
                self.network.wait(Some(gap.max(Duration::from_millis(1))), || true)?;
            }
        }
    }

    /// Returns false when the record before is not stored yet.
    fn push(&mut self, stream: OutIx) -> Result<bool> {
        let place = &mut self.network.application_mut().pushed[stream.0 as usize];
        if place.is_some() {
            return Ok(false);
        }
        *place = Some(clock::wall());
        self.network.push(stream, &RECORD)?;
        Ok(true)
    }
}

impl Application for Stopwatch {
    fn streams(&self) -> u32 {
        0
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Stored(stream, _) => {
                let pushed = self.pushed.get_mut(stream.0 as usize).and_then(Option::take);
                self.milliseconds.extend(pushed.map(|pushed| pushed.elapsed().as_secs_f64() * 1e3));
            }
            Event::Ended(..) => self.sessions_ended += 1,
            _ => {}
        }
    }
}

/// Nothing is sent to the crowd.
impl Deliver for Stopwatch {
    fn open(&mut self, _: PeerIx, _: &Open<'_>) -> Result<Accept, Refusal> {
        Err(Refusal::Name)
    }

    fn records(&mut self, _: Batch<'_>) -> Result<(), Full> {
        Err(Full)
    }

    fn gap(&mut self, _: InIx, _: Epoch, _: u64, _: u64, _: u8) -> Result<(), Full> {
        Err(Full)
    }
}
