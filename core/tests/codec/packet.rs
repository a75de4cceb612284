//! Packets: each comes back, no truncation and no change of a byte makes a second spelling.

use crate::samples::{extensions, hello, limits};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tallylink_core::crypto::TAG_LEN;
use tallylink_core::wire::packet::UnknownLabel;
use tallylink_core::wire::{DataHeader, Limits, LongData, Packet, Reject, RejectReason, Welcome, Writer};
use tallylink_core::{KeyId, Label, PeerId};

/// A packet and `tail` bytes that stand for what is sealed and the tag.
fn written(packet: &Packet<'_>, tail: usize) -> Vec<u8> {
    let mut buffer = [0; 400];
    let mut w = Writer::new(&mut buffer);
    let done = match packet {
        Packet::Hello(hello) => {
            hello.write(&mut w).unwrap();
            w.space(hello.packet_len() - hello.core_len() - TAG_LEN).map(|s| s.fill(0))
        }
        Packet::Welcome(welcome) => welcome.write(&mut w),
        Packet::LongData(long) => long.write(&mut w),
        Packet::Reject(reject) => reject.write(&mut w),
        Packet::UnknownLabel(hint) => hint.write(&mut w),
        Packet::Data(header) => header.write(&mut w),
    };
    done.unwrap();
    let tail = match packet {
        Packet::UnknownLabel(_) => 0,
        Packet::LongData(_) | Packet::Data(_) => TAG_LEN + tail,
        _ => TAG_LEN,
    };
    w.space(tail).unwrap().fill(0xa5);
    w.into_written().to_vec()
}

/// What is read must be spelled as it stands there, up to the sealed part or the tag.
fn has_one_spelling(bytes: &[u8]) {
    let Ok(packet) = Packet::parse(bytes) else { return };
    let spelled = written(&packet, 0);
    let free = match packet {
        Packet::UnknownLabel(_) => 0,
        _ => TAG_LEN,
    };
    let head = spelled.len() - free;
    assert_eq!(&spelled[..head], &bytes[..head], "{packet:?}");
    let sealed = matches!(packet, Packet::Data(_) | Packet::LongData(_));
    assert!(sealed || spelled.len() == bytes.len(), "{packet:?}");
    assert!(!sealed || bytes.len() > spelled.len(), "at least one byte is sealed: {packet:?}");
}

fn check(packet: &Packet<'_>, to: u8) -> Result<(), TestCaseError> {
    let bytes = written(packet, 3);
    prop_assert_eq!(Packet::parse(&bytes), Ok(*packet));
    for cut in 0..bytes.len() {
        has_one_spelling(&bytes[..cut]);
    }
    for at in 0..bytes.len() {
        for value in [to, bytes[at] ^ 1, bytes[at] ^ 0x80, 0] {
            let mut changed = bytes.clone();
            changed[at] = value;
            has_one_spelling(&changed);
        }
    }
    has_one_spelling(&[&bytes[..], &[to]].concat());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn hello_and_long_data(
        ids: [u8; 38], label: u32, limits in limits(), tlvs in extensions(), gateway_nonce: [u8; 16], number: u64, to: u8,
    ) {
        let hello = hello(ids, label, limits, &tlvs);
        check(&Packet::Hello(hello), to)?;
        check(&Packet::LongData(LongData { hello, gateway_nonce, number: number >> 2 }), to)?;
    }

    #[test]
    fn welcome_and_reject(
        ids: [u8; 38], limits in limits(), tlvs in extensions(), gateway_nonce: [u8; 16], wait: u16, to: u8,
    ) {
        let asked = hello(ids, 0, limits, &[]);
        let (key, peer, device_nonce) = (KeyId(ids[0]), asked.peer, asked.nonce);
        let [version, suite, ..] = ids;
        check(&Packet::Welcome(Welcome { version, key, peer, device_nonce, gateway_nonce, suite, limits, tlvs: &tlvs }), to)?;
        for reason in [RejectReason::Version, RejectReason::Suite, RejectReason::Busy] {
            let (version_min, version_max) = (version, suite);
            check(&Packet::Reject(Reject { version_min, version_max, key, peer, device_nonce, reason, retry_after_s: wait }), to)?;
        }
    }

    #[test]
    fn data_and_unknown_label(label: u32, truncated: u32, peer: [u8; 8], to: u8) {
        for number_len in 2..=4 {
            let truncated = truncated & (u32::MAX >> (32 - 8 * number_len));
            check(&Packet::Data(DataHeader { label: Label(label), truncated, number_len }), to)?;
        }
        check(&Packet::UnknownLabel(UnknownLabel { label: Label(label), peer: PeerId(peer) }), to)?;
    }

    #[test]
    fn arbitrary_bytes_are_refused_or_have_one_spelling(
        kind in 0u8..8, long in any::<bool>(), bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        has_one_spelling(&bytes);
        let head: &[u8] = if long { &[0, kind] } else { &[kind << 5 | 0x10] };
        has_one_spelling(&[head, &bytes].concat());
    }
}

/// What a peer states must be within the ranges of wire-format §4.3.
#[test]
fn limits_out_of_range_are_refused() {
    let good = Limits { max_record: 1000, max_datagram: 512, ack_window: 64, credit: 0, held: 0 };
    let parses = |limits| {
        let hello = hello([7; 38], 1, limits, &[]);
        Packet::parse(&written(&Packet::Hello(hello), 0)).is_ok()
    };
    assert!(parses(good));
    assert!(!parses(Limits { max_record: (1 << 30) - 1, ..good }));
    assert!(!parses(Limits { max_datagram: 511, ..good }));
    assert!(!parses(Limits { ack_window: 63, ..good }));
    assert!(parses(Limits { ack_window: 1 << 20, ..good }));
    assert!(!parses(Limits { ack_window: (1 << 20) + 1, ..good }));
}

#[test]
fn extensions_that_are_cut_short_are_refused() {
    let limits = Limits { max_record: 1, max_datagram: 512, ack_window: 64, credit: 0, held: 0 };
    let broken: [&[u8]; 4] = [&[1], &[1, 2, 0], &[0x40, 1, 0], &[1, 0x40, 0]];
    for tlvs in broken {
        let bytes = written(&Packet::Hello(hello([7; 38], 1, limits, tlvs)), 0);
        assert!(Packet::parse(&bytes).is_err(), "{tlvs:?}");
    }
    let bytes = written(&Packet::Hello(hello([7; 38], 1, limits, &[0; 64])), 0);
    assert!(Packet::parse(&bytes).is_ok(), "64 bytes are allowed");
    let bytes = written(&Packet::Hello(hello([7; 38], 1, limits, &[0; 66])), 0);
    assert!(Packet::parse(&bytes).is_err(), "66 are not");
}
