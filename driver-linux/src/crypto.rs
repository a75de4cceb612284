//! The suites by AWS-LC, which uses the processor's AES and vector instructions, and AES-128-GCM by *ring* on processors
//! whose instructions it uses better.

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
#[cfg(target_arch = "x86_64")]
mod vaes;

use aws_lc_rs::aead::{AES_128_GCM, AES_128_GCM_SIV, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use tallylink_core::crypto::{Crypto, Forged, Secret, Suite, Suites, TAG_LEN, Tag, nonce};
use zeroize::Zeroize;

/// Every suite, computed by AWS-LC, or AES-128-GCM by *ring*.
///
/// Its keys are expanded once and kept so; only [`expand`](Crypto::expand) allocates.
#[derive(Debug, Clone, Copy, Default)]
pub struct AwsLc;

/// An expanded key. It is wiped when it is dropped.
pub struct AwsLcKey(Backend);

enum Backend {
    /// AWS-LC wipes it.
    AwsLc(LessSafeKey),
    #[cfg(target_arch = "x86_64")]
    Vaes(vaes::Key),
}

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
        #[cfg(target_arch = "x86_64")]
        if suite == Suite::Aes128Gcm && vaes::is_faster() {
            *into = vaes::Key::new(&secret.leading::<16>()).map(|key| AwsLcKey(Backend::Vaes(key)));
            return;
        }
        let key = match suite {
            Suite::Aes128GcmSiv => UnboundKey::new(&AES_128_GCM_SIV, &*secret.leading::<16>()),
            Suite::Aes128Gcm => UnboundKey::new(&AES_128_GCM, &*secret.leading::<16>()),
            Suite::ChaCha20Poly1305 => UnboundKey::new(&CHACHA20_POLY1305, secret.as_bytes()),
        };
        *into = key.ok().map(|key| AwsLcKey(Backend::AwsLc(LessSafeKey::new(key))));
    }

    #[inline]
    fn seal(&self, key: &AwsLcKey, pn: u64, aad: &[u8], body: &mut [u8]) -> Tag {
        let tag = match &key.0 {
            Backend::AwsLc(key) => {
                let nonce = Nonce::assume_unique_for_key(nonce(pn));
                let sealed = key.seal_in_place_separate_tag(nonce, Aad::from(aad), body).ok();
                sealed.and_then(|tag| <[u8; TAG_LEN]>::try_from(tag.as_ref()).ok()).map(Tag::from_bytes)
            }
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes(key) => key.seal(pn, aad, body),
        };
        // Only lengths beyond a datagram's are refused. Should ever more be, no plaintext may leave.
        tag.unwrap_or_else(|| {
            body.zeroize();
            Tag::from_bytes([0; TAG_LEN])
        })
    }

    #[inline]
    fn open(&self, key: &AwsLcKey, pn: u64, aad: &[u8], body: &mut [u8], tag: &Tag) -> Result<(), Forged> {
        let opened = match &key.0 {
            Backend::AwsLc(key) => {
                let nonce = Nonce::assume_unique_for_key(nonce(pn));
                let opened = key.open_in_place_separate_tag(nonce, Aad::from(aad), tag.as_bytes(), body);
                opened.map(drop).map_err(|_| Forged)
            }
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes(key) => key.open(pn, aad, body, tag),
        };
        opened.inspect_err(|_| {
            // It may have left plaintext that failed the check.
            body.zeroize();
        })
    }
}
