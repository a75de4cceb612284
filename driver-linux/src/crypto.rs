//! The suites by AWS-LC, which uses the processor's AES and vector instructions.

use aws_lc_rs::aead::{AES_128_GCM, AES_128_GCM_SIV, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use tallylink_core::crypto::{Crypto, Forged, Secret, Suite, Suites, TAG_LEN, Tag, nonce};
use zeroize::Zeroize;

/// Every suite, computed by AWS-LC.
///
/// Its keys are expanded once and kept so; only [`expand`](Crypto::expand) allocates.
#[derive(Debug, Clone, Copy, Default)]
pub struct AwsLc;

/// An expanded key. AWS-LC wipes it when it is dropped.
pub struct AwsLcKey(LessSafeKey);

impl std::fmt::Debug for AwsLcKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AwsLcKey(..)")
    }
}

impl Crypto for AwsLc {
    type Key = AwsLcKey;

    fn suites(&self) -> Suites {
        Suites::ALL
    }

    // Carry-less multiplication comes with AES on either processor; GCM wants both.
    fn has_fast_aes(&self) -> bool {
        #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
        let both = std::arch::is_x86_feature_detected!("aes") && std::arch::is_x86_feature_detected!("pclmulqdq");
        #[cfg(target_arch = "aarch64")]
        let both = std::arch::is_aarch64_feature_detected!("aes") && std::arch::is_aarch64_feature_detected!("pmull");
        #[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")))]
        let both = false;
        both
    }

    fn expand(&self, suite: Suite, secret: &Secret, into: &mut Option<AwsLcKey>) {
        let key = match suite {
            Suite::Aes128GcmSiv => UnboundKey::new(&AES_128_GCM_SIV, &*secret.leading::<16>()),
            Suite::Aes128Gcm => UnboundKey::new(&AES_128_GCM, &*secret.leading::<16>()),
            Suite::ChaCha20Poly1305 => UnboundKey::new(&CHACHA20_POLY1305, secret.as_bytes()),
        };
        *into = key.ok().map(|key| AwsLcKey(LessSafeKey::new(key)));
    }

    fn seal(&self, key: &AwsLcKey, pn: u64, aad: &[u8], body: &mut [u8]) -> Tag {
        let nonce = Nonce::assume_unique_for_key(nonce(pn));
        let sealed = key.0.seal_in_place_separate_tag(nonce, Aad::from(aad), body);
        let tag = sealed.ok().and_then(|tag| <[u8; TAG_LEN]>::try_from(tag.as_ref()).ok());
        // AWS-LC refuses only lengths beyond a datagram's. Should it ever refuse more, no plaintext may leave.
        Tag::from_bytes(tag.unwrap_or_else(|| {
            body.zeroize();
            [0; TAG_LEN]
        }))
    }

    fn open(&self, key: &AwsLcKey, pn: u64, aad: &[u8], body: &mut [u8], tag: &Tag) -> Result<(), Forged> {
        let nonce = Nonce::assume_unique_for_key(nonce(pn));
        let opened = key.0.open_in_place_separate_tag(nonce, Aad::from(aad), tag.as_bytes(), body);
        opened.map(drop).map_err(|_| {
            // It may have left plaintext that failed the check.
            body.zeroize();
            Forged
        })
    }
}
