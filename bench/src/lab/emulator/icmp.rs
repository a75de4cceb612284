//! What a router says of a packet that is too large for the next link.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::ip;

/// An answer over IPv4 has at most so many bytes (RFC 1812 §4.3.2.3).
const V4_MOST: usize = 576;
/// ... and over IPv6 (RFC 4443 §2.4).
const V6_MOST: usize = 1280;
const V4_HEADER: usize = 20;
const V6_HEADER: usize = 40;
const ICMP_HEADER: usize = 8;

/// "Fragmentation needed" (RFC 1191 §4) or "packet too big" (RFC 4443 §3.2), quoting `packet`. `None` when the addresses
/// are of different families.
pub(super) fn too_big(packet: &[u8], mtu: u16, from: IpAddr, to: IpAddr) -> Option<Vec<u8>> {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => Some(v4(packet, mtu, from, to)),
        (IpAddr::V6(from), IpAddr::V6(to)) => Some(v6(packet, mtu, from, to)),
        _ => None,
    }
}

fn v4(packet: &[u8], mtu: u16, from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let quoted = &packet[..packet.len().min(V4_MOST - V4_HEADER - ICMP_HEADER)];
    let mtu = mtu.to_be_bytes();
    let mut message = vec![3, 4, 0, 0, 0, 0, mtu[0], mtu[1]];
    message.extend_from_slice(quoted);
    let sum = ip::checksum(0, &message).to_be_bytes();
    message[2..4].copy_from_slice(&sum);

    let total = ((V4_HEADER + message.len()) as u16).to_be_bytes();
    let mut answer = vec![0x45, 0xc0, total[0], total[1], 0, 0, 0, 0, 64, 1, 0, 0];
    answer.extend_from_slice(&from.octets());
    answer.extend_from_slice(&to.octets());
    let sum = ip::checksum(0, &answer).to_be_bytes();
    answer[10..12].copy_from_slice(&sum);
    answer.extend_from_slice(&message);
    answer
}

fn v6(packet: &[u8], mtu: u16, from: Ipv6Addr, to: Ipv6Addr) -> Vec<u8> {
    let quoted = &packet[..packet.len().min(V6_MOST - V6_HEADER - ICMP_HEADER)];
    let mut message = vec![2, 0, 0, 0];
    message.extend_from_slice(&u32::from(mtu).to_be_bytes());
    message.extend_from_slice(quoted);
    let pseudo = ip::sum(0, &from.octets());
    let pseudo = ip::sum(pseudo, &to.octets());
    let pseudo = pseudo + message.len() as u32 + u32::from(ip::ICMP_V6);
    let sum = ip::checksum(pseudo, &message).to_be_bytes();
    message[2..4].copy_from_slice(&sum);

    let length = (message.len() as u16).to_be_bytes();
    let mut answer = vec![0x60, 0, 0, 0, length[0], length[1], ip::ICMP_V6, 64];
    answer.extend_from_slice(&from.octets());
    answer.extend_from_slice(&to.octets());
    answer.extend_from_slice(&message);
    answer
}
