//! A pre-shared key in memory.

use std::fmt;

use zeroize::Zeroizing;

/// A peer's 16-byte pre-shared key. It has no text form, `Debug` hides it, and it is wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<[u8; 16]>);

impl Secret {
    /// Takes over the bytes of a key.
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// A new key from the kernel's random numbers.
    ///
    /// # Errors
    /// The kernel gave none.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = Zeroizing::new([0; 16]);
        getrandom::fill(&mut *bytes)?;
        Ok(Self(bytes))
    }

    /// The bytes, for a key derivation or for showing the key to whoever provisions the device.
    pub fn expose(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}
