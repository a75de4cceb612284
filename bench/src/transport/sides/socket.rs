//! Sockets and certificates as every side gets them.
use std::net::{Ipv4Addr, UdpSocket};

use anyhow::Result;
use rcgen::{CertifiedKey, KeyPair};
use socket2::SockRef;

/// Asked for in both directions; the kernel's usual bound (`rmem_max`) here, which it then doubles.
const BUFFER: usize = 4 << 20;

/// The name in the certificate.
pub(crate) const SERVER_NAME: &str = "localhost";

/// A UDP socket on loopback with the same buffers for every side.
pub(crate) fn loopback() -> Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let options = SockRef::from(&socket);
    options.set_recv_buffer_size(BUFFER)?;
    options.set_send_buffer_size(BUFFER)?;
    Ok(socket)
}

/// A certificate that nobody but the other thread needs to believe.
pub(crate) fn certificate() -> Result<CertifiedKey<KeyPair>> {
    Ok(rcgen::generate_simple_self_signed([SERVER_NAME.into()])?)
}

/// A runtime that stays on the calling thread, so that the thread's CPU is all there is.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
