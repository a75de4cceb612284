//! The arrays that an end lends to its endpoint: plain vectors, exactly as long as its limits say.

use tallylink_core::{Config, Held, InStream, Link, LinkIx, OutStream, Parts, Peer, PeerId, PeerIx, Sent, Storage};

/// Vectors for one endpoint.
#[derive(Debug)]
pub struct Arrays<K> {
    peers: Vec<Peer>,
    links: Vec<Link<K>>,
    inbound: Vec<InStream>,
    outbound: Vec<OutStream>,
    sent: Vec<Sent>,
    windows: Vec<u64>,
    ring: Vec<u8>,
    held: Vec<Held>,
    slots: Vec<u8>,
    timers: Vec<LinkIx>,
}

/// How many of what there can be.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Peers.
    pub peers: usize,
    /// Active peers.
    pub links: usize,
    /// Received streams, all peers together.
    pub inbound: usize,
    /// Sent streams, all peers together.
    pub outbound: usize,
    /// Bytes of all rings.
    pub ring: usize,
}

impl<K> Arrays<K> {
    /// Empty arrays for these limits.
    #[must_use]
    pub fn new(config: &Config, sizes: Sizes) -> Self {
        let Sizes { peers, links, inbound, outbound, ring } = sizes;
        let held = usize::from(config.held);
        Self {
            peers: many(peers),
            links: many(links),
            inbound: many(inbound),
            outbound: many(outbound),
            sent: many(links * config.in_flight as usize),
            windows: many(links * (config.ack_window as usize / 64)),
            ring: many(ring),
            held: many(held),
            slots: many(held * usize::from(config.max_datagram)),
            timers: many(links),
        }
    }

    /// The streams that are sent.
    #[must_use]
    pub fn outbound(&self) -> &[OutStream] {
        &self.outbound
    }

    /// A provisioned peer.
    #[must_use]
    pub fn peer(&self, at: PeerIx) -> &Peer {
        &self.peers[at.at()]
    }
}

fn many<T: Default>(n: usize) -> Vec<T> {
    std::iter::repeat_with(T::default).take(n).collect()
}

impl<K> Storage<K> for Arrays<K> {
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
        let at = self.peers.iter().position(|p| p.in_use() && p.id() == id)?;
        Some(PeerIx(at as u32))
    }
}
