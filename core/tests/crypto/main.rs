//! `tallylink_core::crypto` against published vectors, other implementations, and packets that were altered.

#[cfg(feature = "aes-gcm")]
mod aes_gcm;
#[cfg(feature = "aes-gcm-siv")]
mod aes_gcm_siv;
mod kdf;
mod keys;
#[cfg(all(feature = "aes-gcm", feature = "aes-gcm-siv"))]
mod soft;
#[cfg(any(feature = "aes-gcm", feature = "aes-gcm-siv"))]
mod suite;
mod vectors;
