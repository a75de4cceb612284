//! Key material: never printed, never compared, wiped when dropped.

use core::fmt;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// A pre-shared key: what provisioning gave both ends.
///
/// It feeds only the key derivation ([`derive()`](super::derive())), never a cipher directly.
#[derive(Clone)]
pub struct Psk {
    key: [u8; Self::LEN],
}

impl Psk {
    /// Bytes of a pre-shared key.
    pub const LEN: usize = 16;

    /// Takes the key's bytes. The caller's copy stays the caller's to wipe.
    #[must_use]
    pub const fn from_bytes(key: [u8; Self::LEN]) -> Self {
        Self { key }
    }

    /// The key's bytes, for writing them to a key store.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.key
    }
}

impl fmt::Debug for Psk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Psk(..)")
    }
}

impl Drop for Psk {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl ZeroizeOnDrop for Psk {}

/// The traffic secret of one session and direction, from which a suite takes its key.
pub struct Secret {
    bytes: [u8; Self::LEN],
}

impl Secret {
    /// Bytes of a secret: as many as the longest key of any suite.
    pub const LEN: usize = 32;

    /// Takes a secret's bytes. The caller's copy stays the caller's to wipe.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self { bytes }
    }

    /// The secret's bytes, for a backend's [`expand`](super::Crypto::expand) and for retained memory.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.bytes
    }

    /// A copy of the leading `N` bytes, the key of a suite whose keys have `N`; zeros follow if a secret has fewer.
    #[must_use]
    pub fn leading<const N: usize>(&self) -> Zeroizing<[u8; N]> {
        let mut key = Zeroizing::new([0; N]);
        for (to, from) in key.iter_mut().zip(self.bytes) {
            *to = from;
        }
        key
    }

    /// Overwrites the secret.
    pub fn wipe(&mut self) {
        self.bytes.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

impl ZeroizeOnDrop for Secret {}
