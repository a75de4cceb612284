//! AES-CMAC (RFC 4493).
//!
//! Written out here because the published implementation buffers its input through a path that can panic, which the
//! link check of the core does not allow.

use super::{TAG_LEN, Tag};
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Block};
use zeroize::Zeroize;

/// A CMAC in the making: input is added until [`finish`](Self::finish), which makes it ready for another message.
pub(super) struct Cmac {
    cipher: Aes128,
    /// What the blocks so far chain to, with the input of the current block added.
    chain: Block,
    /// Bytes of the current block that are there. A full block waits, since the last one is treated differently.
    filled: usize,
}

impl Cmac {
    pub(super) fn new(key: &[u8; 16]) -> Self {
        Self {
            cipher: Aes128::new(key.into()),
            chain: Block::default(),
            filled: 0,
        }
    }

    /// Adds the next bytes of the message.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.filled >= TAG_LEN {
                self.cipher.encrypt_block(&mut self.chain);
                self.filled = 0;
            }
            self.add_at(self.filled, *byte);
            self.filled = self.filled.saturating_add(1);
        }
    }

    /// The tag of the message (RFC 4493 §2.4); the next byte begins a new one.
    pub(super) fn finish(&mut self) -> Tag {
        // The subkeys (RFC 4493 §2.3): one for a last block that is full, one for a last block that was padded.
        let mut subkey = Block::default();
        self.cipher.encrypt_block(&mut subkey);
        double(&mut subkey);
        if self.filled < TAG_LEN {
            self.add_at(self.filled, 0x80);
            double(&mut subkey);
        }
        for (to, from) in self.chain.iter_mut().zip(subkey) {
            *to ^= from;
        }
        subkey.as_mut_slice().zeroize();
        self.cipher.encrypt_block(&mut self.chain);
        let tag = Tag::from_bytes(self.chain.into());
        self.chain = Block::default();
        self.filled = 0;
        tag
    }

    fn add_at(&mut self, at: usize, byte: u8) {
        if let Some(to) = self.chain.get_mut(at) {
            *to ^= byte;
        }
    }
}

impl Drop for Cmac {
    fn drop(&mut self) {
        self.chain.as_mut_slice().zeroize();
    }
}

/// Multiplies by `x` in the field of RFC 4493 §2.3, without a branch on the secret.
fn double(block: &mut Block) {
    let value = u128::from_be_bytes((*block).into());
    let reduced = (value >> 127).wrapping_mul(0x87);
    *block = (value.wrapping_shl(1) ^ reduced).to_be_bytes().into();
}
