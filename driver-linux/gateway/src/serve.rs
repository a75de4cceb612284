//! `serve`: the gateway.
//!
//! ```text
//! network thread ── bounded byte queue ──> journal writer
//!       ^   ^                                    │
//!       │   └──────── how far it is stored ──────┘
//!       └──────────── peers, as the key store changes
//! ```
//!
//! A chunk is acknowledged once it is in the queue. When the queue is full the network thread answers so before it
//! acknowledges, and nothing that was acknowledged is dropped. When the journal fails, every session ends, and senders
//! send again what is not stored; `writer` has the states from there until the disk works again.
//!
//! Besides there are a thread that follows the key store, one that takes what waits for devices (`downlink`), one that
//! answers `tallylink status`, and one for HTTP. None of
//! them is waited for: a disk, a key store or an asker that hangs keeps its own thread only.

mod bridge;
mod counters;
mod disk;
mod downlink;
mod health;
mod http;
mod ingest;
mod metrics;
mod peers;
mod queue;
mod report;
mod rollback;
mod status;
mod streams;
mod writer;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};
use tallylink_journal::{Dir, Journal, Options, Recovery, Retention, Store};
use tallylink_linux::{Network, Remote, Settings};
use tracing::{info, warn};

use crate::config::{Bytes, Config, Door, Limit, Suite};
use crate::downlink::Place;
use crate::keystore::KeyStore;
use crate::{Error, Exit, clock, log, peer};
use bridge::Bridge;
use disk::{Absent, Disk};
use downlink::Downlink;
use ingest::Ingest;
use report::Reporter;
use streams::{Most, Streams};
use writer::{Ways, Writer};

/// The arguments of `serve`.
#[derive(Debug, Args)]
pub struct Serve {
    /// Listen on ADDR; goes before the configuration's `listen`
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Answer /readyz, /livez and /metrics on ADDR (TCP), or "off"; goes before the configuration's `http`
    #[arg(long, value_name = "ADDR", value_parser = Door::from_argument)]
    http: Option<Door>,
}

/// Where the queue has no room for the word to go on, it is tried again this much later.
const REOPEN_AGAIN: Duration = Duration::from_millis(1);

/// Runs the gateway until SIGTERM or SIGINT.
///
/// # Errors
/// It cannot start: the address or the data directory are of no use, or in use. Once it runs, nothing ends it but the
/// signals, a journal that was taken away for good, a failing event queue and a bug in this program.
pub fn run(serve: Serve, mut config: Config) -> Result<(), Error> {
    if let Some(listen) = serve.listen {
        config.listen = listen;
    }
    if let Some(http) = serve.http {
        config.http = http;
    }
    log::start(config.log);
    let stop = watch_for_the_first_signal()?;
    make_data_dir(&config.data_dir())?;
    let bridge = Arc::new(Bridge::default());
    let path = config.journal_dir();
    let dir = Dir::create(&path).map_err(|error| Error::DataDir { dir: path, error })?;
    let disk = Disk::new(dir, Arc::clone(&bridge.pulse));
    let watched = disk.clone();
    run_watched(disk, Box::new(move || watched.check()), bridge, &stop, &config)
}

/// Runs the gateway, its journal in any store, until SIGTERM or SIGINT. The data directory must be there; the key store and
/// the status socket are in it.
///
/// # Errors
/// As [`run`].
pub fn run_on<S>(store: S, config: &Config) -> Result<(), Error>
where
    S: Store<File: Send, Lock: Send> + Send + 'static,
{
    log::start(config.log);
    let stop = watch_for_the_first_signal()?;
    run_watched(store, Box::new(|| Ok(())), Arc::default(), &stop, config)
}

