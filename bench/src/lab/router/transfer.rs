//! Packets from and to a device, many to a system call where they are of one kind.
use std::io::ErrorKind;

use anyhow::{Context, Result};
use tun_rs::{GROTable, SyncDevice, VIRTIO_NET_HDR_LEN};

/// The largest that a device hands over in one go, which may be many packets.
const LARGEST: usize = VIRTIO_NET_HDR_LEN + (1 << 16);
/// No packet is larger.
const PACKET: usize = 1500;
/// Packets that one such piece may be cut into.
const PIECES: usize = 512;
/// Pieces that are fetched before something else has its turn.
const FETCHES: usize = 64;
/// Packets that are put into a device together.
const TOGETHER: usize = 64;

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

/// Puts packets into a device.
pub(super) struct Outbox {
    table: GROTable,
    /// Each with room for all that can be joined to it.
    waiting: Vec<Vec<u8>>,
    filled: usize,
}

impl Outbox {
    pub(super) fn new() -> Self {
        let waiting = (0..TOGETHER).map(|_| Vec::with_capacity(2 * LARGEST)).collect();
        Self { table: GROTable::new(), waiting, filled: 0 }
    }

    /// Takes a packet, to be sent with others at the latest at [`Outbox::flush`].
    pub(super) fn put(&mut self, device: &SyncDevice, packet: &[u8]) {
        if let Some(place) = self.waiting.get_mut(self.filled) {
            place.clear();
            place.resize(VIRTIO_NET_HDR_LEN, 0);
            place.extend_from_slice(packet);
            self.filled += 1;
        }
        if self.filled == self.waiting.len() {
            self.flush(device);
        }
    }

    /// Sends what waits. What the kernel does not take, such as a packet with a broken header, is lost.
    pub(super) fn flush(&mut self, device: &SyncDevice) {
        if self.filled > 0 {
            let _ = device.send_multiple(&mut self.table, &mut self.waiting[..self.filled], VIRTIO_NET_HDR_LEN);
            self.filled = 0;
        }
    }
}
