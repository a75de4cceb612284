//! The device end and its limits.

use tallylink_core::crypto::{Psk, Soft, SoftKey};
use tallylink_core::{
    BootSeed, Config, ConfigError, End as Side, Endpoint, EpochSource, Fixed, Instant, KeyId, Name, OutIx, PeerId,
    PeerIx, Provision,
};

/// The only peer.
pub(crate) const GATEWAY: PeerIx = PeerIx(0);
/// The only stream.
pub(crate) const STREAM: OutIx = OutIx(0);
/// The largest datagram.
pub(crate) const DATAGRAM: usize = 1200;
/// Bytes of records that wait until they are STORED.
const RING: usize = 4096;
/// Packets out at once.
const IN_FLIGHT: usize = 8;

/// What the end works on. It lies in a `static`.
pub type Arrays = Fixed<SoftKey, 1, 0, 1, IN_FLIGHT, RING, 0, DATAGRAM, 1>;

/// The device end of one gateway.
pub type End<'a> = Endpoint<Soft, &'a mut Arrays>;

/// A device end with one stream.
///
/// The constants are those that `tallylink peer add NAME --format rust` prints. `boot` never repeats: 16 bytes from a generator,
/// or a counter in flash.
///
/// # Errors
/// A limit that is out of range: these are not.
pub fn end<'a>(
    arrays: &'a mut Arrays,
    boot: BootSeed,
    (peer_id, key_id, key): ([u8; 8], u8, [u8; 16]),
    stream: &str,
) -> Result<End<'a>, ConfigError> {
    let config = Config { held: 0, in_flight: IN_FLIGHT as u32, max_peers: 1, ..Config::small() };
    let mut end = Endpoint::new(config, Soft, arrays, boot)?;
    let me = Provision::new(PeerId(peer_id), Side::Device, KeyId(key_id), Psk::from_bytes(key));
    let wrong = |_| ConfigError { field: "identity", must: "one device's" };
    end.add_peer(GATEWAY, me).map_err(wrong)?;
    let name = Name::new(stream).ok_or(ConfigError { field: "stream", must: "1 to 64 bytes" })?;
    let now = Instant::from_micros(0);
    end.open(now, STREAM, GATEWAY, name, EpochSource::FirstSession, 0, 0..RING as u32).map_err(wrong)?;
    Ok(end)
}
