//! Receiving: records of each stream, in order, each once.
//!
//! Three ways, from simple to fast: [`Receiver::next`] hands out one record after the other; [`Receiver::take`] lends all
//! that have come to a function; [`InPlace`] has no thread of its own: the function runs where the packets are decrypted. A
//! program with a disk implements [`Application`] and reports what is stored through a
//! [`Remote`].
//!
//! None of these keeps anything on disk: a record counts as STORED once the program took it, and that holds for as long as
//! this process lives.

mod doors;
mod in_place;
mod inbox;
mod inflow;
mod intake;
mod join;
mod streams;

pub use in_place::{InPlace, Record};
pub use streams::Streams;

pub(crate) use inflow::Inflow;
pub(crate) use intake::Intake;

use crate::application::Application;
use crate::network::{AddPeerError, Gone, Network, Remote};
use crate::settings::{Settings, StartError};
use crate::socket::SocketCounters;
use doors::Doors;
use inbox::{Reader, inbox};
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tallylink_core::crypto::Psk;
use tallylink_core::{End, Epoch, InIx, KeyId, PeerId, PeerIx, Provision};

/// Bytes of records that wait for the program. When they are that many, senders wait.
const QUEUE_BYTES: usize = 4 << 20;
/// How many streams are taken, all peers together.
const STREAMS_MAX: u32 = 1 << 16;

/// Receives records on a thread of its own.
pub struct Receiver {
    remote: Remote<Inflow>,
    local: SocketAddr,
    intake: Intake<Inflow>,
    thread: Option<JoinHandle<()>>,
}

/// A record that was handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Who sent it.
    pub peer: PeerIx,
    /// In which stream.
    pub stream: InIx,
    /// The stream's name.
    pub name: Arc<str>,
    /// The epoch that `number` belongs to.
    pub epoch: Epoch,
    /// Its number.
    pub number: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Receiver {
    /// Listens on `listen`, such as `[::]:7441` (IPv4 too) or `127.0.0.1:0`.
    ///
    /// # Errors
    /// [`StartError`]
    pub fn bind(listen: impl ToSocketAddrs) -> Result<Self, StartError> {
        let listen = listen.to_socket_addrs()?.next().ok_or(StartError::NoAddress)?;
        Self::with(&Settings { listen, ..Settings::receiver() })
    }

    /// The same with other limits.
    ///
    /// # Errors
    /// [`StartError`]
    pub fn with(settings: &Settings) -> Result<Self, StartError> {
        let (inflow, unreached) = queue(STREAMS_MAX);
        let network = Network::new(settings, inflow)?;
        let (remote, local) = (network.remote(), network.local_addr()?);
        let closing = unreached.closing();
        let thread = thread::Builder::new().name("tallylink-recv".into()).spawn(move || {
            let _closing = closing;
            // Dropped before the program is told.
            let mut network = network;
            if let Err(e) = network.run() {
                tracing::error!("the system's event queue failed, receiving stops: {e}");
            }
        })?;
        let intake = unreached.reached_by(remote.clone());
        Ok(Self { remote, local, intake, thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Provisions a sender.
    ///
    /// # Errors
    /// [`AddPeerError`]
    pub fn add_peer(&self, id: PeerId, key: KeyId, psk: Psk) -> Result<PeerIx, AddPeerError> {
        let provision = Provision::new(id, End::Gateway, key, psk);
        self.remote.call(move |network| network.add_peer(provision)).unwrap_or(Err(AddPeerError::Gone))
    }

    /// Removes a sender. Its session ends.
    ///
    /// # Errors
    /// [`Gone`] when the thread has died.
    pub fn remove_peer(&self, peer: PeerIx) -> Result<(), Gone> {
        self.remote.call(move |network| network.remove_peer(peer))
    }

    /// What happened at the socket; `None` when the receiver's thread has died.
    #[must_use]
    pub fn counters(&self) -> Option<SocketCounters> {
        self.remote.call(|network| *network.counters()).ok()
    }

    /// Hands out the next record; `None` when none came within `timeout`, or the receiver's thread has died.
    pub fn next(&mut self, timeout: Duration) -> Option<Taken> {
        self.intake.next(timeout)
    }

    /// Lends every record that has come to `take`, and waits for the first one for at most `timeout`. They count as taken
    /// when this returns. Returns how many there were.
    pub fn take(&mut self, timeout: Duration, take: impl FnMut(Record<'_>)) -> usize {
        let records = self.intake.lend(timeout, take);
        self.intake.report();
        records
    }
}

/// A queue for records of `max_streams` streams: the network thread's end, and what the program's is made of.
pub(crate) fn queue(max_streams: u32) -> (Inflow, Unreached) {
    let (writer, reader) = inbox(QUEUE_BYTES);
    let doors = Arc::new(Doors::default());
    (Inflow::new(max_streams, writer, Arc::clone(&doors)), Unreached { reader, doors })
}

/// The program's end, while the network thread cannot be reached yet.
pub(crate) struct Unreached {
    reader: Reader,
    doors: Arc<Doors>,
}

impl Unreached {
    /// Dropped when the network thread ends.
    pub(crate) fn closing(&self) -> Closing {
        Closing(Arc::clone(&self.doors))
    }

    /// The end that records are taken from; the network thread is told through `remote`.
    pub(crate) fn reached_by<A: Application + 'static>(self, remote: Remote<A>) -> Intake<A> {
        Intake::new(remote, self.reader, self.doors)
    }
}

/// Lets nobody wait for a thread that is gone.
pub(crate) struct Closing(Arc<Doors>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.gate.notify();
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.remote.stop();
        if let Some(thread) = self.thread.take() {
            // A panic there was reported there.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("local", &self.local).finish_non_exhaustive()
    }
}
