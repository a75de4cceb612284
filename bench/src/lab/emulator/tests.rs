//! The emulator does what its profile and its script say, and the same again from the same seed.
mod delays;
mod lies;
mod losses;
mod packets;
mod routes;

use std::{net::IpAddr, time::Duration};

use super::{Emulator, Profile, Script, addresses, ip};
use crate::transport::side::End;

const SEED: u64 = 11;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn emulator(profile: Profile) -> Emulator {
    Emulator::new(profile, Script::default(), SEED)
}

/// A UDP packet with valid checksums that carries `number` and is `length` bytes long.
fn udp(from: End, v6: bool, number: u32, length: usize) -> Vec<u8> {
    let to = if from == End::Sender { End::Receiver } else { End::Sender };
    let address = |end| -> IpAddr { if v6 { addresses::v6(end).into() } else { addresses::v4(end).into() } };
    between(address(from), address(to), number, length)
}

fn between(from: IpAddr, to: IpAddr, number: u32, length: usize) -> Vec<u8> {
    let mut packet = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let total = (length as u16).to_be_bytes();
            let mut head = vec![0x45, 0, total[0], total[1], 0, 7, 0x40, 0, 64, ip::UDP, 0, 0];
            head.extend_from_slice(&from.octets());
            head.extend_from_slice(&to.octets());
            let sum = ip::checksum(0, &head).to_be_bytes();
            head[10..12].copy_from_slice(&sum);
            head
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let payload = (length as u16 - 40).to_be_bytes();
            let mut head = vec![0x60, 0, 0, 0, payload[0], payload[1], ip::UDP, 64];
            head.extend_from_slice(&from.octets());
            head.extend_from_slice(&to.octets());
            head
        }
        _ => panic!("one family"),
    };
    let transport = packet.len();
    let udp_length = ((length - transport) as u16).to_be_bytes();
    packet.extend_from_slice(&[0x30, 0x39, 0x1d, 0x09, udp_length[0], udp_length[1], 0, 0]);
    packet.extend_from_slice(&number.to_be_bytes());
    packet.resize(length, number as u8);
    let sum = udp_checksum(&packet).to_be_bytes();
    packet[transport + 6..transport + 8].copy_from_slice(&sum);
    packet
}

/// What makes UDP's checksum right: 0xffff or 0 when it is already.
fn udp_checksum(packet: &[u8]) -> u16 {
    let header = ip::Header::parse(packet).expect("a packet");
    let octets = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let transport = &packet[header.length..];
    let pseudo = ip::sum(ip::sum(0, &octets(header.source)), &octets(header.destination));
    ip::checksum(pseudo + u32::from(ip::UDP) + transport.len() as u32, transport)
}

/// What an end would check before anything else.
fn is_whole(packet: &[u8]) -> bool {
    let header = ip::Header::parse(packet).expect("a packet");
    let head_is = header.source.is_ipv6() || ip::checksum(0, &packet[..header.length]) == 0;
    head_is && udp_checksum(packet) == 0
}

fn number(packet: &[u8]) -> u32 {
    let from = ip::Header::parse(packet).expect("a packet").length + 8;
    u32::from_be_bytes(packet[from..from + 4].try_into().expect("four bytes"))
}

/// Everything that leaves until `until`, with the time it left.
fn departures(emulator: &mut Emulator, until: Duration) -> Vec<(Duration, End, Vec<u8>)> {
    let mut left = Vec::new();
    while let Some(at) = emulator.next().filter(|at| *at <= until) {
        while emulator.depart(at, |to, packet| left.push((at, to, packet.to_vec()))) {}
    }
    left
}
