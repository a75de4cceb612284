//! The arrays that a test lends to an endpoint.

use super::processor::Key;
use tallylink_core::*;

pub(crate) struct Arrays {
    pub(crate) peers: Vec<Peer>,
    pub(crate) links: Vec<Link<Key>>,
    pub(crate) inbound: Vec<InStream>,
    pub(crate) outbound: Vec<OutStream>,
    sent: Vec<Sent>,
    windows: Vec<u64>,
    ring: Vec<u8>,
    held: Vec<Held>,
    slots: Vec<u8>,
    timers: Vec<LinkIx>,
}

impl Arrays {
    pub(crate) fn new(config: &Config, peers: usize, links: usize, streams: usize, ring: usize) -> Self {
        Self {
            peers: (0..peers).map(|_| Peer::default()).collect(),
            links: (0..links).map(|_| Link::default()).collect(),
            inbound: (0..streams).map(|_| InStream::default()).collect(),
            outbound: (0..streams).map(|_| OutStream::default()).collect(),
            sent: vec![Sent::default(); links * config.in_flight as usize],
            windows: vec![0; links * (config.ack_window / 64) as usize],
            ring: vec![0; ring],
            held: vec![Held::default(); usize::from(config.held)],
            slots: vec![0; usize::from(config.held) * usize::from(config.max_datagram)],
            timers: vec![LinkIx(0); links],
        }
    }
}

impl Storage<Key> for Arrays {
    fn parts(&mut self) -> Parts<'_, Key> {
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
        self.peers.iter().position(|p| p.in_use() && p.id() == id).map(|i| PeerIx(i as u32))
    }
}
