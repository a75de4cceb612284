//! What the records hold: it follows from the seed and the record's place.
use crate::workload::SplitMix64;

/// One opening of one stream of one sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Origin {
    pub(super) sender: u32,
    pub(super) stream: u32,
    /// How often the sender was started before.
    pub(super) life: u32,
}

/// Records at least this long are like no other, so that they tell where they are from.
pub(super) const TELLING: usize = 16;
/// Every so many records one is as long as that; the first, too.
const TELLS: u64 = 8;

/// Writes record `number` of `origin`: nine of ten are small, a few have tens of KiB, one in twenty is empty.
pub(super) fn record(seed: u64, origin: Origin, number: u64, into: &mut Vec<u8>) {
    let mut random = SplitMix64(seed);
    for part in [u64::from(origin.sender), u64::from(origin.stream), u64::from(origin.life), number] {
        random.0 = random.next() ^ part;
    }
    let mut below = |bound: u64| random.next() % bound;
    let len = match below(100) {
        0..5 => 0,
        5..60 => below(65),
        60..90 => below(1_501),
        90..98 => below(8_001),
        _ => below(48_001),
    };
    let least = if number.is_multiple_of(TELLS) { TELLING } else { 0 };
    into.clear();
    into.resize((len as usize).max(least), 0);
    for piece in into.chunks_mut(8) {
        let word = random.next().to_le_bytes();
        piece.copy_from_slice(&word[..piece.len()]);
    }
}
