//! Suites, keys and the derivation of keys.
//!
//! A pre-shared key ([`Psk`]) feeds nothing but the key derivation in [`derive()`]. That yields the keys of the
//! HELLO and WELCOME tags and, per session and direction, a [`Secret`]. A backend (a [`Crypto`]) turns a secret into
//! the key of the suite that the session agreed on, and seals and opens packets with it. Every backend produces the
//! same bytes, so which one an end uses is invisible on the wire.
//!
//! Nothing here allocates, prints key bytes, or panics, whatever a peer sends.

#[cfg(feature = "aes-gcm")]
pub mod aes_gcm;
#[cfg(feature = "aes-gcm-siv")]
pub mod aes_gcm_siv;
#[cfg(any(feature = "aes-gcm", feature = "aes-gcm-siv"))]
mod block;
#[cfg(feature = "chacha20-poly1305")]
pub mod chacha20_poly1305;
mod cmac;
mod kdf;
mod secret;
#[cfg(any(feature = "aes-gcm", feature = "aes-gcm-siv", feature = "chacha20-poly1305"))]
mod soft;
mod suite;
mod tag;

pub use cmac::mac;
pub use kdf::{Label, derive, derive_secret};
pub use secret::{Psk, Secret};
#[cfg(any(feature = "aes-gcm", feature = "aes-gcm-siv", feature = "chacha20-poly1305"))]
pub use soft::{Soft, SoftKey};
pub use suite::{Suite, Suites};
pub use tag::{TAG_LEN, Tag};

/// Bytes of a nonce, in every suite.
pub const NONCE_LEN: usize = 12;

/// What an implementation of the suites offers.
///
/// A key seals at most [`Suite::packet_limit`] packets and each packet number once; the caller counts. Bodies and
/// associated data are at most one datagram long.
pub trait Crypto {
    /// A key of one suite, as this backend keeps it between packets.
    type Key;

    /// The suites this backend was built with.
    fn suites(&self) -> Suites;

    /// Whether AES is fast here, because the processor has instructions for it. A gateway end chooses suites by it, and a
    /// device end offers them by it (wire-format §4.5).
    fn has_fast_aes(&self) -> bool;

    /// Puts the key of `suite` made from `secret` in `into`, or `None` if the backend does not offer `suite`.
    ///
    /// The key is the leading bytes of the secret, as many as the suite's keys have.
    fn expand(&self, suite: Suite, secret: &Secret, into: &mut Option<Self::Key>);

    /// Encrypts `body` in place as packet `pn` and returns the tag over it and `aad`.
    fn seal(&self, key: &Self::Key, pn: u64, aad: &[u8], body: &mut [u8]) -> Tag;

    /// Decrypts `body` in place if `tag` vouches for packet `pn`, `aad` and `body`.
    ///
    /// # Errors
    /// [`Forged`] if it does not. The body is then all zero: nothing of an unverified packet can be read.
    fn open(&self, key: &Self::Key, pn: u64, aad: &[u8], body: &mut [u8], tag: &Tag) -> Result<(), Forged>;
}

/// A tag does not belong to what came with it. Deliberately says nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forged;

impl core::fmt::Display for Forged {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the tag does not match")
    }
}

impl core::error::Error for Forged {}

/// The nonce of packet `pn`: four zero bytes, then the number in big-endian order.
#[must_use]
pub const fn nonce(pn: u64) -> [u8; NONCE_LEN] {
    let [a, b, c, d, e, f, g, h] = pn.to_be_bytes();
    [0, 0, 0, 0, a, b, c, d, e, f, g, h]
}
