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
mod join;
mod streams;

pub use in_place::{InPlace, Record};
pub use streams::Streams;

#[cfg(doc)]
use crate::application::Application;
use crate::application::Stored;
use crate::clock;
use crate::network::{AddPeerError, Gone, Network, Remote};
use crate::settings::{Settings, StartError};
use crate::socket::SocketCounters;
use doors::Doors;
use inbox::{Head, Reader, inbox};
use inflow::Inflow;
use join::{Joiner, Piece};
use std::collections::VecDeque;
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
    reader: Reader,
    doors: Arc<Doors>,
    streams: Vec<Stream>,
    /// Records that [`Receiver::next`] has not handed out yet.
    waiting: VecDeque<Taken>,
    /// What was taken since the last report.
    taken: Vec<Stored>,
    thread: Option<JoinHandle<()>>,
}

/// A stream, as the program's thread sees it.
#[derive(Debug)]
struct Stream {
    peer: PeerIx,
    name: Arc<str>,
    joiner: Joiner,
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
        let (writer, reader) = inbox(QUEUE_BYTES);
        let doors = Arc::new(Doors::default());
        let network = Network::new(settings, Inflow::new(STREAMS_MAX, writer, Arc::clone(&doors)))?;
        let (remote, local) = (network.remote(), network.local_addr()?);
        let closing = Closing(Arc::clone(&doors));
        let thread = thread::Builder::new().name("tallylink-recv".into()).spawn(move || {
            let _closing = closing;
            // Dropped before the program is told.
            let mut network = network;
            if let Err(e) = network.run() {
                tracing::error!("the system's event queue failed, receiving stops: {e}");
            }
        })?;
        Ok(Self {
            remote,
            local,
            reader,
            doors,
            streams: Vec::new(),
            waiting: VecDeque::new(),
            taken: Vec::new(),
            thread: Some(thread),
        })
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
        let deadline = clock::deadline(timeout);
        while self.waiting.is_empty() {
            if !self.wait(deadline) {
                return None;
            }
            let mut waiting = std::mem::take(&mut self.waiting);
            self.message(&mut |r| {
                waiting.push_back(Taken {
                    peer: r.peer,
                    stream: r.stream,
                    name: r.name.into(),
                    epoch: r.epoch,
                    number: r.number,
                    bytes: r.bytes.to_vec(),
                });
            });
            self.waiting = waiting;
            if self.waiting.is_empty() {
                self.report();
            }
        }
        let next = self.waiting.pop_front()?;
        if self.waiting.is_empty() {
            self.report();
        } else {
            let (stream, epoch, below) = (next.stream, next.epoch, next.number + 1);
            self.remote.stored([Stored { stream, epoch, below }]);
        }
        Some(next)
    }

    /// Lends every record that has come to `take`, and waits for the first one for at most `timeout`. They count as taken
    /// when this returns. Returns how many there were.
    pub fn take(&mut self, timeout: Duration, mut take: impl FnMut(Record<'_>)) -> usize {
        let mut records = 0;
        while let Some(t) = self.waiting.pop_front() {
            records += 1;
            take(Record {
                peer: t.peer,
                stream: t.stream,
                name: &t.name,
                epoch: t.epoch,
                number: t.number,
                bytes: &t.bytes,
            });
        }
        let deadline = clock::deadline(timeout);
        loop {
            self.take_all(&mut |r| {
                records += 1;
                take(r);
            });
            // What came may be a stream's name only, or part of a record.
            if records > 0 || !self.wait(deadline) {
                return records;
            }
        }
    }

    /// Takes what has come, and reports it.
    fn take_all(&mut self, take: &mut dyn FnMut(Record<'_>)) {
        // No more than what can wait at a time: then it is confirmed.
        for _ in 0..inbox::MESSAGES {
            if !self.message(take) {
                break;
            }
        }
        self.report();
    }

    /// Waits for a message. Returns false when there is none.
    fn wait(&self, deadline: Option<std::time::Instant>) -> bool {
        let reader = &self.reader;
        let came = || match reader.is_empty() {
            false => Some(true),
            true => reader.is_over().then_some(false),
        };
        self.doors.gate.wait(deadline, came).unwrap_or(false)
    }

    /// Takes one message apart.
    fn message(&mut self, take: &mut dyn FnMut(Record<'_>)) -> bool {
        let (streams, taken) = (&mut self.streams, &mut self.taken);
        self.reader.next(|head, bytes| match head {
            Head::Opened { stream, peer, name } => {
                let opened = Stream { peer, name: name.as_str().into(), joiner: Joiner::default() };
                match streams.get_mut(stream.at()) {
                    Some(slot) => *slot = opened,
                    // Indices are given out one after the other.
                    None => streams.push(opened),
                }
            }
            Head::Records { stream, epoch, from, to, first_start } => {
                let Some(s) = streams.get_mut(stream.at()) else {
                    return;
                };
                let piece = Piece { from, to, first_start: first_start as usize, bytes };
                let (peer, name) = (s.peer, &s.name);
                s.joiner.records(&piece, |number, bytes| take(Record { peer, stream, name, epoch, number, bytes }));
                note(taken, Stored { stream, epoch, below: to.number });
            }
            Head::Gap { stream, epoch, below } => note(taken, Stored { stream, epoch, below }),
        })
    }

    /// Reports what was taken, and that there is room.
    fn report(&mut self) {
        if !self.taken.is_empty() {
            self.remote.stored(self.taken.drain(..));
        }
        if self.doors.was_starved() {
            self.remote.room();
        }
    }
}

/// Notes that something was taken. Most often it is of the same stream as before.
fn note(taken: &mut Vec<Stored>, stored: Stored) {
    match taken.last_mut() {
        Some(last) if (last.stream, last.epoch) == (stored.stream, stored.epoch) => *last = stored,
        _ => taken.push(stored),
    }
}

/// Lets nobody wait for a thread that is gone.
struct Closing(Arc<Doors>);

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
