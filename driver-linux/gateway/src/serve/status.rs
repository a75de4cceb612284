//! Answering `tallylink status` on a socket in the data directory.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tallylink_core::{Counters, Discard, Fault, Peer, Totals};
use tallylink_linux::{Network, Remote, network::Gone};
use tracing::warn;

use super::bridge::{Bridge, JournalNow};
use super::ingest::Ingest;
use crate::config::Config;
use crate::status::{Disk, PeerNow, Queue, Report, Socket};
use crate::{Error, clock};

/// How many peers are looked at on the network thread at a time.
const PEERS_A_CALL: usize = 4096;
/// How long one asker may take to read the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The socket and what does not change.
#[derive(Debug)]
pub(super) struct Server {
    listener: UnixListener,
    path: PathBuf,
    data: PathBuf,
    listening: SocketAddr,
    bridge: Arc<Bridge>,
    began: Instant,
}

impl Server {
    /// Binds the socket. The journal is locked by now: a socket that is there is nobody's.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn bind(config: &Config, listening: SocketAddr, bridge: Arc<Bridge>) -> Result<Self, Error> {
        let path = config.status_socket_path();
        let bound = match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => UnixListener::bind(&path),
        };
        let owners = |listener| fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map(|()| listener);
        let listener = bound.and_then(owners).map_err(|error| Error::Status { socket: path.clone(), error })?;
        Ok(Self { listener, path, data: config.data_dir(), listening, bridge, began: clock::monotonic() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Answers, one asker after the other, until the network is gone.
    pub(super) fn run(self, remote: &Remote<Ingest>) {
        for asker in self.listener.incoming() {
            let answered = asker.and_then(|asker| match self.report(remote) {
                Ok(report) => answer(asker, &report),
                Err(Gone) => Ok(()),
            });
            if let Err(why) = answered {
                warn!("status was asked for, but could not be told: {why}");
            }
        }
    }

    fn report(&self, remote: &Remote<Ingest>) -> Result<Report, Gone> {
        let (listen, bridge) = (self.listening, Arc::clone(&self.bridge));
        let (counters, socket, queue, unstored, peers_provisioned, works) = remote.call(move |network| {
            let ingest = network.application();
            let (waiting, capacity, _) = ingest.queue();
            let queue = Queue { waiting_bytes: waiting as u64, capacity_bytes: capacity as u64 };
            let mut unstored = HashMap::<[u8; 8], u64>::new();
            for (peer, records) in ingest.streams().unstored() {
                *unstored.entry(peer).or_default() += records;
            }
            let provisioned = network.endpoint().storage().peers().iter().filter(|peer| peer.in_use()).count();
            let works = !ingest.is_closed();
            (counters(network, bridge.journal()), socket(network, listen), queue, unstored, provisioned as u64, works)
        })?;
        let disk = Disk {
            journal_bytes: self.bridge.journal().segment_bytes,
            free_bytes: rustix::fs::statvfs(&self.data).ok().map(|fs| fs.f_bavail.saturating_mul(fs.f_frsize)),
            works,
        };
        Ok(Report {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            up_seconds: self.began.elapsed().as_secs(),
            data: self.data.clone(),
            counters,
            sockets: vec![socket],
            queue,
            disk,
            peers: heard(remote, &unstored)?,
            peers_provisioned,
        })
    }
}

fn answer(mut asker: UnixStream, report: &Report) -> io::Result<()> {
    asker.set_write_timeout(Some(PATIENCE))?;
    asker.write_all(&serde_json::to_vec(report)?)
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

/// The peers that have been heard.
fn heard(remote: &Remote<Ingest>, unstored: &HashMap<[u8; 8], u64>) -> Result<Vec<PeerNow>, Gone> {
    let mut heard = Vec::new();
    let mut from = 0;
    loop {
        let (some, more) = remote.call(move |network| {
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

type Counts = BTreeMap<String, u64>;

fn counters(network: &Network<Ingest>, journal: JournalNow) -> BTreeMap<String, Counts> {
    let named = |counts: &[(&str, u64)]| counts.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    let core: &Counters = network.endpoint().counters();
    let Totals {
        packets_sent,
        bytes_sent,
        packets_lost,
        losses_spurious,
        chunks_repeated,
        probes,
        hellos_sent,
        packets_received,
        bytes_received,
        chunks_held,
        sessions,
        records_pushed,
        records_delivered,
    } = *network.endpoint().totals();
    let stats = journal.stats;
    let (_, _, refused_full) = network.application().queue();
    let rollbacks = network.application().streams().rollbacks();
    BTreeMap::from([
        (
            "discarded".to_owned(),
            Discard::ALL.iter().map(|why| (why.name().to_owned(), core.discarded(*why))).collect(),
        ),
        ("faults".to_owned(), Fault::ALL.iter().map(|why| (why.name().to_owned(), core.faults(*why))).collect()),
        (
            "rollbacks".to_owned(),
            named(&[
                ("journal_older", rollbacks.journal_older),
                ("outbox_differs", rollbacks.outbox_differs),
                ("first_ahead", rollbacks.first_ahead),
            ]),
        ),
        ("socket".to_owned(), network.counters().each().map(|(name, n)| (name.to_owned(), n)).collect()),
        (
            "protocol".to_owned(),
            named(&[
                ("packets_sent", packets_sent),
                ("bytes_sent", bytes_sent),
                ("packets_lost", packets_lost),
                ("losses_spurious", losses_spurious),
                ("chunks_repeated", chunks_repeated),
                ("probes", probes),
                ("hellos_sent", hellos_sent),
                ("packets_received", packets_received),
                ("bytes_received", bytes_received),
                ("chunks_held", chunks_held),
                ("sessions", sessions),
                ("records_pushed", records_pushed),
                ("records_delivered", records_delivered),
                ("queue_full", refused_full),
            ]),
        ),
        (
            "journal".to_owned(),
            named(&[
                ("appended_bytes", stats.appended_bytes),
                ("appended_records", stats.appended_records),
                ("written_bytes", stats.written_bytes),
                ("writes", stats.writes),
                ("commits", stats.commits),
                ("segments", stats.segments),
                ("checkpoints", stats.checkpoints),
                ("deleted_segments", stats.deleted_segments),
                ("publish_failures", stats.publish_failures),
                ("failures", journal.failures),
            ]),
        ),
    ])
}
