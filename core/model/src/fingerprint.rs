//! A 128-bit fingerprint of a state, so that the search remembers states without keeping them.
//!
//! Two lanes of multiply-and-fold with different constants. At ten million states the chance that any two share
//! a fingerprint is below 2^-80; a shared one would hide a state, never invent a violation.

use std::hash::{BuildHasherDefault, Hash, Hasher};

/// The fingerprint of `state`.
pub fn fingerprint(state: &impl Hash) -> u128 {
    let mut lanes = Lanes { low: 0x243f_6a88_85a3_08d3, high: 0x1319_8a2e_0370_7344 };
    state.hash(&mut lanes);
    (u128::from(lanes.high) << 64) | u128::from(lanes.finish())
}

/// A hash set of fingerprints: they are hashes already, so they are not hashed again.
pub(crate) type FingerprintSet = std::collections::HashSet<u128, BuildHasherDefault<AlreadyHashed>>;

struct Lanes {
    low: u64,
    high: u64,
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

impl Hasher for Lanes {
    fn write(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.low = fold(self.low ^ word, 0x9e37_79b9_7f4a_7c15).wrapping_add(self.high);
        self.high = fold(self.high.rotate_left(23) ^ word, 0xd1b5_4a32_d192_ed03) ^ self.low.rotate_left(31);
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }

    fn write_u16(&mut self, word: u16) {
        self.write_u64(u64::from(word));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        fold(self.low ^ self.high.rotate_left(17), 0x8ebc_6af0_9c88_c6e3)
    }
}

#[derive(Default)]
pub(crate) struct AlreadyHashed(u64);

impl Hasher for AlreadyHashed {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only u128 fingerprints are kept in this set");
    }

    fn write_u128(&mut self, fingerprint: u128) {
        self.0 = fingerprint as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
