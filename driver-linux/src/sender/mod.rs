//! Sending from a program: threads push records, one thread carries them.
//!
//! ```
//! use tallylink_core::{KeyId, PeerId, crypto::Psk};
//! use tallylink_linux::{Receiver, Sender};
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (id, key) = (PeerId(*b"sensor-1"), [7; 16]);
//! let mut receiver = Receiver::bind("127.0.0.1:0")?;
//! receiver.add_peer(id, KeyId(0), Psk::from_bytes(key))?;
//!
//! let sender = Sender::connect(&receiver.local_addr().to_string(), id, KeyId(0), Psk::from_bytes(key))?;
//! let mut stream = sender.open("temperature")?;
//! stream.push(b"21.5")?;
//! stream.push(b"21.6")?;
//!
//! let taken = receiver.next(Duration::from_secs(10)).ok_or("nothing came")?;
//! assert_eq!((taken.name.as_ref(), taken.number, taken.bytes.as_slice()), ("temperature", 0, &b"21.5"[..]));
//! let taken = receiver.next(Duration::from_secs(10)).ok_or("nothing came")?;
//! assert_eq!((taken.number, taken.bytes.as_slice()), (1, &b"21.6"[..]));
//! stream.flush(Duration::from_secs(10))?;
//! # Ok(())
//! # }
//! ```
//!
//! # Records that outlive the program
//!
//! ```
//! use tallylink_core::{KeyId, PeerId, crypto::Psk};
//! use tallylink_linux::{Receiver, Sender};
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let outbox = directory.path().join("temperature");
//! let (id, key) = (PeerId(*b"sensor-1"), [7; 16]);
//! # let gateway = Receiver::bind("127.0.0.1:0")?.local_addr();
//! // The gateway is away: the record is on disk, and this program may end.
//! let sender = Sender::connect(&gateway.to_string(), id, KeyId(0), Psk::from_bytes(key))?;
//! let mut stream = sender.open_durable("temperature", &outbox)?;
//! stream.push(b"21.5")?;
//! stream.flush_durable(Duration::from_secs(10))?;
//! drop((stream, sender));
//!
//! // It is back, and so is the program: what is left goes first.
//! let mut receiver = Receiver::bind(gateway)?;
//! receiver.add_peer(id, KeyId(0), Psk::from_bytes(key))?;
//! let sender = Sender::connect(&gateway.to_string(), id, KeyId(0), Psk::from_bytes(key))?;
//! let mut stream = sender.open_durable("temperature", &outbox)?;
//! assert_eq!(stream.history(), 1);
//! stream.push(b"21.6")?;
//! for expected in [b"21.5", b"21.6"] {
//!     let taken = receiver.next(Duration::from_secs(10)).ok_or("nothing came")?;
//!     assert_eq!(taken.bytes, expected);
//! }
//! stream.flush(Duration::from_secs(10))?;
//! # Ok(())
//! # }
//! ```

mod dial;
mod downlink;
mod durable;
mod error;
mod outlets;
mod stream;

pub use downlink::Downlink;
pub use durable::{DurableError, DurableStream, OpenDurableError, Progress, feed};
pub use error::{FlushError, OpenError, PushError};
pub use stream::{Confirmed, Stream};

use crate::network::{Gone, Network, Remote};
use crate::outbox::{Outbox, OutboxError, OutboxOptions, Owner};
use crate::receiver;
use crate::settings::{Settings, StartError};
use crate::socket::SocketCounters;
use crate::{clock, entropy};
use dial::Dial;
use durable::Kept;
use durable::feed::Feeder;
use outlets::{Lane, Outlet, Outlets, Receives};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use stream::Shared;
use tallylink_core::crypto::Psk;
use tallylink_core::{
    Duration as Span, End, Epoch, EpochSource, KeyId, Name, OutIx, Peer, PeerId, PeerIx, Priority, Provision,
};
use tallylink_journal::{Dir, Store};

