//! The key derivation, and every suite that core computes itself.

use core::hint::black_box;

use tallylink_core::crypto::{Crypto, Label, Psk, Soft, Suite, Suites, Tag, derive, derive_secret, mac};

/// The longest body that is sealed here.
const DATAGRAM: usize = 1200;

pub(crate) fn everything() {
    let psk = Psk::from_bytes(black_box([0; Psk::LEN]));
    let label = black_box(Label::DeviceToGateway);
    let mut bytes = black_box([0; DATAGRAM]);
    let len = black_box(DATAGRAM);
    let Some((header, body)) = bytes.split_at_mut_checked(len) else {
        return;
    };
    derive(&psk, label, black_box(&[header, body]), black_box(&mut [0; 40]));
    let tag = mac(psk.as_bytes(), black_box(&[header, body]));
    let _ = black_box(tag.verify(black_box(&tag)));

    let secret = derive_secret(&psk, label, black_box(&[header]));
    let pn = black_box(7);
    let mut key = None;
    Soft.expand(black_box(Suite::Aes128GcmSiv), &secret, &mut key);
    if let Some(key) = &key {
        let tag: Tag = Soft.seal(key, pn, header, body);
        let _ = black_box(Soft.open(key, pn, header, body, &tag));
    }
    black_box(Soft.suites() == black_box(Suites::default()));
}