/// `check` tells whether the store is where it was.
fn run_watched<S>(
    store: S,
    check: Box<dyn Fn() -> Result<(), Absent> + Send>,
    bridge: Arc<Bridge>,
    stop: &Arc<AtomicBool>,
    config: &Config,
) -> Result<(), Error>
where
    S: Store<File: Send, Lock: Send> + Send + 'static,
{
    let (journal, recovery) = match Journal::open_until(store, options(config)?, stop) {
        Err(tallylink_journal::Error::Stopped) => {
            info!("stopped before the journal was open; the next start begins again");
            return Ok(());
        }
        opened => opened?,
    };
    tell(&recovery, &config.journal_dir());

    let (put, take) = queue::queue(usize::try_from(config.queue.0).unwrap_or(usize::MAX));
    let streams = Streams::of(&journal, most_streams(config));
    let store = KeyStore::in_data_dir(&config.data_dir());
    let more_streams = store.expected_peers().saturating_sub(streams.len() as usize);
    let (send_network, receive_network) = mpsc::channel::<Remote<Ingest>>();
    let writer = {
        let (bridge, interval) = (Arc::clone(&bridge), config.commit_interval.0);
        let checks_age = config.retain_age != Limit::Unlimited;
        spawn("journal", move || {
            // The network thread needs this thread's handle before it can be reached itself.
            if let Ok(remote) = receive_network.recv() {
                let ways = Ways { wake: Box::new(move || remote.notify()), check };
                let mut writer = Writer::new(journal, take, bridge, ways, interval, checks_age);
                writer.reserve_streams(more_streams);
                writer.run();
            }
        })?
    };
    let downlink = Arc::new(downlink::Shared::new().map_err(Error::Network)?);
    let ingest = Ingest::new(streams, put, Arc::clone(&bridge), writer.thread().clone(), Arc::clone(&downlink));
    let mut network = Network::new(&settings(config), ingest)?;
    let remote = network.remote();
    let keys = peers::Keys::provision(store, &mut network, Arc::clone(&bridge))?;
    let _ = send_network.send(remote.clone());
    watch_signals(&bridge, &remote, stop)?;
    let listening = network.local_addr().map_err(Error::Network)?;
    let status = status::Server::bind(config)?;
    let http = http::Server::bind(config.http, listening, &bridge.health)?;
    let reporter =
        Arc::new(Reporter::new(config, listening, Arc::clone(&bridge), remote.clone(), writer.thread().clone()));

    let place = Place::in_data_dir(&config.data_dir());
    let store = KeyStore::in_data_dir(&config.data_dir());
    let downlink = Downlink::new(place, store, remote.clone(), Arc::clone(&bridge), downlink, config.downlink_record.0);
    spawn("downlink", move || downlink.run())?;

    let ready = format!("listening on {listening} for {} peers, data in {}\n", keys.len(), config.data_dir().display());
    let follows = remote.clone();
    spawn("peers", move || keys.follow(&follows))?;
    let socket = status.path().to_owned();
    let reports = Arc::clone(&reporter);
    spawn("status", move || status.run(&reports))?;
    if let Some(http) = http {
        info!("readiness and counters on http://{}", http.address());
        spawn("http", move || http.run(&reporter))?;
    }
    peer::print(&ready)?;

    let ran = turn_until_stopped(&mut network, &bridge, &config.journal_dir());
    info!("stopping");
    // Nobody asks any more; and the writer ends when the queue has no other end.
    let _ = fs::remove_file(socket);
    drop(network);
    writer.thread().unpark();
    let _ = writer.join();
    ran
}

/// The network thread's loop.
fn turn_until_stopped(network: &mut Network<Ingest>, bridge: &Bridge, journal: &Path) -> Result<(), Error> {
    while !bridge.stopped() {
        network.application_mut().begin_turn(clock::unix_micros());
        let moved = downlink::pump(network);
        let more = network.turn();
        network.application_mut().end_turn();
        let ready = downlink::confirm(network);
        if network.application().writer_is_gone() {
            return Err(Error::Network(io::Error::other("the thread that writes the journal has died")));
        }
        if let Some(why) = bridge.lost() {
            return Err(Error::JournalGone { dir: journal.to_owned(), why: why.to_string() });
        }
        if bridge.take_failure() {
            network.end_sessions();
            network.application_mut().close();
            continue;
        }
        let mut at_most = None;
        if network.application().is_closed() && bridge.is_mended() {
            if network.application_mut().reopen() {
                bridge.gone_on();
                continue;
            }
            // The queue is full of what the writer passes over just now.
            at_most = Some(REOPEN_AGAIN);
        }
        if !more && !moved && !ready {
            let feeds = std::mem::take(&mut network.application_mut().feeds);
            let waited = network.wait(at_most, || !bridge.has_news() && feeds.are_idle());
            network.application_mut().feeds = feeds;
            waited.map_err(Error::Network)?;
        }
    }
    Ok(())
}

fn most_streams(config: &Config) -> Most {
    Most { of_peer: u16::try_from(config.peer_streams.0).unwrap_or(u16::MAX), of_all: Options::default().max_streams }
}