/// The ring of a stream: what is on its way or waits for STORED.
const RING_BYTES: u32 = 4 << 20;
/// The queue in front of it.
const QUEUE_BYTES: usize = 256 << 10;

/// Sends records to one gateway. Its thread runs until the sender and all of its streams are dropped.
///
/// What is not STORED by then is lost with the process: [`Sender::flush`] waits for it.
#[derive(Clone, Debug)]
pub struct Sender {
    inner: Arc<Inner>,
}

struct Inner {
    remote: Remote<Outlets>,
    peer: PeerIx,
    max_record: u32,
    id: PeerId,
    streams: Streams,
    thread: Option<JoinHandle<()>>,
    keepers: Mutex<Vec<Kept>>,
}

/// What each stream shares with the sender's thread.
type Streams = Arc<Mutex<Vec<Arc<Shared>>>>;

impl Sender {
    /// Starts to send to the gateway at `to`, which is `host:port`. A name is resolved at each try to reach it.
    ///
    /// Returns at once: records can be pushed while there is no connection yet, or no longer.
    ///
    /// # Errors
    /// [`StartError`]
    pub fn connect(to: &str, id: PeerId, key: KeyId, psk: Psk) -> Result<Self, StartError> {
        Self::with(&Settings::sender(), to, Provision::new(id, End::Device, key, psk))
    }

    /// The same with other limits, or with two keys.
    ///
    /// # Errors
    /// [`StartError`]
    pub fn with(settings: &Settings, to: &str, provision: Provision) -> Result<Self, StartError> {
        Self::start(settings, to, provision, Outlets::default(), None)
    }

    /// The same, and takes what the gateway has for this device: records of the streams that are named, or of all if none is.
    ///
    /// With [`poll`](tallylink_core::Config::poll) among the settings, the gateway is asked after so long a silence, and so
    /// learns where this device is; without, records come only when this device has sent something.
    ///
    /// # Errors
    /// [`StartError`]
    pub fn with_downlink(
        settings: &Settings,
        to: &str,
        provision: Provision,
        streams: &[Name],
    ) -> Result<(Self, Downlink), StartError> {
        let (inflow, unreached) = receiver::queue(u32::from(settings.config.streams));
        let inflow = Some(Receives { inflow, names: streams.to_vec() });
        let outlets = Outlets { inflow, ..Outlets::default() };
        let sender = Self::start(settings, to, provision, outlets, Some(unreached.closing()))?;
        let intake = unreached.reached_by(sender.inner.remote.clone());
        Ok((sender.clone(), Downlink::new(intake, sender)))
    }

