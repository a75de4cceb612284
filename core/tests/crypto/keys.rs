//! Key material does not print and is wiped; suites and sets of them.

use tallylink_core::crypto::{Label, Psk, Secret, Suite, Suites, Tag, derive_secret};
use zeroize::ZeroizeOnDrop;

fn wiped_on_drop<T: ZeroizeOnDrop>() {}

#[test]
fn keys_are_wiped_on_drop() {
    wiped_on_drop::<Psk>();
    wiped_on_drop::<Secret>();
    #[cfg(any(feature = "aes-gcm", feature = "aes-gcm-siv", feature = "chacha20-poly1305"))]
    wiped_on_drop::<tallylink_core::crypto::SoftKey>();
}

#[test]
fn a_wiped_secret_is_zero() {
    let mut secret = Secret::from_bytes([0xa5; 32]);
    secret.wipe();
    assert_eq!(secret.as_bytes(), &[0; 32]);
}

#[test]
fn debug_shows_no_byte_of_a_key_or_tag() {
    let psk = Psk::from_bytes([0xa5; 16]);
    let secret = derive_secret(&psk, Label::HelloTag, &[]);
    assert_eq!(format!("{psk:?}"), "Psk(..)");
    assert_eq!(format!("{:?}", psk.clone()), "Psk(..)");
    assert_eq!(format!("{secret:#?}"), "Secret(..)");
    assert_eq!(format!("{:?}", Tag::from_bytes([0xa5; 16])), "Tag(..)");
}

#[test]
fn a_suite_keeps_its_number_and_bit() {
    for suite in Suite::ALL {
        assert_eq!(Suite::from_number(suite.number()), Some(suite));
        assert_eq!(Suite::from_bit(suite.bit()), Some(suite));
        assert_eq!(suite.bit(), 1 << (suite.number() - 1));
        assert!(suite.soft_packet_limit(1452) < suite.packet_limit(1452));
    }
    assert_eq!(Suite::Aes128GcmSiv.number(), 1);
    assert_eq!(Suite::Aes128Gcm.number(), 2);
    assert_eq!(Suite::ChaCha20Poly1305.number(), 3);
    for unknown in [0, 8, 255] {
        assert_eq!(Suite::from_number(unknown), None);
        assert_eq!(Suite::from_bit(unknown), None);
    }
}

#[test]
fn a_set_drops_bits_it_does_not_know() {
    assert_eq!(Suites::from_raw(0xff), Suites::ALL);
    assert_eq!(Suites::ALL.raw(), 0b111);
    assert!(Suites::from_raw(0b1111_1000).is_empty());
}

#[test]
fn sets_intersect_and_list_their_suites() {
    let gcm = Suites::from(Suite::Aes128Gcm);
    assert!(gcm.contains(Suite::Aes128Gcm) && !gcm.contains(Suite::Aes128GcmSiv));
    assert_eq!(Suites::ALL.intersect(gcm), gcm);
    assert_eq!(Suites::ALL.without(Suite::Aes128GcmSiv).without(Suite::ChaCha20Poly1305), gcm);
    assert!(gcm.intersect(Suites::from(Suite::Aes128GcmSiv)).is_empty());
    assert_eq!(Suites::ALL.iter().collect::<Vec<_>>(), Suite::ALL);
}

/// wire-format §4.5: what both processors compute fast.
#[test]
fn the_suite_suits_both_processors() {
    let chosen = |device, gateway| Suites::ALL.offer(device).choose(gateway);
    assert_eq!(chosen(true, true), Some(Suite::Aes128Gcm));
    assert_eq!(chosen(true, false), Some(Suite::ChaCha20Poly1305));
    assert_eq!(chosen(false, true), Some(Suite::ChaCha20Poly1305));
    assert_eq!(chosen(false, false), Some(Suite::ChaCha20Poly1305));
}

#[test]
fn a_suite_that_suits_neither_processor_is_better_than_none() {
    for suite in Suite::ALL {
        for (device, gateway) in [(true, true), (true, false), (false, true), (false, false)] {
            assert_eq!(Suites::from(suite).offer(device).choose(gateway), Some(suite));
        }
    }
    assert_eq!(Suites::NONE.choose(true), None);
    let older = Suites::from(Suite::Aes128GcmSiv).with(Suite::Aes128Gcm);
    assert_eq!(Suites::ALL.offer(false).intersect(older).choose(true), Some(Suite::Aes128GcmSiv));
}

#[test]
fn tags_match_only_if_every_bit_does() {
    let tag = Tag::from_bytes([0x5a; 16]);
    assert!(tag.verify(&tag).is_ok());
    for bit in 0..128 {
        let mut other = *tag.as_bytes();
        other[bit / 8] ^= 1 << (bit % 8);
        assert!(tag.verify(&Tag::from_bytes(other)).is_err());
    }
}
