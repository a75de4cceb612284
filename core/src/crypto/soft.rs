//! The backend in portable code, for any processor.

#[cfg(feature = "aes-gcm")]
use super::aes_gcm;
#[cfg(feature = "aes-gcm-siv")]
use super::aes_gcm_siv;
#[cfg(feature = "chacha20-poly1305")]
use super::chacha20_poly1305;
use super::{Crypto, Forged, Secret, Suite, Suites, Tag, nonce};
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// The suites whose features this build enables, computed by core itself.
///
/// Keys are kept raw and expanded on the stack for every packet: a microcontroller has more time than memory. On
/// x86-64 and 64-bit ARM the processor's AES and carry-less multiplication are used where present.
#[derive(Debug, Clone, Copy, Default)]
pub struct Soft;

/// A key of [`Soft`]: its bytes and its suite.
pub struct SoftKey(Key);

enum Key {
    #[cfg(feature = "aes-gcm-siv")]
    Aes128GcmSiv(Zeroizing<[u8; 16]>),
    #[cfg(feature = "aes-gcm")]
    Aes128Gcm(Zeroizing<[u8; 16]>),
    #[cfg(feature = "chacha20-poly1305")]
    ChaCha20Poly1305(Zeroizing<[u8; 32]>),
}

impl core::fmt::Debug for SoftKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("SoftKey(..)")
    }
}

// Every variant holds `Zeroizing` bytes.
impl ZeroizeOnDrop for SoftKey {}

impl Crypto for Soft {
    type Key = SoftKey;

    fn suites(&self) -> Suites {
        let suites = Suites::NONE;
        #[cfg(feature = "aes-gcm-siv")]
        let suites = suites.with(Suite::Aes128GcmSiv);
        #[cfg(feature = "aes-gcm")]
        let suites = suites.with(Suite::Aes128Gcm);
        #[cfg(feature = "chacha20-poly1305")]
        let suites = suites.with(Suite::ChaCha20Poly1305);
        suites
    }

    // Without the operating system most processors cannot be asked. The 64-bit ones of today have the instructions, the
    // Raspberry Pi 4 and older ones excepted.
    fn has_fast_aes(&self) -> bool {
        cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))
    }

    fn expand(&self, suite: Suite, secret: &Secret, into: &mut Option<SoftKey>) {
        *into = match suite {
            #[cfg(feature = "aes-gcm-siv")]
            Suite::Aes128GcmSiv => Some(SoftKey(Key::Aes128GcmSiv(secret.leading()))),
            #[cfg(feature = "aes-gcm")]
            Suite::Aes128Gcm => Some(SoftKey(Key::Aes128Gcm(secret.leading()))),
            #[cfg(feature = "chacha20-poly1305")]
            Suite::ChaCha20Poly1305 => Some(SoftKey(Key::ChaCha20Poly1305(secret.leading()))),
            #[cfg(not(all(feature = "aes-gcm-siv", feature = "aes-gcm", feature = "chacha20-poly1305")))]
            _ => None,
        };
    }

    fn seal(&self, key: &SoftKey, pn: u64, aad: &[u8], body: &mut [u8]) -> Tag {
        match &key.0 {
            #[cfg(feature = "aes-gcm-siv")]
            Key::Aes128GcmSiv(key) => aes_gcm_siv::seal(key, &nonce(pn), aad, body),
            #[cfg(feature = "aes-gcm")]
            Key::Aes128Gcm(key) => aes_gcm::seal(key, &nonce(pn), aad, body),
            #[cfg(feature = "chacha20-poly1305")]
            Key::ChaCha20Poly1305(key) => chacha20_poly1305::seal(key, &nonce(pn), aad, body),
        }
    }

    fn open(&self, key: &SoftKey, pn: u64, aad: &[u8], body: &mut [u8], tag: &Tag) -> Result<(), Forged> {
        match &key.0 {
            #[cfg(feature = "aes-gcm-siv")]
            Key::Aes128GcmSiv(key) => aes_gcm_siv::open(key, &nonce(pn), aad, body, tag),
            #[cfg(feature = "aes-gcm")]
            Key::Aes128Gcm(key) => aes_gcm::open(key, &nonce(pn), aad, body, tag),
            #[cfg(feature = "chacha20-poly1305")]
            Key::ChaCha20Poly1305(key) => chacha20_poly1305::open(key, &nonce(pn), aad, body, tag),
        }
    }
}
