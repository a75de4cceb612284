//! What the host asks for: `NAME=VALUE` words of the command line.

use core::net::SocketAddrV4;
use core::str::FromStr;
use tallylink_smoltcp::WhenFull;

/// Bytes of a command line.
const LINE: usize = 512;

/// How this run goes.
pub(crate) struct Arguments {
    /// Where the gateway is: `gateway=10.0.2.2:7433`.
    pub(crate) gateway: SocketAddrV4,
    /// This device: `peer=` its id, `key=` its key, both in hexadecimal as `tallylink peer add` prints them; `key-id=0`.
    pub(crate) peer: [u8; 8],
    pub(crate) key: [u8; 16],
    pub(crate) key_id: u8,
    /// How often the board has started: `boots=1`. A board counts that in flash, which the emulated ones have none of.
    pub(crate) boots: u64,
    /// Readings in all: `readings=10000`.
    pub(crate) readings: u64,
    /// Milliseconds between two: `every-ms=0`. 0 is as fast as there is room.
    pub(crate) every_ms: u64,
    /// `when-full=refuse` or `when-full=overwrite`.
    pub(crate) when_full: WhenFull,
    /// The last byte of this device's addresses: `host=15`.
    pub(crate) host: u8,
}

impl Arguments {
    /// Reads them; an error is the word that is wrong or missing.
    pub(crate) fn read() -> Result<Self, &'static str> {
        let line = semihosting::experimental::env::args::<LINE>().map_err(|_| "no command line")?;
        let (mut gateway, mut peer, mut key) = (None, None, None);
        let (mut key_id, mut boots, mut readings, mut every_ms, mut host) = (0, None, 10_000, 0, 15);
        let mut when_full = WhenFull::Refuse;
        for word in (&line).into_iter().skip(1) {
            let (name, value) = word.ok().and_then(|w| w.split_once('=')).ok_or("a word is not NAME=VALUE")?;
            match name {
                "gateway" => gateway = SocketAddrV4::from_str(value).ok(),
                "peer" => peer = hex(value),
                "key" => key = hex(value),
                "key-id" => key_id = value.parse().map_err(|_| "key-id")?,
                "boots" => boots = value.parse().ok(),
                "readings" => readings = value.parse().map_err(|_| "readings")?,
                "every-ms" => every_ms = value.parse().map_err(|_| "every-ms")?,
                "host" => host = value.parse().map_err(|_| "host")?,
                "when-full" => {
                    when_full = match value {
                        "refuse" => WhenFull::Refuse,
                        "overwrite" => WhenFull::Overwrite,
                        _ => return Err("when-full"),
                    }
                }
                _ => return Err("a name that is unknown"),
            }
        }
        let (gateway, peer) = (gateway.ok_or("gateway")?, peer.ok_or("peer")?);
        let (key, boots) = (key.ok_or("key")?, boots.ok_or("boots")?);
        Ok(Self { gateway, peer, key, key_id, boots, readings, every_ms, when_full, host })
    }
}

/// Bytes from twice as many hexadecimal digits.
fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}
