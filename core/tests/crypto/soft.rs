//! The portable backend through the trait: packets as on the wire, and packets that were altered.

use crate::vectors::cases;
use tallylink_core::crypto::{Crypto, Forged, Secret, Soft, SoftKey, Suite, Suites, Tag, nonce};

fn key(suite: Suite, secret: [u8; 32]) -> SoftKey {
    let mut key = None;
    Soft.expand(suite, &Secret::from_bytes(secret), &mut key);
    key.expect("a suite it offers")
}

#[test]
fn packets_are_those_of_the_vectors() {
    let cases = cases(include_str!("../vectors/crypto-packet.hex"));
    assert_eq!(cases.len(), 27);
    for case in &cases {
        let [number] = case.array("suite");
        let key = key(Suite::from_number(number).expect("a suite"), case.array("secret"));
        let pn = u64::from_be_bytes(case.array("pn"));
        let mut body = case.get("plaintext").to_vec();
        let tag = Soft.seal(&key, pn, case.get("aad"), &mut body);
        assert_eq!(body, case.get("ciphertext"));
        assert_eq!(&tag.as_bytes()[..], case.get("tag"));
        Soft.open(&key, pn, case.get("aad"), &mut body, &tag).expect("its own tag");
        assert_eq!(body, case.get("plaintext"));
    }
}

#[test]
fn the_backend_offers_what_was_built() {
    assert_eq!(Soft.suites(), Suites::ALL);
}

#[test]
fn an_altered_packet_is_refused_and_leaves_no_plaintext() {
    for suite in Suite::ALL {
        let right = key(suite, [1; 32]);
        let plaintext = [0x77; 61];
        let mut sealed = plaintext;
        let tag = Soft.seal(&right, 5, b"header", &mut sealed);
        let refused = |key: &SoftKey, pn, aad: &[u8], mut body: Vec<u8>, tag: [u8; 16]| {
            let opened = Soft.open(key, pn, aad, &mut body, &Tag::from_bytes(tag));
            assert_eq!(opened, Err(Forged));
            assert!(body.iter().all(|byte| *byte == 0), "{suite} left bytes");
        };
        let tag = *tag.as_bytes();
        refused(&key(suite, [2; 32]), 5, b"header", sealed.to_vec(), tag);
        refused(&right, 6, b"header", sealed.to_vec(), tag);
        refused(&right, 5, b"Header", sealed.to_vec(), tag);
        refused(&right, 5, b"header\0", sealed.to_vec(), tag);
        refused(&right, 5, b"header", sealed[..60].to_vec(), tag);
        refused(&right, 5, b"header", [&sealed[..], &[0]].concat(), tag);
        for bit in 0..sealed.len() * 8 {
            let mut body = sealed.to_vec();
            body[bit / 8] ^= 1 << (bit % 8);
            refused(&right, 5, b"header", body, tag);
        }
        for bit in 0..tag.len() * 8 {
            let mut tag = tag;
            tag[bit / 8] ^= 1 << (bit % 8);
            refused(&right, 5, b"header", sealed.to_vec(), tag);
        }
    }
}

#[test]
fn suites_do_not_open_each_others_packets() {
    for (one, other) in Suite::ALL.iter().flat_map(|one| Suite::ALL.map(|other| (*one, other))) {
        let mut body = [0x77; 32];
        let tag = Soft.seal(&key(one, [1; 32]), 1, &[], &mut body);
        let opened = Soft.open(&key(other, [1; 32]), 1, &[], &mut body, &tag);
        assert_eq!(opened.is_ok(), one == other, "{one} by {other}");
    }
}

#[test]
fn a_packet_number_is_the_end_of_its_nonce() {
    assert_eq!(nonce(0x0102_0304_0506_0708), [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(nonce(0), [0; 12]);
}

#[test]
fn a_key_does_not_print() {
    assert_eq!(format!("{:?}", key(Suite::Aes128Gcm, [0xa5; 32])), "SoftKey(..)");
}
