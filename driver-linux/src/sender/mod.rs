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

mod dial;
mod error;
mod outlets;
mod stream;

pub use error::{FlushError, OpenError, PushError};
pub use stream::{Confirmed, Stream};

use crate::clock;
use crate::network::{Network, Remote};
use crate::settings::{Settings, StartError};
use crate::socket::SocketCounters;
use dial::Dial;
use outlets::{Outlet, Outlets};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use stream::Shared;
use tallylink_core::crypto::Psk;
use tallylink_core::{End, EpochSource, KeyId, Name, Peer, PeerId, PeerIx, Provision};

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
    streams: Streams,
    thread: Option<JoinHandle<()>>,
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
        let mut network = Network::new(settings, Outlets::default())?;
        let peer = network.add_peer(provision)?;
        let remote = network.remote();
        let dial = Dial::new(to, peer, remote.clone());
        let streams = Streams::default();
        let closing = Closing(Arc::clone(&streams));
        let thread = thread::Builder::new().name("tallylink-send".into()).spawn(move || {
            let _closing = closing;
            carry(network, dial);
        })?;
        let inner = Inner { remote, peer, max_record: settings.config.max_record, streams, thread: Some(thread) };
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
            Ok::<_, crate::network::OpenError>(())
        });
        opened.map_err(|_| OpenError::Closed)??;
        lock(&self.inner.streams).push(Arc::clone(&shared));
        Ok(Stream::new(self.clone(), queue, shared, self.inner.max_record))
    }

    /// Waits until everything that was pushed to any stream so far is STORED.
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

    #[inline]
    fn notify(&self) {
        self.inner.remote.notify();
    }
}

/// The thread of a sender.
fn carry(mut network: Network<Outlets>, mut dial: Dial) {
    let mut outlets: Vec<Outlet> = Vec::new();
    while !network.stopped() {
        outlets.append(&mut network.application_mut().opened);
        let moved = outlets.iter_mut().fold(false, |moved, o| o.pump(&mut network) | moved);
        let more = network.turn();
        let wanted = network.application().wanted;
        let at_most = dial.turn(&mut network, wanted || outlets.iter().any(Outlet::outstanding));
        let opened = !network.application().opened.is_empty();
        if more || moved || opened || outlets.iter().any(|o| o.ready(&network)) {
            continue;
        }
        if let Err(e) = network.wait(at_most, || outlets.iter().all(Outlet::idle)) {
            tracing::error!("the system's event queue failed, sending stops: {e}");
            return;
        }
    }
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
