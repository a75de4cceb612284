//! All arrays of an endpoint in one value, for ends without a heap.

use crate::ids::{LinkIx, PeerId, PeerIx};
use crate::link::Link;
use crate::peer::Peer;
use crate::recovery::sent::Sent;
use crate::storage::{Parts, Storage};
use crate::stream::{Held, InStream, OutStream};
use core::array::from_fn;

/// The arrays of an endpoint with `PEERS` peers, each with a link: the only type whose sizes are in its signature.
///
/// `IN` and `OUT` streams are received and sent, all peers together. `SENT` is `Config::in_flight`, `RING` bytes hold the
/// outbox, `HELD` is `Config::held`, `DATAGRAM` is `Config::max_datagram`, and `Config::ack_window` is 64 times `WORDS`.
#[derive(Debug)]
pub struct Fixed<
    K,
    const PEERS: usize,
    const IN: usize,
    const OUT: usize,
    const SENT: usize,
    const RING: usize,
    const HELD: usize,
    const DATAGRAM: usize,
    const WORDS: usize,
> {
    peers: [Peer; PEERS],
    links: [Link<K>; PEERS],
    inbound: [InStream; IN],
    outbound: [OutStream; OUT],
    sent: [[Sent; SENT]; PEERS],
    windows: [[u64; WORDS]; PEERS],
    ring: [u8; RING],
    held: [Held; HELD],
    slots: [[u8; DATAGRAM]; HELD],
    timers: [LinkIx; PEERS],
}

impl<
    K,
    const PEERS: usize,
    const IN: usize,
    const OUT: usize,
    const SENT: usize,
    const RING: usize,
    const HELD: usize,
    const DATAGRAM: usize,
    const WORDS: usize,
> Fixed<K, PEERS, IN, OUT, SENT, RING, HELD, DATAGRAM, WORDS>
{
    const SIZES: () = {
        assert!(PEERS >= 1, "at least one peer");
        assert!(SENT >= 4 && SENT.is_power_of_two(), "SENT is a power of two, at least 4");
        assert!(WORDS >= 1 && WORDS.is_power_of_two(), "WORDS is a power of two, at least 1");
        assert!(DATAGRAM >= 1200 && DATAGRAM <= 65_507, "DATAGRAM is from 1200 to 65507");
        assert!(RING <= 1 << 30, "RING is at most 2^30");
    };

    /// Empty arrays.
    #[must_use]
    pub fn new() -> Self {
        let () = Self::SIZES;
        Self {
            peers: from_fn(|_| Peer::default()),
            links: from_fn(|_| Link::default()),
            inbound: from_fn(|_| InStream::default()),
            outbound: from_fn(|_| OutStream::default()),
            sent: [[Sent::default(); SENT]; PEERS],
            windows: [[0; WORDS]; PEERS],
            ring: [0; RING],
            held: [Held::default(); HELD],
            slots: [[0; DATAGRAM]; HELD],
            timers: [LinkIx::default(); PEERS],
        }
    }
}

impl<
    K,
    const PEERS: usize,
    const IN: usize,
    const OUT: usize,
    const SENT: usize,
    const RING: usize,
    const HELD: usize,
    const DATAGRAM: usize,
    const WORDS: usize,
> Default for Fixed<K, PEERS, IN, OUT, SENT, RING, HELD, DATAGRAM, WORDS>
{
    fn default() -> Self {
        Self::new()
    }
}

impl<
    K,
    const PEERS: usize,
    const IN: usize,
    const OUT: usize,
    const SENT: usize,
    const RING: usize,
    const HELD: usize,
    const DATAGRAM: usize,
    const WORDS: usize,
> Storage<K> for Fixed<K, PEERS, IN, OUT, SENT, RING, HELD, DATAGRAM, WORDS>
{
    fn parts(&mut self) -> Parts<'_, K> {
        Parts {
            peers: &mut self.peers,
            links: &mut self.links,
            inbound: &mut self.inbound,
            outbound: &mut self.outbound,
            sent: self.sent.as_flattened_mut(),
            windows: self.windows.as_flattened_mut(),
            ring: &mut self.ring,
            held: &mut self.held,
            slots: self.slots.as_flattened_mut(),
            timers: &mut self.timers,
        }
    }

    fn find(&self, id: PeerId) -> Option<PeerIx> {
        let at = self.peers.iter().position(|p| p.in_use() && p.id() == id)?;
        Some(PeerIx(at as u32))
    }
}
