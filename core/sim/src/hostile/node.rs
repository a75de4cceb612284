//! An endpoint whose driver counts what it is asked for.

use super::channel::Key;
use crate::arrays::{Arrays, Sizes};
use std::collections::HashMap;
use std::net::SocketAddr;
use tallylink_core::crypto::{Psk, Soft, SoftKey};
use tallylink_core::{
    Accept, Batch, BootSeed, Config, Deliver, Discard, Ecn, End, Endpoint, Epoch, Event, Full, Handled, InIx, Instant,
    KeyId, Open, OutStream, Path, PeerId, PeerIx, Position, Provision, Refusal,
};

/// Streams that the driver has room for, all peers together.
const STREAMS: usize = 128;

/// An endpoint with two peers, and what it gives its records to.
pub struct Node<D = Driver> {
    /// The endpoint.
    pub endpoint: Endpoint<Soft, Arrays<SoftKey>>,
    /// The driver's part in receiving.
    pub driver: D,
    /// Where it is.
    pub address: SocketAddr,
}

/// Takes records, keeps none, and stores each at once.
#[derive(Default)]
pub struct Driver {
    names: HashMap<(PeerIx, String), InIx>,
    streams: Vec<(Epoch, Position)>,
    /// Calls of [`Deliver`].
    pub(super) calls: u64,
    /// Records that began, by peer.
    pub(super) records: [u64; 2],
    owners: Vec<PeerIx>,
}

impl<D: Deliver> Node<D> {
    /// An end whose peers have these ids and keys, and two streams to send, each with a ring of 2^`ring_bits` bytes.
    ///
    /// # Panics
    /// The address is none, or a limit is out of range.
    #[must_use]
    pub fn new(config: &Config, end: End, address: &str, peers: [(PeerId, Key); 2], ring_bits: u32, driver: D) -> Self {
        let sizes = Sizes { peers: 2, links: 2, inbound: STREAMS, outbound: 2, ring: 2 << ring_bits };
        let arrays = Arrays::new(config, sizes);
        let address: SocketAddr = address.parse().expect("an address");
        let seed = BootSeed::entropy([address.port() as u8; 16]);
        let mut endpoint = Endpoint::new(config.clone(), Soft, arrays, seed).expect("the limits fit the arrays");
        for ((id, key), at) in peers.into_iter().zip(0..) {
            let provision = Provision::new(id, end, KeyId(1), Psk::from_bytes(key));
            endpoint.add_peer(PeerIx(at), provision).expect("the slot is empty");
        }
        Self { endpoint, driver, address }
    }

    /// Takes a datagram.
    ///
    /// # Errors
    /// Why it had no effect.
    pub fn take(&mut self, now: u64, from: SocketAddr, bytes: &mut [u8]) -> Result<Handled, Discard> {
        self.endpoint.handle_datagram(at(now), &Path::to(from), Ecn::NotEct, bytes, &mut self.driver)
    }

    /// Everything that leaves now, and where to.
    ///
    /// # Panics
    /// It does not stop sending.
    pub fn transmit(&mut self, now: u64) -> Vec<(SocketAddr, Vec<u8>)> {
        let mut sent = vec![];
        while let Some(envelope) = self.endpoint.peek_transmit(at(now)) {
            let mut bytes = vec![0; usize::from(envelope.len)];
            assert!(self.endpoint.seal_transmit(at(now), &envelope, &mut bytes), "what was planned can be sealed");
            sent.push((envelope.path.remote, bytes));
            assert!(sent.len() < 100_000, "it sends for ever");
        }
        while let Some(event) = self.endpoint.next_event() {
            let _: Event = event;
        }
        sent
    }

    /// When its next timer fires.
    #[must_use]
    pub fn timeout(&self) -> u64 {
        self.endpoint.next_timeout().map_or(u64::MAX, Instant::as_micros)
    }

    /// A stream that is sent.
    #[must_use]
    pub fn outbound(&self, stream: usize) -> &OutStream {
        &self.endpoint.storage().outbound()[stream]
    }
}

impl Node {
    /// Everything that was delivered is stored.
    pub(super) fn store(&mut self, now: u64) {
        for (stream, (epoch, next)) in self.driver.streams.iter().enumerate() {
            self.endpoint.stored(at(now), InIx(stream as u32), *epoch, next.number);
        }
    }
}

/// Microseconds as the core counts them.
#[must_use]
pub fn at(us: u64) -> Instant {
    Instant::from_micros(us)
}

impl Deliver for Driver {
    fn open(&mut self, peer: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        self.calls += 1;
        let place = match self.names.get(&(peer, open.name.to_owned())) {
            Some(place) => *place,
            None if self.streams.len() == STREAMS => return Err(Refusal::TooMany),
            None => {
                let place = InIx(self.streams.len() as u32);
                self.names.insert((peer, open.name.to_owned()), place);
                self.streams.push((open.epoch, Position::default()));
                self.owners.push(peer);
                place
            }
        };
        let (epoch, next) = &mut self.streams[place.at()];
        if *epoch != open.epoch {
            (*epoch, *next) = (open.epoch, Position::default());
        }
        // An unfinished record is void when its stream is opened again.
        next.offset = 0;
        Ok(Accept { stream: place, stored_below: next.number, next: next.number })
    }

    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        self.calls += 1;
        let (epoch, next) = &mut self.streams[batch.stream.at()];
        assert_eq!((batch.epoch, batch.from), (*epoch, *next), "delivery continues the stream");
        *next = batch.to;
        self.records[self.owners[batch.stream.at()].at()] += u64::from(batch.starts);
        Ok(())
    }

    fn gap(&mut self, stream: InIx, _: Epoch, from: u64, below: u64, _: u8) -> Result<(), Full> {
        self.calls += 1;
        let next = &mut self.streams[stream.at()].1;
        assert!(from == next.number && below > from, "a gap continues the stream");
        *next = Position::start_of(below);
        Ok(())
    }
}
