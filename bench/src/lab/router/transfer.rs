//! Packets from and to a device.
use std::io::ErrorKind;

use anyhow::{Context, Result};
use tun_rs::{SyncDevice, VIRTIO_NET_HDR_LEN};

/// The largest that a device hands over in one go, which may be many packets.
const LARGEST: usize = VIRTIO_NET_HDR_LEN + (1 << 16);
/// No packet is larger.
const PACKET: usize = 1500;
/// Packets that one such piece may be cut into.
const PIECES: usize = 512;
/// Pieces that are fetched before something else has its turn.
const FETCHES: usize = 64;

/// Fetches packets.
pub(super) struct Inbox {
    whole: Vec<u8>,
    pieces: Vec<Vec<u8>>,
    sizes: Vec<usize>,
}

impl Inbox {
    pub(super) fn new() -> Self {
        Self { whole: vec![0; LARGEST], pieces: vec![vec![0; PACKET]; PIECES], sizes: vec![0; PIECES] }
    }

    /// Hands out what waits, up to a bound. Returns false when nothing did.
    pub(super) fn fetch(&mut self, device: &SyncDevice, mut take: impl FnMut(&[u8])) -> Result<bool> {
        for fetched in 0..FETCHES {
            match device.recv_multiple(&mut self.whole, &mut self.pieces, &mut self.sizes, 0) {
                Ok(count) => {
                    for (piece, size) in self.pieces.iter().zip(&self.sizes).take(count) {
                        take(&piece[..*size]);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(fetched > 0),
                Err(error) => return Err(error).context("cannot read from a TUN device"),
            }
        }
        Ok(true)
    }
}

/// Puts packets into a device, one by one: joined ones would spare calls, but were seen to reach a socket as one datagram.
pub(super) struct Outbox {
    /// A packet behind an empty header, which says that there is nothing left to do to it.
    framed: Vec<u8>,
    refused: u64,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self { framed: Vec::with_capacity(VIRTIO_NET_HDR_LEN + PACKET), refused: 0 }
    }

    pub(super) fn put(&mut self, device: &SyncDevice, packet: &[u8]) {
        self.framed.clear();
        self.framed.resize(VIRTIO_NET_HDR_LEN, 0);
        self.framed.extend_from_slice(packet);
        self.refused += u64::from(device.send(&self.framed).is_err());
    }

    /// Packets that the kernel did not take.
    pub(super) fn refused(&self) -> u64 {
        self.refused
    }
}
