//! One end: an endpoint, what it has received, and its address.

use super::processor::Processor;
use super::{Arrays, Inbox};
use std::net::SocketAddr;
use tallylink_core::crypto::Psk;
use tallylink_core::*;

/// The one peer of a pair, at either end.
pub(crate) const PEER: PeerIx = PeerIx(0);
/// The key that both ends hold, and its id.
pub(crate) const KEY: [u8; 16] = [7; 16];

/// Microseconds as the core counts them.
pub(crate) fn at(us: u64) -> Instant {
    Instant::from_micros(us)
}

/// The id of device `n`.
pub(crate) fn peer_id(n: u32) -> PeerId {
    let [a, b, c, d] = n.to_be_bytes();
    PeerId([9, 9, 9, 9, a, b, c, d])
}

pub(crate) struct Node {
    pub(crate) endpoint: Endpoint<Processor, Arrays>,
    pub(crate) inbox: Inbox,
    pub(crate) address: SocketAddr,
    pub(crate) events: Vec<Event>,
    /// Tell the core at once that what was delivered is stored.
    pub(crate) storing: bool,
    /// Whether the next boots are on a processor with AES instructions.
    pub(crate) fast_aes: bool,
    config: Config,
    sizes: [usize; 4],
    pub(crate) end: End,
    /// The first peer's id is that of this device.
    pub(crate) first_id: u32,
    boots: u16,
}

impl Node {
    /// An end with `sizes` of peers, links, streams and ring bytes, and with its peers provisioned.
    pub(crate) fn new(config: Config, end: End, address: &str, sizes: [usize; 4], first_id: u32) -> Self {
        let boots = match end {
            End::Device => 1,
            End::Gateway => 101,
        };
        let address = address.parse().unwrap();
        let endpoint = fresh(&config, true, end, sizes, first_id, entropy(first_id, boots));
        let (inbox, events) = (Inbox::default(), vec![]);
        Self { endpoint, inbox, address, events, storing: true, fast_aes: true, config, sizes, end, first_id, boots }
    }

    /// A new boot of the same end: nothing is left but what is on disk.
    pub(crate) fn restart(&mut self) {
        self.boots += 1;
        self.boot(entropy(self.first_id, self.boots));
    }

    /// A new boot of a board that has no source of entropy.
    pub(crate) fn restart_without_entropy(&mut self) {
        self.boots += 1;
        self.boot(BootSeed::counter(self.boots.into(), self.first_id.into()));
    }

    fn boot(&mut self, seed: BootSeed) {
        self.endpoint = fresh(&self.config, self.fast_aes, self.end, self.sizes, self.first_id, seed);
        self.inbox.power_cut();
    }

    /// The next boots know these limits.
    pub(crate) fn set_config(&mut self, config: Config) {
        self.config = config;
    }

    pub(crate) fn outbound(&self, stream: u32) -> &OutStream {
        &self.endpoint.storage().outbound[stream as usize]
    }

    pub(crate) fn discarded(&self, why: Discard) -> u64 {
        self.endpoint.counters().discarded(why)
    }

    pub(crate) fn faults(&self, why: Fault) -> u64 {
        self.endpoint.counters().faults(why)
    }

    pub(crate) fn next_timeout_us(&self) -> u64 {
        self.endpoint.next_timeout().map_or(u64::MAX, Instant::as_micros)
    }

    /// Takes a datagram as the driver would.
    pub(crate) fn take(&mut self, now: u64, from: SocketAddr, bytes: &mut [u8]) -> Result<Handled, Discard> {
        self.take_marked(now, from, Ecn::NotEct, bytes)
    }

    /// ... with this mark.
    pub(crate) fn take_marked(
        &mut self,
        now: u64,
        from: SocketAddr,
        ecn: Ecn,
        bytes: &mut [u8],
    ) -> Result<Handled, Discard> {
        let handled = self.endpoint.handle_datagram(at(now), &Path::to(from), ecn, bytes, &mut self.inbox);
        if self.storing {
            self.store(now);
        }
        handled
    }

    /// Everything that was delivered is on disk now.
    pub(crate) fn store(&mut self, now: u64) {
        for (i, s) in self.inbox.streams.iter_mut().enumerate() {
            s.stored = s.next.number;
            self.endpoint.stored(at(now), InIx(i as u32), s.epoch, s.stored);
        }
    }

    /// Everything that leaves now, and where to.
    pub(crate) fn transmit(&mut self, now: u64) -> Vec<(SocketAddr, Vec<u8>)> {
        self.transmit_marked(now).into_iter().map(|(to, _, bytes)| (to, bytes)).collect()
    }

    /// ... and with which mark.
    pub(crate) fn transmit_marked(&mut self, now: u64) -> Vec<(SocketAddr, Ecn, Vec<u8>)> {
        let mut out = vec![];
        while let Some(envelope) = self.endpoint.peek_transmit(at(now)) {
            let mut bytes = vec![0; usize::from(envelope.len)];
            assert!(self.endpoint.seal_transmit(at(now), &envelope, &mut bytes));
            out.push((envelope.path.remote, envelope.ecn, bytes));
            assert!(out.len() < 100_000, "it sends for ever");
        }
        while let Some(event) = self.endpoint.next_event() {
            self.events.push(event);
        }
        out
    }

    /// Lets time pass to `until` with nobody at the other end, and returns all that was sent.
    pub(crate) fn alone(&mut self, now: &mut u64, until: u64) -> Vec<Vec<u8>> {
        let mut sent = vec![];
        loop {
            sent.extend(self.transmit(*now).into_iter().map(|(_, bytes)| bytes));
            let next = self.next_timeout_us();
            if next > until {
                *now = until;
                return sent;
            }
            *now = next.max(*now);
            self.endpoint.handle_timeout(at(*now));
        }
    }

    pub(crate) fn told(&self, event: Event) -> bool {
        self.events.contains(&event)
    }
}

fn fresh(
    config: &Config,
    fast_aes: bool,
    end: End,
    sizes: [usize; 4],
    first_id: u32,
    seed: BootSeed,
) -> Endpoint<Processor, Arrays> {
    let [peers, links, streams, ring] = sizes;
    let arrays = Arrays::new(config, peers, links, streams, ring);
    let mut endpoint = Endpoint::new(config.clone(), Processor { fast_aes }, arrays, seed).unwrap();
    for i in 0..peers as u32 {
        let provision = Provision::new(peer_id(first_id + i), end, KeyId(1), Psk::from_bytes(KEY));
        endpoint.add_peer(PeerIx(i), provision).unwrap();
    }
    endpoint
}

fn entropy(first_id: u32, boots: u16) -> BootSeed {
    let [more, few] = boots.to_be_bytes();
    let mut seed = [few; 16];
    seed[15] ^= more;
    seed[..4].copy_from_slice(&first_id.to_be_bytes());
    BootSeed::entropy(seed)
}
