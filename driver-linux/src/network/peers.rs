//! Peers and streams that are sent: added and removed while everything else goes on.

use super::Network;
use crate::application::Application;
use crate::storage::NoSpace;
use std::net::SocketAddr;
use tallylink_core::wire::Previous;
use tallylink_core::{
    Epoch, EpochSource, Error, Instant, Name, OutIx, OutStream, Path, Peer, PeerId, PeerIx, Priority, Provision,
    PushError, Pushed, Storage,
};

/// A peer was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddPeerError {
    /// There is one with that id.
    #[error("there is a peer {0} already")]
    Known(PeerId),
    /// There are as many as the configuration allows.
    #[error(transparent)]
    NoSpace(#[from] NoSpace),
    /// The network has stopped.
    #[error("the network has stopped")]
    Gone,
    /// It has no key, or two with the same key id.
    #[error("{0}")]
    Core(#[from] Error),
}

/// A stream was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// There is no room for its ring.
    #[error(transparent)]
    NoSpace(#[from] NoSpace),
    /// The peer does not exist, or has a stream of that name.
    #[error("{0}")]
    Core(#[from] Error),
}

impl<A: Application + 'static> Network<A> {
    /// Provisions a peer.
    ///
    /// # Errors
    /// [`AddPeerError`]; nothing has changed.
    pub fn add_peer(&mut self, provision: Provision) -> Result<PeerIx, AddPeerError> {
        let id = provision.id;
        if self.endpoint.storage().find(id).is_some() {
            return Err(AddPeerError::Known(id));
        }
        let at = self.endpoint.storage_mut().free_peer()?;
        self.endpoint.add_peer(at, provision)?;
        self.endpoint.storage_mut().list_peer(at);
        Ok(at)
    }

    /// Makes room for so many more peers, and a stream from each, at once: adding a million is then quicker, and leaves no
    /// memory behind that they have outgrown. What is not used takes none.
    pub fn reserve_peers(&mut self, more: usize) {
        self.endpoint.storage_mut().reserve_peers(more);
    }

    /// How many peers there are.
    #[must_use]
    pub fn peers(&self) -> usize {
        self.endpoint.storage().peer_count()
    }

    /// Removes a peer. Its session ends, and so do its streams.
    pub fn remove_peer(&mut self, at: PeerIx) {
        if self.endpoint.storage().peer(at).is_some() {
            self.endpoint.storage_mut().unlist_peer(at);
            self.endpoint.remove_peer(self.clock.now(), at);
            self.application.peer_removed(at);
        }
    }

    /// Replaces a peer's keys. The session ends when its key is not among them.
    ///
    /// # Errors
    /// As core says; nothing has changed.
    pub fn set_keys(&mut self, at: PeerIx, provision: Provision) -> Result<(), Error> {
        self.endpoint.set_keys(self.clock.now(), at, provision)
    }

    /// Finds a peer by its id.
    #[must_use]
    pub fn find_peer(&self, id: PeerId) -> Option<PeerIx> {
        self.endpoint.storage().find(id)
    }

    /// A peer.
    #[must_use]
    pub fn peer(&self, at: PeerIx) -> Option<&Peer> {
        self.endpoint.storage().peer(at)
    }

    /// Device end: where the gateway is.
    ///
    /// # Errors
    /// When there is no such peer, or this end is not its device.
    pub fn connect(&mut self, peer: PeerIx, gateway: SocketAddr) -> Result<(), Error> {
        self.endpoint.connect(self.clock.now(), peer, Path::to(gateway))
    }

    /// Device end: asks the gateway for whatever it has, now.
    pub fn poll_gateway(&mut self, peer: PeerIx) {
        self.endpoint.poll(self.clock.now(), peer);
    }

    /// Begins to send a stream, with a ring of `ring_bytes` for what is not stored yet. `first` is the number of the first
    /// record that will be pushed.
    ///
    /// # Errors
    /// [`OpenError`]; nothing has changed.
    pub fn open(
        &mut self,
        peer: PeerIx,
        name: Name,
        source: EpochSource,
        first: u64,
        ring_bytes: u32,
    ) -> Result<OutIx, OpenError> {
        let storage = self.endpoint.storage_mut();
        let (at, ring) = storage.claim_stream(peer, ring_bytes)?;
        let now = self.clock.now();
        let opened = self.endpoint.open(now, at, peer, name, source, first, ring);
        if let Err(why) = opened {
            self.endpoint.storage_mut().release_stream(at);
            return Err(why.into());
        }
        Ok(at)
    }

    /// Ends the sending of a stream; what its ring still holds, and was not sent in this session, is forgotten.
    ///
    /// # Errors
    /// As core says, also while something that was sent is not STORED; nothing has changed.
    pub fn close(&mut self, stream: OutIx) -> Result<(), Error> {
        self.endpoint.close(self.clock.now(), stream)?;
        self.endpoint.storage_mut().release_stream(stream);
        Ok(())
    }

    /// Says which streams of its peer a stream goes before.
    ///
    /// # Errors
    /// When there is no such stream.
    pub fn set_priority(&mut self, stream: OutIx, priority: Priority) -> Result<(), Error> {
        self.endpoint.set_priority(self.clock.now(), stream, priority)
    }

    /// A stream that is sent: how far it is stored, and how much room its ring has.
    #[must_use]
    pub fn stream(&self, at: OutIx) -> Option<&OutStream> {
        self.endpoint.storage().outbound(at)
    }

    /// Queues one record and returns its number. It leaves with the next turn.
    ///
    /// # Errors
    /// [`PushError`]; nothing was taken.
    pub fn push(&mut self, stream: OutIx, record: &[u8]) -> Result<u64, PushError> {
        let now = self.pushing();
        self.endpoint.push(now, stream, record)
    }

    /// Queues one record of `len` bytes that `fill` writes, in at most two pieces.
    ///
    /// # Errors
    /// [`PushError`]; nothing was taken and `fill` was not called.
    pub fn push_with(
        &mut self,
        stream: OutIx,
        len: u32,
        fill: impl FnOnce(&mut [u8], &mut [u8]),
    ) -> Result<u64, PushError> {
        let now = self.pushing();
        self.endpoint.push_with(now, stream, len, fill)
    }

    /// Queues as many whole records as fit from a run of packed ones, `[size varint][bytes]…`.
    ///
    /// # Errors
    /// [`PushError`]; nothing was taken.
    pub fn push_batch(&mut self, stream: OutIx, packed: &[u8]) -> Result<Pushed, PushError> {
        let now = self.pushing();
        self.endpoint.push_batch(now, stream, packed)
    }

    /// The time of a push. Those between two turns share that of the first: nothing leaves before the next turn.
    #[inline]
    fn pushing(&mut self) -> Instant {
        *self.pushing_since.get_or_insert_with(|| self.clock.now())
    }

    /// Begins another epoch of a stream with storage: the one before is drained.
    ///
    /// # Errors
    /// As core says; nothing has changed.
    pub fn begin_epoch(&mut self, stream: OutIx, epoch: Epoch, previous: Option<Previous>) -> Result<(), Error> {
        self.endpoint.begin_epoch(self.clock.now(), stream, epoch, previous)
    }

    /// Gives up the records below `below`: the receiver gets a gap.
    pub fn skip(&mut self, stream: OutIx, below: u64, reason: u8) {
        self.endpoint.skip(self.clock.now(), stream, below, reason);
    }

    /// Ends every session: the disk failed, and nothing that was received since the last STORED counts.
    pub fn end_sessions(&mut self) {
        self.endpoint.end_sessions(self.clock.now());
    }
}
