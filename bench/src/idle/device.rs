//! One device: a microcontroller's limits and the smallest arrays.
use std::net::SocketAddr;

use anyhow::{Context, Result};
use tallylink_core::{
    Config, End, Endpoint, EpochSource, Fixed, KeyId, Name, OutIx, Path, PeerId, PeerIx, Provision,
    crypto::{Crypto, Forged, Psk, Secret, Suite, Suites, Tag},
};
use tallylink_gateway::keystore::Entry;
use tallylink_linux::{Clock, boot_seed, crypto::AwsLc};

/// Bytes of a datagram, at the most.
pub(super) const DATAGRAM: usize = 1_200;
/// Bytes of its outbox.
const RING: usize = 128;
const IN_FLIGHT: usize = 4;
const RECORD: [u8; 61] = [b'x'; 61];
const PEER: PeerIx = PeerIx(0);
const STREAM: OutIx = OutIx(0);

pub(super) type Device = Endpoint<Lean, Fixed<LeanKey, 1, 0, 1, IN_FLIGHT, RING, 0, DATAGRAM, 1>>;

/// Provisioned, with a stream, and not heard of yet.
pub(super) fn new(entry: &Entry, gateway: SocketAddr, clock: &Clock) -> Result<Device> {
    let config = Config {
        max_record: 63,
        in_flight: IN_FLIGHT as u32,
        held: 0,
        first_credit: 1024,
        streams: 1,
        max_peers: 1,
        ..Config::small()
    };
    let mut device = Endpoint::new(config, Lean, Fixed::new(), boot_seed()?)?;
    let psk = Psk::from_bytes(*entry.secret.expose());
    device.add_peer(PEER, Provision::new(PeerId(entry.peer.0), End::Device, KeyId(entry.key_id), psk))?;
    device.connect(clock.now(), PEER, Path::to(gateway))?;
    let name = Name::new("readings").context("a name")?;
    device.open(clock.now(), STREAM, PEER, name, EpochSource::FirstSession, 0, 0..RING as u32)?;
    Ok(device)
}

pub(super) fn push(device: &mut Device, clock: &Clock) -> Result<()> {
    device.push(clock.now(), STREAM, &RECORD)?;
    Ok(())
}

/// As a microcontroller does it: keys are kept raw, and expanded for each packet.
pub(super) struct Lean;

pub(super) struct LeanKey {
    suite: Suite,
    secret: Secret,
}

impl LeanKey {
    fn with<T>(&self, work: impl FnOnce(&<AwsLc as Crypto>::Key) -> T) -> Option<T> {
        let mut key = None;
        AwsLc.expand(self.suite, &self.secret, &mut key);
        key.as_ref().map(work)
    }
}

impl Crypto for Lean {
    type Key = LeanKey;

    fn suites(&self) -> Suites {
        AwsLc.suites()
    }

    fn has_fast_aes(&self) -> bool {
        AwsLc.has_fast_aes()
    }

    fn expand(&self, suite: Suite, secret: &Secret, into: &mut Option<LeanKey>) {
        *into = Some(LeanKey { suite, secret: Secret::from_bytes(*secret.as_bytes()) });
    }

    fn seal(&self, key: &LeanKey, pn: u64, aad: &[u8], body: &mut [u8]) -> Tag {
        key.with(|key| AwsLc.seal(key, pn, aad, body)).unwrap_or(Tag::from_bytes([0; 16]))
    }

    fn open(&self, key: &LeanKey, pn: u64, aad: &[u8], body: &mut [u8], tag: &Tag) -> Result<(), Forged> {
        key.with(|key| AwsLc.open(key, pn, aad, body, tag)).unwrap_or(Err(Forged))
    }
}