    fn start(
        settings: &Settings,
        to: &str,
        provision: Provision,
        outlets: Outlets,
        receiver: Option<receiver::Closing>,
    ) -> Result<Self, StartError> {
        let id = provision.id;
        let mut network = Network::new(settings, outlets)?;
        let peer = network.add_peer(provision)?;
        let remote = network.remote();
        let dial = Dial::new(to, peer, remote.clone());
        let streams = Streams::default();
        let closing = (Closing(Arc::clone(&streams)), receiver);
        let poll = settings.config.poll;
        let thread = thread::Builder::new().name("tallylink-send".into()).spawn(move || {
            let _closing = closing;
            carry(network, dial, peer, poll);
        })?;
        let (max_record, keepers) = (settings.config.max_record, Mutex::default());
        let inner = Inner { remote, peer, max_record, id, streams, thread: Some(thread), keepers };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Opens a stream, named by 1 to 64 bytes of UTF-8. Its records are numbered from 0, and its name is taken for as long as
    /// the sender lives.
    ///
    /// # Errors
    /// [`OpenError`]
    pub fn open(&self, name: &str) -> Result<Stream, OpenError> {
        let name = Name::new(name).ok_or(OpenError::Name)?;
        let stored_max = self.inner.max_record.saturating_add(4);
        let capacity = QUEUE_BYTES.max(stored_max as usize);
        let ring = RING_BYTES.max(stored_max);
        let (queue, out) = rtrb::RingBuffer::new(capacity);
        let shared = Arc::new(Shared::default());
        let (peer, told) = (self.inner.peer, Arc::clone(&shared));
        let opened = self.inner.remote.call(move |network| {
            let at = network.open(peer, name, EpochSource::FirstSession, 0, ring)?;
            network.application_mut().add(Outlet::new(at, out, told));
            Ok::<_, crate::network::OpenError>(at)
        });
        let at = opened.map_err(|_| OpenError::Closed)??;
        lock(&self.inner.streams).push(Arc::clone(&shared));
        Ok(Stream::new(self.clone(), at, queue, shared))
    }

    /// Opens a stream whose records outlive this program: they are on disk in `dir`, the stream's own directory, before
    /// they are sent, and until they are STORED. What earlier openings left there is delivered first.
    ///
    /// # Errors
    /// [`OpenDurableError`]: also when another process has it open, or it holds the records of another peer or stream.
    pub fn open_durable(&self, name: &str, dir: impl Into<PathBuf>) -> Result<DurableStream, OpenDurableError> {
        self.open_durable_with(name, dir, &OutboxOptions::default())
    }

    /// The same with an outbox kept otherwise. A `salt` of 0 is replaced by a random number.
    ///
    /// # Errors
    /// As [`Sender::open_durable`].
    pub fn open_durable_with(
        &self,
        name: &str,
        dir: impl Into<PathBuf>,
        options: &OutboxOptions,
    ) -> Result<DurableStream, OpenDurableError> {
        self.open_durable_until(name, dir, options, &Arc::default())
    }

    /// The same, but gives up soon after `stop` is set: an outbox that is damaged, or large and on a slow disk, takes its time.
    ///
    /// # Errors
    /// As [`Sender::open_durable`], and [`OutboxError::Stopped`]: the outbox is as it was.
    pub fn open_durable_until(
        &self,
        name: &str,
        dir: impl Into<PathBuf>,
        options: &OutboxOptions,
        stop: &Arc<AtomicBool>,
    ) -> Result<DurableStream, OpenDurableError> {
        let owner = Owner { peer: self.inner.id, stream: Name::new(name).ok_or(OpenError::Name)? };
        let salt = match options.salt {
            0 => u64::from_ne_bytes(entropy::draw().map_err(OutboxError::from)?),
            given => given,
        };
        let epoch = Epoch(entropy::draw().map_err(OutboxError::from)?);
        let dir = dir.into();
        let place = dir.display().to_string();
        let store = Dir::create(dir).map_err(|source| OutboxError::Directory { place, source })?;
        let outbox = Outbox::open_until(store, &owner, epoch, &OutboxOptions { salt, ..options.clone() }, stop)?;
        Ok(self.attach(outbox)?)
    }

    /// Sends from an outbox that is open, wherever it is kept; it must be this sender's peer's.
    ///
    /// # Errors
    /// [`OpenError`]
    pub fn attach<S>(&self, outbox: Outbox<S>) -> Result<DurableStream, OpenError>
    where
        S: Store + Clone + Send + 'static,
        S::File: Send,
        S::Lock: Send,
    {
        let max_record = self.inner.max_record;
        let (peer, ring) = (self.inner.peer, RING_BYTES.max(max_record.saturating_add(4)));
        let remote = self.inner.remote.clone();
        let started = feed::start(outbox, max_record, move || remote.notify());
        let (Feeder { pusher, kept }, offer) = started.map_err(|e| OpenError::Thread(e.kind()))?;
        let opened = self.inner.remote.call(move |network| {
            let feed = offer.open(network, peer, ring)?;
            let at = feed.stream();
            network.application_mut().add_outbox(feed);
            Ok::<_, crate::network::OpenError>(at)
        });
        let at = opened.map_err(|_| OpenError::Closed)??;
        lock(&self.inner.keepers).push(kept);
        Ok(DurableStream::new(self.clone(), at, pusher))
    }

    /// Waits until everything that was pushed to any stream without an outbox so far is STORED.
    ///
    /// # Errors
    /// [`FlushError`]
    pub fn flush(&self, timeout: Duration) -> Result<(), FlushError> {
        let deadline = clock::deadline(timeout);
        let all = lock(&self.inner.streams).clone();
        all.iter().try_for_each(|shared| shared.flush(deadline))
    }

    /// True while there is a session with the gateway.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        let peer = self.inner.peer;
        let lives = self.inner.remote.call(move |network| network.peer(peer).is_some_and(|p| p.has_session()));
        lives.unwrap_or(false)
    }

