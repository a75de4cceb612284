//! The arrays that core works on, on the heap.

mod space;

use hashbrown::HashTable;
use space::Space;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use tallylink_core::{
    Config, Held, InStream, Link, LinkIx, OutIx, OutStream, Parts, Peer, PeerId, PeerIx, Sent, Storage,
};

/// An endpoint's arrays: those that a peer or a stream takes a part of grow, the others are sized once.
pub struct Boxed<K> {
    peers: Vec<Peer>,
    links: Box<[Link<K>]>,
    inbound: Vec<InStream>,
    outbound: Vec<OutStream>,
    sent: Box<[Sent]>,
    windows: Box<[u64]>,
    ring: Vec<u8>,
    held: Box<[Held]>,
    slots: Box<[u8]>,
    timers: Box<[LinkIx]>,
    /// Peers by id. The hash is keyed: ids come from strangers.
    ids: HashTable<PeerIx>,
    hasher: RandomState,
    free_peers: Vec<PeerIx>,
    max_peers: usize,
    /// Whose each of `outbound` is, and its part of `ring`.
    owners: Vec<Option<(PeerIx, Range<u32>)>>,
    space: Space,
}

/// There is no room for another peer or stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSpace {
    /// As many peers as `Config::max_peers` exist.
    #[error("there are as many peers as the configuration allows")]
    Peers,
    /// The rings of all streams together would take more than 4 GiB, or one of them more than 1 GiB.
    #[error("the rings of all streams may take 4 GiB, each 1 GiB")]
    Ring,
}

impl<K> Boxed<K> {
    /// Arrays for `links` active peers at a time. There are no peers and no streams yet.
    #[must_use]
    pub fn new(config: &Config, links: u32) -> Self {
        let n = links.max(1) as usize;
        let held = usize::from(config.held);
        Self {
            peers: Vec::new(),
            links: filled(n),
            inbound: Vec::new(),
            outbound: Vec::new(),
            sent: filled(n.saturating_mul(config.in_flight as usize)),
            windows: vec![0; n.saturating_mul(config.ack_window as usize / 64)].into(),
            ring: Vec::new(),
            held: filled(held),
            slots: vec![0; held.saturating_mul(usize::from(config.max_datagram))].into(),
            timers: filled(n),
            ids: HashTable::new(),
            hasher: RandomState::new(),
            free_peers: Vec::new(),
            max_peers: config.max_peers as usize,
            owners: Vec::new(),
            space: Space::default(),
        }
    }

    /// The peers, to look at.
    #[must_use]
    pub fn peers(&self) -> &[Peer] {
        &self.peers
    }

    /// A peer in use.
    #[must_use]
    pub fn peer(&self, at: PeerIx) -> Option<&Peer> {
        self.peers.get(at.at()).filter(|p| p.in_use())
    }

    /// A stream that is sent.
    #[must_use]
    pub fn outbound(&self, at: OutIx) -> Option<&OutStream> {
        self.outbound.get(at.at())
    }

    /// How many peers are in use.
    #[must_use]
    pub fn peer_count(&self) -> usize {
        self.ids.len()
    }

    /// Makes room for so many more peers, and a stream from each, at once.
    pub fn reserve_peers(&mut self, more: usize) {
        self.peers.reserve_exact(more);
        self.inbound.reserve_exact(more);
        let (hasher, peers) = (&self.hasher, &self.peers);
        self.ids.reserve(more, |ix| hash_at(hasher, peers, *ix));
    }

    /// A slot for another peer. It stays free until [`Boxed::list_peer`].
    pub(crate) fn free_peer(&mut self) -> Result<PeerIx, NoSpace> {
        if let Some(free) = self.free_peers.last() {
            return Ok(*free);
        }
        if self.peers.len() >= self.max_peers {
            return Err(NoSpace::Peers);
        }
        let at = PeerIx(u32::try_from(self.peers.len()).map_err(|_| NoSpace::Peers)?);
        self.peers.push(Peer::default());
        self.free_peers.push(at);
        Ok(at)
    }

