//! Random numbers that a seed repeats (SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number
//! generators", OOPSLA 2014).

use crate::Error;

/// A generator.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// A generator of its own for each combination of numbers.
    pub(super) fn new(seed: u64, parts: &[u64]) -> Self {
        let mut random = Self(seed);
        for part in parts {
            random.0 = random.next() ^ part;
        }
        random
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is small beside 2^64.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        for piece in bytes.chunks_mut(8) {
            let word = self.next().to_le_bytes();
            piece.copy_from_slice(&word[..piece.len()]);
        }
    }
}

/// A seed that was not used before.
///
/// # Errors
/// The system gives no random numbers.
pub(super) fn seed() -> Result<u64, Error> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).map_err(tallylink_linux::StartError::Entropy)?;
    Ok(u64::from(u32::from_le_bytes(bytes)))
}
