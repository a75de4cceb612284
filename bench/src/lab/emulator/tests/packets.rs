//! Addresses and checksums are mended, not made anew, and come out right.
use super::{is_whole, udp};
use crate::{
    lab::emulator::{
        addresses,
        ip::{self, Header, Which},
    },
    transport::side::End,
};

#[test]
fn a_packet_with_another_address_is_whole() {
    for v6 in [false, true] {
        for number in 0..500 {
            let mut packet = udp(End::Sender, v6, number * 131, 60 + number as usize);
            assert!(is_whole(&packet));
            let before = Header::parse(&packet).expect("a packet");
            let other = addresses::elsewhere(before.source);
            ip::readdress(&mut packet, Which::Source, other);
            assert!(is_whole(&packet));
            ip::readdress(&mut packet, Which::Destination, addresses::router(before.source));
            assert!(is_whole(&packet));
            let after = Header::parse(&packet).expect("a packet");
            assert_eq!((after.source, after.destination), (other, addresses::router(before.source)));
        }
    }
}

#[test]
fn udp_without_a_checksum_stays_without() {
    let mut packet = udp(End::Sender, false, 1, 100);
    packet[26..28].fill(0);
    ip::readdress(&mut packet, Which::Source, addresses::elsewhere(addresses::v4(End::Sender).into()));
    assert!(ip::corrupt(&mut packet, 5));
    assert_eq!(packet[26..28], [0, 0]);
}

#[test]
fn what_is_cut_short_is_no_packet() {
    for v6 in [false, true] {
        let packet = udp(End::Sender, v6, 1, 100);
        let shortest = if v6 { 40 } else { 20 };
        assert!((0..shortest).all(|length| Header::parse(&packet[..length]).is_none()));
        assert!(Header::parse(&packet[..shortest]).is_some());
    }
}
