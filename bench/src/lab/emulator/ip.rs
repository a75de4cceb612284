//! IP packets, as far as a router looks into them.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
pub(super) const ICMP_V6: u8 = 58;

/// What a router reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// Of the first header behind this one.
    pub(super) protocol: u8,
    /// Bytes of this header.
    pub(super) length: usize,
    /// IPv4 without "don't fragment".
    pub(super) may_fragment: bool,
    /// A fragment other than the first: there is no transport header in it.
    later_fragment: bool,
}

/// One of a packet's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Source,
    Destination,
}

impl Header {
    pub(super) fn parse(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Self::v4(packet),
            6 => Self::v6(packet),
            _ => None,
        }
    }

    fn v4(packet: &[u8]) -> Option<Self> {
        let head: &[u8; 20] = packet.first_chunk()?;
        let length = usize::from(head[0] & 0xf) * 4;
        let fragment = u16::from_be_bytes([head[6], head[7]]);
        let address = |from: usize| Ipv4Addr::new(head[from], head[from + 1], head[from + 2], head[from + 3]);
        (20..=packet.len()).contains(&length).then(|| Self {
            source: address(12).into(),
            destination: address(16).into(),
            protocol: head[9],
            length,
            may_fragment: fragment & 0x4000 == 0,
            later_fragment: fragment & 0x1fff != 0,
        })
    }

    fn v6(packet: &[u8]) -> Option<Self> {
        let head: &[u8; 40] = packet.first_chunk()?;
        let address = |bytes: &[u8]| <[u8; 16]>::try_from(bytes).ok().map(Ipv6Addr::from);
        Some(Self {
            source: address(&head[8..24])?.into(),
            destination: address(&head[24..40])?.into(),
            protocol: head[6],
            length: 40,
            may_fragment: false,
            later_fragment: false,
        })
    }

    /// Where the transport's checksum stands. UDP over IPv4 may have none.
    fn checksum_at(&self, packet: &[u8]) -> Option<usize> {
        let at = self.length + if self.protocol == TCP { 16 } else { 6 };
        let field = packet.get(at..at + 2)?;
        let known = self.protocol == TCP || self.protocol == UDP && field != [0, 0];
        (known && !self.later_fragment).then_some(at)
    }

    /// Where an address stands, and how long it is.
    fn address_at(&self, which: Which) -> (usize, usize) {
        match (self.source, which) {
            (IpAddr::V4(_), Which::Source) => (12, 4),
            (IpAddr::V4(_), Which::Destination) => (16, 4),
            (IpAddr::V6(_), Which::Source) => (8, 16),
            (IpAddr::V6(_), Which::Destination) => (24, 16),
        }
    }
}

/// Puts another address into a packet and mends its checksums (RFC 1624).
pub(super) fn readdress(packet: &mut [u8], which: Which, to: IpAddr) {
    let Some(header) = Header::parse(packet) else {
        return;
    };
    let (at, length) = header.address_at(which);
    let mut new = [0; 16];
    match to {
        IpAddr::V4(to) if length == 4 => new[..4].copy_from_slice(&to.octets()),
        IpAddr::V6(to) if length == 16 => new.copy_from_slice(&to.octets()),
        _ => return,
    }
    let mut old = [0; 16];
    old[..length].copy_from_slice(&packet[at..at + length]);
    let (old, new) = (&old[..length], &new[..length]);
    packet[at..at + length].copy_from_slice(new);
    if length == 4 {
        mend(packet, 10, old, new);
    }
    if let Some(at) = header.checksum_at(packet) {
        mend(packet, at, old, new);
    }
}

/// Changes a bit behind the headers, chosen by `bit`, and makes UDP's checksum fit again. Returns false when there is nothing
/// behind them.
pub(super) fn corrupt(packet: &mut [u8], bit: usize) -> bool {
    let Some(header) = Header::parse(packet) else {
        return false;
    };
    let from = header.length + 8;
    let bits = packet.len().saturating_sub(from) * 8;
    if bits == 0 {
        return false;
    }
    let (byte, mask) = (from + bit % bits / 8, 1 << (bit % 8));
    // Checksums add pairs of bytes, counted from the transport's header.
    let pair = byte - (byte - header.length) % 2;
    let read = |packet: &[u8]| [packet[pair], packet.get(pair + 1).copied().unwrap_or(0)];
    let old = read(packet);
    packet[byte] ^= mask;
    let new = read(packet);
    if header.protocol == UDP
        && let Some(at) = header.checksum_at(packet)
    {
        mend(packet, at, &old, &new);
    }
    true
}

/// Mends the checksum at `at` after `old` became `new` (RFC 1624 §3).
fn mend(packet: &mut [u8], at: usize, old: &[u8], new: &[u8]) {
    let before = u16::from_be_bytes([packet[at], packet[at + 1]]);
    let minus: u32 = old.chunks_exact(2).map(|pair| u32::from(!u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let total = sum(u32::from(!before) + minus, new);
    let after = match !fold(total) {
        // UDP keeps 0 for "no checksum"; elsewhere both mean the same.
        0 => 0xffff,
        other => other,
    };
    packet[at..at + 2].copy_from_slice(&after.to_be_bytes());
}

/// The Internet checksum (RFC 1071) of `bytes`, added to a sum so far.
pub(super) fn checksum(so_far: u32, bytes: &[u8]) -> u16 {
    !fold(sum(so_far, bytes))
}

/// Adds 16-bit words; an odd last byte counts as the upper half of one.
pub(super) fn sum(so_far: u32, bytes: &[u8]) -> u32 {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let whole = pairs.iter().fold(so_far, |sum, pair| sum + u32::from(u16::from_be_bytes(*pair)));
    rest.iter().fold(whole, |sum, last| sum + (u32::from(*last) << 8))
}

fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}
