//! A device end that only sends, with limits for a small board.
#![cfg(any(feature = "aes-gcm", feature = "aes-gcm-siv", feature = "chacha20-poly1305"))]

use crate::board::Board;
use crate::device::{DeviceEnd, StartError};
use tallylink_core::crypto::{Soft, SoftKey};
use tallylink_core::{Config, Fixed, Provision};

/// Packets out at once.
const IN_FLIGHT: usize = 8;
/// The least that a path must carry.
const DATAGRAM: usize = 1200;
/// 64 packet numbers each.
const WINDOW_WORDS: usize = 1;

/// A device end that sends up to `STREAMS` streams, whose records wait in `RING` bytes, and receives none. Suites are computed
/// in software. Records have at most 1,024 bytes.
pub type Sensor<const STREAMS: usize, const RING: usize> = DeviceEnd<Soft, SensorArrays<STREAMS, RING>, DATAGRAM>;

/// The same with its arrays in a `static`, for a stack on which they have no room.
pub type StaticSensor<const STREAMS: usize, const RING: usize> =
    DeviceEnd<Soft, &'static mut SensorArrays<STREAMS, RING>, DATAGRAM>;

/// What a sensor works on, its ring included.
pub type SensorArrays<const STREAMS: usize, const RING: usize> =
    Fixed<SoftKey, 1, 0, STREAMS, IN_FLIGHT, RING, 0, DATAGRAM, WINDOW_WORDS>;

impl<const STREAMS: usize, const RING: usize> Sensor<STREAMS, RING> {
    /// A sensor that is `me`.
    ///
    /// # Errors
    /// The board's, or a [`StartError`] that says what is wrong with the identity.
    pub fn new<B: Board>(board: &mut B, me: Provision) -> Result<Self, StartError<B::Error>> {
        Self::with(config(), Soft, Fixed::new(), board, me)
    }
}

impl<const STREAMS: usize, const RING: usize> StaticSensor<STREAMS, RING> {
    /// A sensor that is `me`.
    ///
    /// # Errors
    /// As for [`Sensor::new`].
    pub fn in_static<B: Board>(
        arrays: &'static mut SensorArrays<STREAMS, RING>,
        board: &mut B,
        me: Provision,
    ) -> Result<Self, StartError<B::Error>> {
        Self::with(config(), Soft, arrays, board, me)
    }
}

/// A sender-only end holds nothing ahead of a gap.
fn config() -> Config {
    Config { held: 0, in_flight: IN_FLIGHT as u32, max_peers: 1, ..Config::small() }
}
