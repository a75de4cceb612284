//! AES-128-GCM by *ring*, where that is faster: on processors that have AES and carry-less multiplication for two blocks at
//! once, and not AVX-512. For those with AVX-512 AWS-LC has code of its own; with this it takes one block at a time.

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use std::hint::black_box;
use tallylink_core::crypto::{Forged, TAG_LEN, Tag, nonce};

/// An expanded key, on the heap: it is in one place, and overwritten there when it is dropped.
pub(super) struct Key(Box<LessSafeKey>);

/// Whether this processor is one of those.
pub(super) fn is_faster() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("vaes") && has!("vpclmulqdq") && has!("avx2") && has!("movbe") && has!("bmi2") && !has!("avx512f")
}

fn expand(key: &[u8; 16]) -> Option<LessSafeKey> {
    UnboundKey::new(&AES_128_GCM, key).ok().map(LessSafeKey::new)
}

impl Key {
    pub(super) fn new(key: &[u8; 16]) -> Option<Self> {
        expand(key).map(Box::new).map(Self)
    }

    /// `None` when *ring* refuses.
    #[inline]
    pub(super) fn seal(&self, pn: u64, aad: &[u8], body: &mut [u8]) -> Option<Tag> {
        let nonce = Nonce::assume_unique_for_key(nonce(pn));
        let sealed = self.0.seal_in_place_separate_tag(nonce, Aad::from(aad), body).ok()?;
        <[u8; TAG_LEN]>::try_from(sealed.as_ref()).ok().map(Tag::from_bytes)
    }

    #[inline]
    pub(super) fn open(&self, pn: u64, aad: &[u8], body: &mut [u8], tag: &Tag) -> Result<(), Forged> {
        let nonce = Nonce::assume_unique_for_key(nonce(pn));
        let tag = ring::aead::Tag::from(*tag.as_bytes());
        self.0.open_in_place_separate_tag(nonce, Aad::from(aad), tag, body, 0..).map(drop).map_err(|_| Forged)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // *ring* does not wipe its keys. This one makes way for a key that is no secret.
        if let Some(other) = expand(&[0; 16]) {
            *self.0 = other;
            black_box(&mut *self.0);
        }
    }
}