/// How the journal is kept.
pub(crate) fn options(config: &Config) -> Result<Options, Error> {
    let mut salt = [0; 8];
    getrandom::fill(&mut salt).map_err(tallylink_linux::StartError::Entropy)?;
    let bytes = |limit: Limit<Bytes>| match limit {
        Limit::At(Bytes(bytes)) => Some(bytes),
        Limit::Unlimited => None,
    };
    Ok(Options {
        salt: u64::from_le_bytes(salt),
        segment_bytes: config.segment.0,
        retention: Retention {
            freed: false,
            max_bytes: bytes(config.retain_bytes),
            max_age_us: match config.retain_age {
                Limit::At(span) => Some(u64::try_from(span.0.as_micros()).unwrap_or(u64::MAX)),
                Limit::Unlimited => None,
            },
        },
        ..Options::default()
    })
}

/// Bytes that the kernel is asked to keep for the socket, at the most.
const MOST_RECEIVE_BUFFER: usize = 64 << 20;

fn settings(config: &Config) -> Settings {
    let mut settings = Settings::receiver();
    settings.listen = config.listen;
    settings.links = config.active_peers.0;
    // One peer at full speed must not fill the socket before its credit ends.
    let credit = usize::try_from(config.credit_max.0).unwrap_or(usize::MAX);
    settings.receive_buffer = credit.clamp(settings.receive_buffer, MOST_RECEIVE_BUFFER);
    let core = &mut settings.config;
    core.max_record = u32::try_from(config.max_record.0).unwrap_or(u32::MAX);
    core.max_credit = config.credit_max.0;
    core.suites = config.suites.0.iter().fold(tallylink_core::crypto::Suites::NONE, |all, suite| {
        all.with(match suite {
            Suite::Aes128GcmSiv => tallylink_core::crypto::Suite::Aes128GcmSiv,
            Suite::Aes128Gcm => tallylink_core::crypto::Suite::Aes128Gcm,
            Suite::ChaCha20Poly1305 => tallylink_core::crypto::Suite::ChaCha20Poly1305,
        })
    });
    settings
}

/// Says what recovery found, if that was anything out of the ordinary.
pub(crate) fn tell(recovery: &Recovery, journal: &Path) {
    let dir = journal.display();
    if recovery.created {
        info!("made a new journal in {dir}");
    }
    if recovery.torn_bytes > 0 {
        info!(
            "cut off {} bytes that were being written when the gateway ended; their senders still have them",
            recovery.torn_bytes
        );
    }
    if recovery.broken_checkpoints > 0 {
        warn!(
            "{} of the two checkpoints in {dir} was damaged, or cut short by a power cut; it is written anew from the rest",
            recovery.broken_checkpoints
        );
    }
    if recovery.damaged_places > 0 || recovery.missing_segments > 0 {
        warn!(
            "the journal in {dir} is damaged in {} places ({} bytes), and {} segments are missing; everything else is used; \
             `tallylink check` tells what is lost",
            recovery.damaged_places, recovery.damaged_bytes, recovery.missing_segments
        );
    }
}

/// Makes the data directory, for its owner only.
pub(crate) fn make_data_dir(dir: &Path) -> Result<(), Error> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|error| Error::DataDir { dir: dir.to_owned(), error })
}

/// The first signal asks the gateway to stop, from its start on; the second does not ask.
pub(crate) fn watch_for_the_first_signal() -> Result<Arc<AtomicBool>, Error> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let exit = i32::from(Exit::Interrupted as u8);
        signal_hook::flag::register_conditional_shutdown(signal, exit, Arc::clone(&stop)).map_err(Error::Network)?;
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(Error::Network)?;
    }
    Ok(stop)
}

/// Tells the network thread of the first signal.
fn watch_signals(bridge: &Arc<Bridge>, remote: &Remote<Ingest>, stop: &AtomicBool) -> Result<(), Error> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).map_err(Error::Network)?;
    // It may have come before anybody waited for it.
    if stop.load(Ordering::Relaxed) {
        bridge.stop();
    }
    let (bridge, remote) = (Arc::clone(bridge), remote.clone());
    spawn("signals", move || {
        if signals.forever().next().is_some() {
            bridge.stop();
            remote.notify();
        }
    })?;
    Ok(())
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<thread::JoinHandle<()>, Error> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map_err(Error::Network)
}

#[cfg(test)]
mod tests;
