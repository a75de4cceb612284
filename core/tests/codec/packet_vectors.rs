//! `wire-handshake.hex` and `wire-packet.hex`: packets, tags and keys against those of another implementation.

use crate::vectors::{Case, cases};
use tallylink_core::crypto::{self, Crypto, Label as KeyLabel, Psk, Secret, Soft, Suite, TAG_LEN, Tag};
use tallylink_core::wire::packet::UnknownLabel;
use tallylink_core::wire::{Hello, Limits, LongData, Packet, Reject, RejectReason, Welcome, Writer, number};
use tallylink_core::{Boot, KeyId, Label, PeerId};

fn limits(bytes: &[u8]) -> Limits {
    let u16_at = |at: usize| u16::from_be_bytes(bytes[at..at + 2].try_into().unwrap());
    let u32_at = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let (max_record, max_datagram, ack_window) = (u32_at(0), u16_at(4), u32_at(6));
    Limits { max_record, max_datagram, ack_window, credit: u32_at(10), held: u16_at(14) }
}

fn hello(case: &Case) -> Hello<'_> {
    Hello {
        version_min: 1,
        version_max: 1,
        key: KeyId(case.array::<1>("key")[0]),
        peer: PeerId(case.array("peer")),
        nonce: case.array("nonce"),
        boot: Boot(case.array("boot")),
        suites: case.array::<1>("suites")[0],
        label: Label(u32::from_be_bytes(case.array("label"))),
        limits: limits(case.get("limits")),
        tlvs: case.get("extensions"),
    }
}

fn written(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut buffer = [0; 400];
    let mut w = Writer::new(&mut buffer);
    write(&mut w);
    w.into_written().to_vec()
}

/// Checks a tag over `before` and the packet's own bytes, under the key for `label`.
fn tag_verifies(case: &Case, label: KeyLabel, before: &[u8], packet: &[u8]) {
    let psk = Psk::from_bytes(case.array("psk"));
    let mut key = [0; 16];
    crypto::derive(&psk, label, &[&[1], case.get("key"), case.get("peer")], &mut key);
    let (body, tag) = packet.split_last_chunk::<TAG_LEN>().unwrap();
    crypto::mac(&key, &[before, body]).verify(&Tag::from_bytes(*tag)).expect("the tag");
}

#[test]
fn session_set_up_is_written_and_read_as_in_the_vectors() {
    let cases = cases(include_str!("../vectors/wire-handshake.hex"));
    assert_eq!(cases.len(), 4);
    for case in &cases {
        let hello = hello(case);
        assert_eq!(Packet::parse(case.get("hello")), Ok(Packet::Hello(hello)));
        let hello_core = written(|w| hello.write(w).unwrap());
        let hello_body = &case.get("hello")[..case.get("hello").len() - TAG_LEN];
        assert_eq!(hello_core, &hello_body[..hello_core.len()]);
        assert_eq!(hello.packet_len(), case.get("hello").len());
        tag_verifies(case, KeyLabel::HelloTag, &[], case.get("hello"));

        let welcome = Welcome {
            version: 1,
            key: hello.key,
            peer: hello.peer,
            device_nonce: hello.nonce,
            gateway_nonce: case.array("gateway_nonce"),
            suite: case.array::<1>("suite")[0],
            limits: limits(case.get("gateway_limits")),
            tlvs: case.get("gateway_extensions"),
        };
        assert_eq!(Packet::parse(case.get("welcome")), Ok(Packet::Welcome(welcome)));
        let welcome_core = written(|w| welcome.write(w).unwrap());
        assert_eq!(welcome_core.len(), welcome.core_len());
        assert_eq!(welcome_core, &case.get("welcome")[..welcome_core.len()]);
        tag_verifies(case, KeyLabel::WelcomeTag, hello_body, case.get("welcome"));

        rejects(case, &hello, hello_body);

        let psk = Psk::from_bytes(case.array("psk"));
        let mut key = [0; 16];
        crypto::derive(&psk, KeyLabel::Session, &[&hello_core, &welcome_core], &mut key);
        assert_eq!(key, case.array("session_key"));
        let key = Psk::from_bytes(key);
        let secret = |label| *crypto::derive_secret(&key, label, &[]).as_bytes();
        assert_eq!(secret(KeyLabel::DeviceToGateway), case.array("device_to_gateway"));
        assert_eq!(secret(KeyLabel::GatewayToDevice), case.array("gateway_to_device"));
    }
}

