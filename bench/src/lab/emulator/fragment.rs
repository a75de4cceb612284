//! IPv4 fragments (RFC 791 §3.2).
use super::ip::{self, Header};

/// Flag of all fragments but the last, in the field that also holds the offset.
const MORE: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;

/// Cuts a packet into fragments that fit `mtu`.
pub(super) fn split(packet: &[u8], header: &Header, mtu: usize) -> Vec<Vec<u8>> {
    let (head, payload) = packet.split_at(header.length);
    // Offsets count in units of 8 bytes.
    let piece = (mtu.saturating_sub(header.length) / 8).max(1) * 8;
    let field = u16::from_be_bytes([head[6], head[7]]);
    let pieces = payload.chunks(piece).enumerate();
    let last = payload.len().div_ceil(piece).saturating_sub(1);
    pieces
        .map(|(index, piece_bytes)| {
            let mut fragment = head.to_vec();
            let length = ((header.length + piece_bytes.len()) as u16).to_be_bytes();
            let offset = (field & OFFSET) + (index * piece / 8) as u16;
            let more = if index < last { MORE } else { field & MORE };
            fragment[2..4].copy_from_slice(&length);
            fragment[6..8].copy_from_slice(&(more | offset).to_be_bytes());
            fragment[10..12].fill(0);
            let sum = ip::checksum(0, &fragment).to_be_bytes();
            fragment[10..12].copy_from_slice(&sum);
            fragment.extend_from_slice(piece_bytes);
            fragment
        })
        .collect()
}
