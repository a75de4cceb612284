//! `tallylink_core::crypto` against published vectors, other implementations, and packets that were altered.

#[cfg(feature = "aes-gcm")]
mod aes_gcm;
#[cfg(feature = "aes-gcm-siv")]
mod aes_gcm_siv;
#[cfg(feature = "chacha20-poly1305")]
mod chacha20_poly1305;
mod kdf;
mod keys;
#[cfg(all(feature = "aes-gcm", feature = "aes-gcm-siv", feature = "chacha20-poly1305"))]
mod soft;
#[cfg(any(feature = "aes-gcm", feature = "aes-gcm-siv", feature = "chacha20-poly1305"))]
mod suite;
mod vectors;
