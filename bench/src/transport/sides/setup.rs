//! Certificates and runtimes as every side gets them.
use anyhow::Result;
use rcgen::{CertifiedKey, KeyPair};

/// The name in the certificate.
pub(crate) const SERVER_NAME: &str = "localhost";

/// A certificate that nobody but the other thread needs to believe.
pub(crate) fn certificate() -> Result<CertifiedKey<KeyPair>> {
    Ok(rcgen::generate_simple_self_signed([SERVER_NAME.into()])?)
}

/// A runtime that stays on the calling thread, so that the thread's CPU is all there is.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
