//! Authentication tags.

use super::Forged;
use core::fmt;
use subtle::ConstantTimeEq;

/// Bytes of a tag, in every suite and of a HELLO.
pub const TAG_LEN: usize = 16;

/// An authentication tag. It has no `==`: the only comparison takes the same time for every pair of tags.
#[derive(Clone, Copy)]
pub struct Tag([u8; TAG_LEN]);

impl Tag {
    /// A tag as received.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; TAG_LEN]) -> Self {
        Self(bytes)
    }

    /// The bytes to send.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; TAG_LEN] {
        &self.0
    }

    /// Compares the computed tag `self` with the `received` one, in constant time.
    ///
    /// # Errors
    /// [`Forged`] if they differ.
    pub fn verify(&self, received: &Self) -> Result<(), Forged> {
        if bool::from(self.0.ct_eq(&received.0)) { Ok(()) } else { Err(Forged) }
    }
}

// A computed tag that does not match must not reach a log, where a forger could read it.
impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tag(..)")
    }
}