fn rejects(case: &Case, hello: &Hello<'_>, hello_body: &[u8]) {
    let expected = [
        ("reject_version", RejectReason::Version, 0),
        ("reject_suite", RejectReason::Suite, 0),
        ("reject_busy", RejectReason::Busy, 10),
    ];
    for (name, reason, retry_after_s) in expected {
        let reject = Reject {
            version_min: 1,
            version_max: 1,
            key: hello.key,
            peer: hello.peer,
            device_nonce: hello.nonce,
            reason,
            retry_after_s,
        };
        assert_eq!(Packet::parse(case.get(name)), Ok(Packet::Reject(reject)));
        assert_eq!(written(|w| reject.write(w).unwrap()), &case.get(name)[..Reject::CORE_LEN]);
        tag_verifies(case, KeyLabel::WelcomeTag, hello_body, case.get(name));
    }
}

/// Seals `frames` behind `header`, and opens the packet of the vectors again.
fn seals_and_opens(case: &Case, header: &[u8], packet: &[u8]) {
    let mut key = None;
    let suite = Suite::from_number(case.array::<1>("suite")[0]).expect("a suite");
    Soft.expand(suite, &Secret::from_bytes(case.array("secret")), &mut key);
    let key = key.expect("built with the suite");
    let number = u64::from_be_bytes(case.array("number"));
    let mut body = case.get("frames").to_vec();
    let tag = Soft.seal(&key, number, header, &mut body);
    assert_eq!([header, &body, tag.as_bytes()].concat(), packet);
    let mut opened = packet[header.len()..packet.len() - TAG_LEN].to_vec();
    Soft.open(&key, number, header, &mut opened, &tag).expect("its own tag");
    assert_eq!(opened, case.get("frames"));
}

#[test]
#[cfg(all(feature = "aes-gcm", feature = "aes-gcm-siv", feature = "chacha20-poly1305"))]
fn sealed_packets_are_written_and_read_as_in_the_vectors() {
    let cases = cases(include_str!("../vectors/wire-packet.hex"));
    let (mut long, mut data, mut hints) = (0, 0, 0);
    for case in &cases {
        if case.find("long_data").is_some() {
            long += 1;
            let packet = case.get("long_data");
            let Ok(Packet::Hello(hello)) = Packet::parse(case.get("hello")) else { panic!("a HELLO") };
            let number = u64::from_be_bytes(case.array("number"));
            let header = LongData { hello, gateway_nonce: case.array("gateway_nonce"), number };
            assert_eq!(Packet::parse(packet), Ok(Packet::LongData(header)));
            seals_and_opens(case, &written(|w| header.write(w).unwrap()), packet);
        } else if case.find("data").is_some() {
            data += 1;
            let packet = case.get("data");
            let Ok(Packet::Data(header)) = Packet::parse(packet) else { panic!("DATA") };
            assert_eq!(header.label, Label(u32::from_be_bytes(case.array("label"))));
            assert_eq!(header.number_len, usize::from(case.array::<1>("number_length")[0]));
            let expected = u64::from_be_bytes(case.array("expected"));
            let number = number::expand(expected, header.truncated, header.number_len);
            assert_eq!(number, Some(u64::from_be_bytes(case.array("number"))));
            seals_and_opens(case, &written(|w| header.write(w).unwrap()), packet);
        } else {
            hints += 1;
            let label = Label(u32::from_be_bytes(case.array("label")));
            let hint = UnknownLabel { label, peer: PeerId(case.array("peer")) };
            assert_eq!(Packet::parse(case.get("unknown_label")), Ok(Packet::UnknownLabel(hint)));
            assert_eq!(written(|w| hint.write(w).unwrap()), case.get("unknown_label"));
        }
    }
    assert_eq!((long, data, hints), (12, 48, 2));
}
