//! AWS-LC's suites make the same packets as core's, and refuse what core's refuse.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tallylink_core::crypto::{Crypto, Forged, Secret, Soft, Suite, Suites, Tag};
use tallylink_linux::crypto::AwsLc;

fn key<C: Crypto>(backend: &C, suite: Suite, secret: [u8; 32]) -> C::Key {
    let mut key = None;
    backend.expand(suite, &Secret::from_bytes(secret), &mut key);
    key.expect("a suite it offers")
}

/// Both backends seal `plaintext` alike, and each opens what the other sealed.
fn agree(suite: Suite, secret: [u8; 32], pn: u64, aad: &[u8], plaintext: &[u8]) {
    let (theirs, ours) = (key(&AwsLc, suite, secret), key(&Soft, suite, secret));
    let (mut a, mut b) = (plaintext.to_vec(), plaintext.to_vec());
    let their_tag = AwsLc.seal(&theirs, pn, aad, &mut a);
    let our_tag = Soft.seal(&ours, pn, aad, &mut b);
    assert_eq!(a, b);
    assert_eq!(their_tag.as_bytes(), our_tag.as_bytes());
    assert_eq!(AwsLc.open(&theirs, pn, aad, &mut b, &our_tag), Ok(()));
    assert_eq!(Soft.open(&ours, pn, aad, &mut a, &their_tag), Ok(()));
    assert_eq!((&a[..], &b[..]), (plaintext, plaintext));
}

#[test]
fn both_backends_agree_at_every_length_around_a_block() {
    let bytes: Vec<u8> = (0..=255).collect();
    for suite in Suite::ALL {
        for len in 0..=bytes.len() {
            agree(suite, [3; 32], 1 << 40, &bytes[..len % 20], &bytes[..len]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn both_backends_agree(
        suite in prop::sample::select(&Suite::ALL[..]),
        secret: [u8; 32],
        pn in 0..1_u64 << 62,
        aad in prop::collection::vec(any::<u8>(), 0..70),
        plaintext in prop::collection::vec(any::<u8>(), 0..1500),
    ) {
        agree(suite, secret, pn, &aad, &plaintext);
    }
}

#[test]
fn f23_an_altered_packet_is_refused_and_leaves_no_plaintext() {
    for suite in Suite::ALL {
        let right = key(&AwsLc, suite, [1; 32]);
        let mut sealed = [0x77; 61];
        let tag = AwsLc.seal(&right, 5, b"header", &mut sealed);
        let refused = |key, pn, aad: &[u8], mut body: Vec<u8>, tag: &Tag| {
            assert_eq!(AwsLc.open(key, pn, aad, &mut body, tag), Err(Forged));
            assert!(body.iter().all(|byte| *byte == 0), "{suite} left bytes");
        };
        let wrong = key(&AwsLc, suite, [2; 32]);
        refused(&wrong, 5, b"header", sealed.to_vec(), &tag);
        refused(&right, 6, b"header", sealed.to_vec(), &tag);
        refused(&right, 5, b"Header", sealed.to_vec(), &tag);
        refused(&right, 5, b"header", sealed[..60].to_vec(), &tag);
        for bit in 0..sealed.len() * 8 {
            let mut body = sealed.to_vec();
            body[bit / 8] ^= 1 << (bit % 8);
            refused(&right, 5, b"header", body, &tag);
        }
        for bit in 0..128 {
            let mut other = *tag.as_bytes();
            other[bit / 8] ^= 1 << (bit % 8);
            refused(&right, 5, b"header", sealed.to_vec(), &Tag::from_bytes(other));
        }
    }
}

#[test]
fn the_backend_offers_every_suite() {
    assert_eq!(AwsLc.suites(), Suites::ALL);
}

#[test]
fn a_key_does_not_print() {
    assert_eq!(format!("{:?}", key(&AwsLc, Suite::Aes128Gcm, [0xa5; 32])), "AwsLcKey(..)");
}
