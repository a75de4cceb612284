//! Core's own suites, on a processor with AES instructions or one without.

use tallylink_core::crypto::{Crypto, Forged, Secret, Soft, Suite, Suites, Tag};

pub(crate) struct Processor {
    pub(crate) fast_aes: bool,
}

pub(crate) type Key = <Soft as Crypto>::Key;

impl Crypto for Processor {
    type Key = Key;

    fn suites(&self) -> Suites {
        Soft.suites()
    }

    fn has_fast_aes(&self) -> bool {
        self.fast_aes
    }

    fn expand(&self, suite: Suite, secret: &Secret, into: &mut Option<Key>) {
        Soft.expand(suite, secret, into);
    }

    fn seal(&self, key: &Key, pn: u64, aad: &[u8], body: &mut [u8]) -> Tag {
        Soft.seal(key, pn, aad, body)
    }

    fn open(&self, key: &Key, pn: u64, aad: &[u8], body: &mut [u8], tag: &Tag) -> Result<(), Forged> {
        Soft.open(key, pn, aad, body, tag)
    }
}
