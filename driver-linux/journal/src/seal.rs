//! The two checksums of an entry and the mask that ties them to their place (`core/docs/storage.md` §4.1).

use crc_fast::{CrcAlgorithm, Digest, checksum};

/// CRC32C of `bytes`.
#[inline]
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    // A 32-bit algorithm answers in the low half.
    checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// CRC32C of bytes that come in pieces.
pub(crate) struct Running(Digest);

impl Running {
    pub(crate) fn new() -> Self {
        Self(Digest::new(CrcAlgorithm::Crc32Iscsi))
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn value(&self) -> u32 {
        self.0.finalize() as u32
    }
}

/// What the checksums of one segment are masked with, by offset.
///
/// An entry read at another offset, in another segment or from another journal does not verify; and since the
/// journal's id never leaves the machine, no record can contain bytes that pass for an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mask(u64);

impl Mask {
    pub(crate) fn new(journal: u64, segment: u64) -> Self {
        Self(mix(journal ^ mix(segment)))
    }

    /// The mask of the entry at `offset`: for its CRC and for its header check.
    #[inline]
    pub(crate) fn at(self, offset: u64) -> (u32, u16) {
        let mixed = mix(self.0.wrapping_add(offset));
        (mixed as u32, (mixed >> 32) as u16)
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014), a bijection in which every input bit moves every output bit.
#[inline]
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
