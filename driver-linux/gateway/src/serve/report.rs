//! What the gateway tells of itself, for `status` and for HTTP.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::Thread;
use std::time::{Duration, Instant};

use tallylink_core::Peer;
use tallylink_linux::{Network, Remote};

use super::bridge::Bridge;
use super::counters::counters;
use super::ingest::Ingest;
use crate::clock;
use crate::config::Config;
use crate::status::{Disk, PeerNow, Queue, Report, Socket, Trouble};

/// How many peers are looked at on the network thread at a time.
const PEERS_A_CALL: usize = 4096;
/// How long the network thread may take to answer.
const ANSWER: Duration = Duration::from_secs(1);
/// How long the writer may take to look at its disk, before what it found last is told.
const LOOK: Duration = Duration::from_millis(200);
/// A call of the disk that has not returned after this is a trouble.
const STUCK: Duration = Duration::from_secs(2);

/// Asks the other threads how they are. None of them waits for it.
pub(super) struct Reporter {
    data: PathBuf,
    listening: SocketAddr,
    bridge: Arc<Bridge>,
    remote: Remote<Ingest>,
    writer: Thread,
    began: Instant,
}

/// The network thread did not answer in time.
#[derive(Debug, thiserror::Error)]
#[error("the network thread does not answer")]
pub(super) struct NoAnswer;

impl Reporter {
    pub(super) fn new(
        config: &Config,
        listening: SocketAddr,
        bridge: Arc<Bridge>,
        remote: Remote<Ingest>,
        writer: Thread,
    ) -> Self {
        Self { data: config.data_dir(), listening, bridge, remote, writer, began: clock::monotonic() }
    }

    /// Whether the network thread goes round.
    pub(super) fn alive(&self) -> Result<(), NoAnswer> {
        self.ask(|_| ())
    }

    /// What is wrong, after the writer had a chance to look at its disk.
    pub(super) fn troubles(&self) -> Vec<Trouble> {
        self.bridge.look(|| self.writer.unpark(), LOOK);
        let mut troubles = self.bridge.health.troubles();
        if let Some((call, took)) = self.bridge.pulse.running().filter(|(_, took)| *took >= STUCK) {
            let began = clock::unix_seconds().saturating_sub(took.as_secs());
            troubles.insert(
                0,
                stops(
                    "disk",
                    began,
                    format!(
                        "to {} {} has taken {} s so far, and nothing is stored meanwhile",
                        call.action,
                        call.file.display(),
                        took.as_secs()
                    ),
                    "look what else the disk is doing, and for it in the kernel's messages (dmesg)",
                ),
            );
        }
        if self.alive().is_err() {
            let what = NoAnswer.to_string();
            troubles.insert(
                0,
                stops("network", clock::unix_seconds(), what, "if that goes on, restart the gateway and report it"),
            );
        }
        if self.bridge.stopped() {
            troubles.insert(0, stops("gateway", clock::unix_seconds(), "it is stopping".to_owned(), "start it again"));
        }
        troubles
    }

    /// Everything but the peers one by one.
    pub(super) fn overview(&self) -> Result<Report, NoAnswer> {
        self.overview_and_unstored().map(|(report, _)| report)
    }

    /// Everything.
    pub(super) fn report(&self) -> Result<Report, NoAnswer> {
        let (report, unstored) = self.overview_and_unstored()?;
        Ok(Report { peers: self.heard(&unstored)?, ..report })
    }

    fn overview_and_unstored(&self) -> Result<(Report, HashMap<[u8; 8], u64>), NoAnswer> {
        let troubles = self.troubles();
        let (listen, journal, past) = (self.listening, self.bridge.journal(), self.bridge.pulse.past());
        let (counters, socket, queue, unstored, peers_provisioned, works) = self.ask(move |network| {
            let ingest = network.application();
            let (waiting, capacity, _) = ingest.queue();
            let queue = Queue { waiting_bytes: waiting as u64, capacity_bytes: capacity as u64 };
            let mut unstored = HashMap::<[u8; 8], u64>::new();
            for (peer, records) in ingest.streams().unstored() {
                *unstored.entry(peer).or_default() += records;
            }
            let provisioned = network.peers();
            let works = !ingest.is_closed();
            (counters(network, journal, past), socket(network, listen), queue, unstored, provisioned as u64, works)
        })?;
        let disk = Disk {
            journal_bytes: journal.segment_bytes,
            free_bytes: rustix::fs::statvfs(&self.data).ok().map(|fs| fs.f_bavail.saturating_mul(fs.f_frsize)),
            works,
            longest_call_us: u64::try_from(past.longest.as_micros()).unwrap_or(u64::MAX),
        };
        let report = Report {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            up_seconds: self.began.elapsed().as_secs(),
            data: self.data.clone(),
            ready: !troubles.iter().any(|trouble| trouble.stops),
            troubles,
            counters,
            sockets: vec![socket],
            queue,
            disk,
            peers: Vec::new(),
            peers_provisioned,
            downlink: Vec::new(),
        };
        Ok((report, unstored))
    }

    /// The peers that have been heard.
    fn heard(&self, unstored: &HashMap<[u8; 8], u64>) -> Result<Vec<PeerNow>, NoAnswer> {
        let mut heard = Vec::new();
        let mut from = 0;
        loop {
            let (some, more) = self.ask(move |network| {
                let (peers, now) = (network.endpoint().storage().peers(), network.now());
                let part = peers.get(from..).unwrap_or_default();
                let told = part.iter().take(PEERS_A_CALL).filter(|peer| peer.in_use() && peer.heard().as_micros() > 0);
                let some: Vec<_> = told.map(|peer| (peer.id().0, now_of(peer, now))).collect();
                (some, part.len() > PEERS_A_CALL)
            })?;
            heard.extend(
                some.into_iter()
                    .map(|(id, peer)| PeerNow { unstored_records: unstored.get(&id).copied().unwrap_or(0), ..peer }),
            );
            if !more {
                return Ok(heard);
            }
            from += PEERS_A_CALL;
        }
    }

    /// Has the network thread answer, which it does between two turns.
    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Network<Ingest>) -> T + Send + 'static,
    ) -> Result<T, NoAnswer> {
        let (tell, told) = sync_channel(1);
        let asked = self.remote.run(move |network| {
            // Whoever asked may have given up by now.
            let _ = tell.send(question(network));
        });
        asked.map_err(|_| NoAnswer)?;
        told.recv_timeout(ANSWER).map_err(|_| NoAnswer)
    }
}

fn stops(subject: &str, since: u64, what: String, remedy: &str) -> Trouble {
    Trouble { subject: subject.to_owned(), since: clock::rfc3339(since), what, remedy: remedy.to_owned(), stops: true }
}

fn socket(network: &Network<Ingest>, listen: SocketAddr) -> Socket {
    let buffers = network.buffers();
    Socket {
        listen,
        receive_buffer_asked: buffers.receive_asked as u64,
        receive_buffer: buffers.receive as u64,
        send_buffer_asked: buffers.send_asked as u64,
        send_buffer: buffers.send as u64,
        kernel_drops: network.kernel_drops(),
    }
}

fn now_of(peer: &Peer, now: tallylink_core::Instant) -> PeerNow {
    let session = peer.has_session();
    PeerNow {
        peer: peer.id().to_string(),
        name: None,
        address: session.then(|| peer.path().remote),
        session,
        suite: peer.suite().filter(|_| session).map(|suite| suite.to_string()),
        last_heard_us: now.since(peer.heard()).as_micros(),
        round_trip_us: peer.rtt().as_micros(),
        unstored_records: 0,
    }
}
