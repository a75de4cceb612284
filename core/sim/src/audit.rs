//! A cipher that keeps a book: no packet number may ever seal two different packets under one key.

use crate::rng::mix;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use tallylink_core::crypto::{Crypto, Forged, Secret, Soft, SoftKey, Suite, Suites, TAG_LEN, Tag};

/// What has been sealed in a world, by all ends and all their boots.
#[derive(Debug, Default)]
pub(crate) struct Book {
    sealed: HashMap<(u64, u64), u64>,
    /// The first packet number that sealed two packets, with its key.
    pub(crate) reused: Option<(u64, u64)>,
}

/// The real suites, or a cipher that only authenticates: fast, and as unforgiving of a flipped bit.
#[derive(Clone, Debug)]
pub(crate) struct Audit {
    book: Rc<RefCell<Book>>,
    real: bool,
}

/// A key, and its name in the book.
#[derive(Debug)]
pub(crate) struct AuditKey {
    name: u64,
    real: Option<SoftKey>,
}

impl Audit {
    /// A cipher that writes into `book`.
    #[must_use]
    pub(crate) fn new(book: Rc<RefCell<Book>>, real: bool) -> Self {
        Self { book, real }
    }
}

impl Crypto for Audit {
    type Key = AuditKey;

    fn suites(&self) -> Suites {
        Suites::ALL
    }

    fn has_fast_aes(&self) -> bool {
        true
    }

    fn expand(&self, suite: Suite, secret: &Secret, into: &mut Option<AuditKey>) {
        let mut real = None;
        if self.real {
            Soft.expand(suite, secret, &mut real);
        }
        *into = Some(AuditKey { name: digest(u64::from(suite.number()), &[secret.as_bytes()]), real });
    }

    fn seal(&self, key: &AuditKey, pn: u64, aad: &[u8], body: &mut [u8]) -> Tag {
        let content = digest(0, &[aad, body]);
        let mut book = self.book.borrow_mut();
        let before = book.sealed.insert((key.name, pn), content);
        if before.is_some_and(|b| b != content) {
            book.reused.get_or_insert((key.name, pn));
        }
        match &key.real {
            Some(real) => Soft.seal(real, pn, aad, body),
            None => tag(key.name, pn, aad, body),
        }
    }

    fn open(&self, key: &AuditKey, pn: u64, aad: &[u8], body: &mut [u8], theirs: &Tag) -> Result<(), Forged> {
        if let Some(real) = &key.real {
            return Soft.open(real, pn, aad, body, theirs);
        }
        let verified = tag(key.name, pn, aad, body).verify(theirs);
        if verified.is_err() {
            body.fill(0);
        }
        verified
    }
}

fn tag(key: u64, pn: u64, aad: &[u8], body: &[u8]) -> Tag {
    let low = digest(key ^ mix(pn), &[aad, body]);
    let mut bytes = [0; TAG_LEN];
    bytes[..8].copy_from_slice(&low.to_le_bytes());
    bytes[8..].copy_from_slice(&mix(low ^ key).to_le_bytes());
    Tag::from_bytes(bytes)
}

/// A digest for tests: not for secrets, but each bit counts.
fn digest(seed: u64, parts: &[&[u8]]) -> u64 {
    let mut state = mix(seed);
    for part in parts {
        state = mix(state ^ part.len() as u64);
        for word in part.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..word.len()].copy_from_slice(word);
            state = mix(state ^ u64::from_le_bytes(bytes));
        }
    }
    state
}
