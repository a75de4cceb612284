//! AES-CMAC (RFC 4493), over a message that comes in pieces.

use super::{TAG_LEN, Tag};
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Block};
use zeroize::{Zeroize, Zeroizing};

/// The AES-CMAC (RFC 4493) of the concatenation of `parts`.
#[must_use]
#[inline(never)] // The expanded key shall not widen the caller's frame.
pub fn mac(key: &[u8; 16], parts: &[&[u8]]) -> Tag {
    let cmac = Cmac::new(key);
    let mut message = cmac.start();
    for part in parts {
        message.update(part);
    }
    Tag::from_bytes(*message.finish())
}

/// An expanded key.
pub(super) struct Cmac {
    cipher: Aes128,
}

impl Cmac {
    pub(super) fn new(key: &[u8; 16]) -> Self {
        Self { cipher: Aes128::new(key.into()) }
    }

    /// Begins a message.
    pub(super) fn start(&self) -> Message<'_> {
        Message { cipher: &self.cipher, state: Zeroizing::new([0; TAG_LEN]), filled: 0 }
    }
}

/// The MAC of what was heard of a message so far.
pub(super) struct Message<'k> {
    cipher: &'k Aes128,
    /// The chaining value, with the bytes of the unfinished block added.
    state: Zeroizing<[u8; TAG_LEN]>,
    /// Bytes of the unfinished block. A full one stays unfinished until more comes: the last is treated differently.
    filled: usize,
}

impl Message<'_> {
    /// Hears more of the message.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.filled == TAG_LEN {
                encrypt(self.cipher, &mut self.state);
                self.filled = 0;
            }
            self.add(*byte);
            self.filled = self.filled.wrapping_add(1);
        }
    }

    /// Ends the message (RFC 4493 §2.4).
    pub(super) fn finish(mut self) -> Zeroizing<[u8; TAG_LEN]> {
        let mut subkey = Zeroizing::new([0; TAG_LEN]);
        encrypt(self.cipher, &mut subkey);
        double(&mut subkey);
        if self.filled < TAG_LEN {
            self.add(0x80);
            double(&mut subkey);
        }
        for (byte, key) in self.state.iter_mut().zip(*subkey) {
            *byte ^= key;
        }
        encrypt(self.cipher, &mut self.state);
        self.state
    }

    /// Adds `byte` to the unfinished block, behind its last byte.
    fn add(&mut self, byte: u8) {
        if let Some(to) = self.state.get_mut(self.filled) {
            *to ^= byte;
        }
    }
}

fn encrypt(cipher: &Aes128, block: &mut [u8; TAG_LEN]) {
    let block: &mut Block = block.into();
    cipher.encrypt_block(block);
}

/// RFC 4493 §2.3: the next subkey, by multiplication in GF(2^128), in constant time.
fn double(subkey: &mut [u8; TAG_LEN]) {
    let mut value = u128::from_be_bytes(*subkey);
    let overflow = 0_u128.wrapping_sub(value >> 127);
    *subkey = (value << 1 ^ overflow & 0x87).to_be_bytes();
    value.zeroize();
}
