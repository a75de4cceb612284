//! An outbox for a network that a program drives itself, such as a gateway's that sends to its devices.
//!
//! | part | where | what it does |
//! |---|---|---|
//! | [`Feeder`] | any thread | takes records, and keeps the outbox's own thread |
//! | [`Offer`] | the network's thread, once | opens the stream |
//! | [`Feed`] | the network's thread | moves durable records into the stream's ring, and tells what is STORED |
//!
//! The network's loop calls [`Feed::pump`] before each turn and [`Feed::confirm`] after it, and sleeps only while no feed is
//! [ready](Feed::ready), with [`Feed::idle`] of each among what [`Network::wait`] asks. When a feed and its feeder are
//! dropped, the outbox is as they left it, and the stream is [closed](Network::close) or goes on with what its ring holds.

use super::error::DurableError;
use super::keeper::{Keeper, Kept};
use super::outlet::DurableOutlet;
use super::pusher::Pusher;
use super::shared::{Progress, Shared};
use crate::application::Application;
use crate::network::{Network, OpenError};
use crate::outbox::Outbox;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tallylink_core::wire::Previous;
use tallylink_core::{Epoch, EpochSource, Name, OutIx, PeerIx};
use tallylink_journal::Store;

/// Starts the thread of an outbox that takes records of up to `max_record` bytes. `wake` wakes the network's thread; it is called
/// when there is something to move, and when nothing waits any more.
///
/// # Errors
/// The system gives no more threads.
pub fn start<S>(outbox: Outbox<S>, max_record: u32, wake: impl Fn() + Send + 'static) -> io::Result<(Feeder, Offer)>
where
    S: Store + Clone + Send + 'static,
    S::File: Send,
    S::Lock: Send,
{
    let memory = outbox.options().memory_bytes;
    let shared = Arc::new(Shared::new(outbox.history(), outbox.waiting(), memory, max_record));
    let (begins, fresh, name) = (outbox.begins(), outbox.fresh(), outbox.owner().stream.clone());
    let kept = Keeper::new(outbox, Arc::clone(&shared), Box::new(wake)).start()?;
    let offer = Offer { shared: Arc::clone(&shared), begins, fresh, name };
    Ok((Feeder { pusher: Pusher::new(shared, max_record), kept }, offer))
}

/// Where records go in. Its outbox ends, with all that was pushed durable, when it is dropped.
#[derive(Debug)]
pub struct Feeder {
    pub(crate) pusher: Pusher,
    pub(crate) kept: Kept,
}

impl Feeder {
    /// Pushes a run of packed records, `[size varint][bytes]…`, and returns their numbers. Waits while there is no room.
    ///
    /// # Errors
    /// As [`DurableStream::push_batch`](super::DurableStream::push_batch).
    pub fn push_batch(&mut self, packed: &[u8]) -> Result<Range<u64>, DurableError> {
        self.pusher.push_batch(packed)
    }

    /// Waits until everything that was pushed so far is durable.
    ///
    /// # Errors
    /// As [`DurableStream::flush_durable`](super::DurableStream::flush_durable).
    pub fn flush_durable(&self, timeout: Duration) -> Result<(), DurableError> {
        self.pusher.flush_durable(timeout)
    }

    /// Number of the next record: how many this opening took.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.pusher.next()
    }

    /// How many records the outbox had ever made durable before this opening, delivered or not.
    #[must_use]
    pub fn history(&self) -> u64 {
        self.pusher.history()
    }

    /// How far the stream has come, for any thread.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.pusher.progress()
    }
}

/// An outbox whose stream is not open yet.
pub struct Offer {
    shared: Arc<Shared>,
    begins: (Epoch, u64, Option<Previous>),
    fresh: Epoch,
    name: Name,
}

impl Offer {
    /// Begins to send it to `peer`, with a ring of `ring_bytes` for what is under way.
    ///
    /// # Errors
    /// [`OpenError`]; nothing has changed, and the outbox is as it was.
    pub fn open<A: Application + 'static>(
        self,
        network: &mut Network<A>,
        peer: PeerIx,
        ring_bytes: u32,
    ) -> Result<Feed, OpenError> {
        let (epoch, first, previous) = self.begins;
        let at = network.open(peer, self.name, EpochSource::Stored { epoch, previous }, first, ring_bytes)?;
        Ok(Feed { at, peer, outlet: DurableOutlet::new(at, self.shared, epoch, self.fresh) })
    }
}

/// A stream's way from its outbox into its ring.
#[derive(Debug)]
pub struct Feed {
    at: OutIx,
    peer: PeerIx,
    outlet: DurableOutlet,
}

impl Feed {
    /// The stream.
    #[must_use]
    pub fn stream(&self) -> OutIx {
        self.at
    }

    /// Whom it goes to.
    #[must_use]
    pub fn peer(&self) -> PeerIx {
        self.peer
    }

    /// True while something is not STORED.
    #[must_use]
    pub fn outstanding(&self) -> bool {
        self.outlet.outstanding()
    }

    /// True when there is something to move, and room for it.
    #[must_use]
    pub fn ready<A: Application + 'static>(&self, network: &Network<A>) -> bool {
        self.outlet.ready(network)
    }

    /// True when there is nothing to move, or has been no room since.
    #[must_use]
    pub fn idle(&self) -> bool {
        self.outlet.idle()
    }

    /// Moves what fits into the ring. Returns true when something was moved.
    pub fn pump<A: Application + 'static>(&mut self, network: &mut Network<A>) -> bool {
        self.outlet.pump(network)
    }

    /// Tells the outbox what the last turn confirmed.
    pub fn confirm<A: Application + 'static>(&mut self, network: &Network<A>) {
        self.outlet.confirm(network);
    }
}

impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offer").field("name", &self.name).finish_non_exhaustive()
    }
}