    /// The peer in the slot that [`Boxed::free_peer`] gave can be found by its id from now on.
    pub(crate) fn list_peer(&mut self, at: PeerIx) {
        let popped = self.free_peers.pop_if(|free| *free == at);
        debug_assert!(popped.is_some(), "only the last free slot is given out");
        let (hasher, peers) = (&self.hasher, &self.peers);
        self.ids.insert_unique(hash_at(hasher, peers, at), at, |ix| hash_at(hasher, peers, *ix));
    }

    /// Forgets a peer that is about to be removed, and what its streams take.
    pub(crate) fn unlist_peer(&mut self, at: PeerIx) {
        let hash = hash_at(&self.hasher, &self.peers, at);
        if let Ok(found) = self.ids.find_entry(hash, |ix| *ix == at) {
            found.remove();
            self.free_peers.push(at);
        }
        for owner in &mut self.owners {
            if let Some((_, range)) = owner.take_if(|(peer, _)| *peer == at) {
                self.space.give(range);
            }
        }
    }

    /// Makes sure that so many streams can be received.
    pub(crate) fn grow_inbound(&mut self, to: usize) {
        if self.inbound.len() < to {
            self.inbound.resize_with(to, InStream::default);
        }
    }

    /// A slot and a ring of `bytes` for another stream of `peer`.
    pub(crate) fn claim_stream(&mut self, peer: PeerIx, bytes: u32) -> Result<(OutIx, Range<u32>), NoSpace> {
        let range = self.space.take(bytes).ok_or(NoSpace::Ring)?;
        if self.ring.len() < range.end as usize {
            self.ring.resize(range.end as usize, 0);
        }
        let free = self.owners.iter().position(Option::is_none);
        let at = free.unwrap_or(self.owners.len());
        if free.is_none() {
            self.owners.push(None);
            self.outbound.push(OutStream::default());
        }
        if let Some(owner) = self.owners.get_mut(at) {
            *owner = Some((peer, range.clone()));
        }
        let ix = OutIx(u32::try_from(at).map_err(|_| NoSpace::Ring)?);
        Ok((ix, range))
    }

    /// Gives a stream's slot and ring back: core did not take it.
    pub(crate) fn release_stream(&mut self, at: OutIx) {
        if let Some((_, range)) = self.owners.get_mut(at.at()).and_then(Option::take) {
            self.space.give(range);
        }
    }
}

impl<K> Storage<K> for Boxed<K> {
    #[inline]
    fn parts(&mut self) -> Parts<'_, K> {
        Parts {
            peers: &mut self.peers,
            links: &mut self.links,
            inbound: &mut self.inbound,
            outbound: &mut self.outbound,
            sent: &mut self.sent,
            windows: &mut self.windows,
            ring: &mut self.ring,
            held: &mut self.held,
            slots: &mut self.slots,
            timers: &mut self.timers,
        }
    }

    fn find(&self, id: PeerId) -> Option<PeerIx> {
        let same = |ix: &PeerIx| self.peers.get(ix.at()).is_some_and(|p| p.id() == id);
        self.ids.find(self.hasher.hash_one(id), same).copied()
    }
}

impl<K> fmt::Debug for Boxed<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Boxed")
            .field("peers", &self.peers.len())
            .field("links", &self.links.len())
            .field("inbound", &self.inbound.len())
            .field("outbound", &self.outbound.len())
            .field("ring", &self.ring.len())
            .finish_non_exhaustive()
    }
}

fn filled<T: Default>(len: usize) -> Box<[T]> {
    std::iter::repeat_with(T::default).take(len).collect()
}

fn hash_at(hasher: &RandomState, peers: &[Peer], at: PeerIx) -> u64 {
    hasher.hash_one(peers.get(at.at()).map(Peer::id).unwrap_or_default())
}