    /// The largest record that the gateway takes; `None` while there is no session, which this asks for.
    #[must_use]
    pub fn largest_record(&self) -> Option<u32> {
        let peer = self.inner.peer;
        let asked = self.inner.remote.call(move |network| {
            let largest = network.peer(peer).and_then(Peer::largest_record);
            if largest.is_none() {
                network.poll_gateway(peer);
            }
            network.application_mut().wanted = largest.is_none();
            largest
        });
        asked.unwrap_or(None)
    }

    /// What happened at the socket; `None` when the sender's thread has died.
    #[must_use]
    pub fn counters(&self) -> Option<SocketCounters> {
        self.inner.remote.call(|network| *network.counters()).ok()
    }

    fn set_priority(&self, at: OutIx, priority: Priority) -> Result<(), Gone> {
        // The stream exists for as long as its sender.
        self.inner.remote.call(move |network| network.set_priority(at, priority).is_ok()).map(drop)
    }

    #[inline]
    fn notify(&self) {
        self.inner.remote.notify();
    }
}

/// The thread of a sender.
fn carry(mut network: Network<Outlets>, mut dial: Dial, peer: PeerIx, poll: Option<Span>) {
    let mut outlets: Vec<Lane> = Vec::new();
    while !network.stopped() {
        outlets.append(&mut network.application_mut().opened);
        let moved = outlets.iter_mut().fold(false, |moved, o| o.pump(&mut network) | moved);
        let more = network.turn();
        outlets.iter_mut().for_each(|o| o.confirm(&network));
        let wanted = network.application().wanted || misses_the_gateway(&network, peer, poll);
        let at_most = dial.turn(&mut network, wanted || outlets.iter().any(Lane::outstanding));
        let opened = !network.application().opened.is_empty();
        if more || moved || opened || outlets.iter().any(|o| o.ready(&network)) {
            continue;
        }
        if let Err(e) = network.wait(at_most, || outlets.iter().all(Lane::idle)) {
            tracing::error!("the system's event queue failed, sending stops: {e}");
            return;
        }
    }
}

/// A gateway that records are expected from, and that does not answer, may be elsewhere.
fn misses_the_gateway(network: &Network<Outlets>, peer: PeerIx, poll: Option<Span>) -> bool {
    let silent = |p: &Peer| poll.is_some_and(|poll| network.now().since(p.heard()) > poll.times(2));
    network.application().inflow.is_some() && network.peer(peer).is_some_and(|p| !p.has_session() || silent(p))
}

/// Tells every stream that nobody carries on, also when the thread panics.
struct Closing(Streams);

impl Drop for Closing {
    fn drop(&mut self) {
        lock(&self.0).iter().for_each(|shared| shared.close());
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.remote.stop();
        if let Some(thread) = self.thread.take() {
            // A panic there was reported there.
            let _ = thread.join();
        }
        // Only now: what the network's thread confirmed last is noted by them.
        lock(&self.keepers).clear();
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("streams", &lock(&self.streams).len()).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
