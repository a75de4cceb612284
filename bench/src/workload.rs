//! The records that are measured: content follows from (seed, number, size), so that the receiver
//! can check every byte without being told, and both for a few nanoseconds.
//!
//! A record is an 8-byte head, unlike that of any other number, and a body cut from one small table of
//! random bytes. Bodies repeat after [`Workload::period`] records, which lets a sender keep one
//! batch packed and write only the heads anew ([`Packed`]): what is measured is the transport, not
//! the making of test data.

mod check;
mod packed;
#[cfg(test)]
mod tests;

pub(crate) use check::{Checked, Checker, LengthPrefixed};
pub(crate) use packed::Packed;

/// Bytes of a record that name its number.
pub(crate) const HEAD: usize = 8;

/// Payload of one batch, near enough: the period is a power of two.
const BATCH_BYTES: usize = 64 * 1024;
/// Bound on the period, for records of a few bytes.
const LONGEST_PERIOD: usize = 4096;
/// Neighbouring bodies start this far apart in the table, so that they differ and it stays in cache.
const STEP: usize = 8;

/// Records of one size.
pub(crate) struct Workload {
    seed: u64,
    size: usize,
    /// A power of two.
    period: usize,
    table: Vec<u8>,
}

impl Workload {
    pub(crate) fn new(seed: u64, size: usize) -> Self {
        let fitting = (BATCH_BYTES / size.max(1)).clamp(1, LONGEST_PERIOD);
        let period = 1 << fitting.ilog2();
        let mut random = SplitMix64(seed ^ size as u64);
        let table = (0..period * STEP + size).map(|_| random.byte()).collect();
        Self { seed, size, period, table }
    }

    /// Bytes of each record.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Bodies repeat after this many records.
    pub(crate) fn period(&self) -> u64 {
        self.period as u64
    }

    /// The first bytes of record `number`, cut to its size where that is less.
    pub(crate) fn head(&self, number: u64) -> [u8; HEAD] {
        (number ^ self.seed).to_le_bytes()
    }

    /// What follows the head of record `number`.
    pub(crate) fn body(&self, number: u64) -> &[u8] {
        let slot = number as usize & (self.period - 1);
        let from = slot * STEP;
        &self.table[from..from + self.size.saturating_sub(HEAD)]
    }

    /// Whether `bytes` are the whole of record `number`.
    #[inline]
    pub(crate) fn is_record(&self, number: u64, bytes: &[u8]) -> bool {
        bytes.len() == self.size
            && match bytes.split_first_chunk::<HEAD>() {
                Some((head, body)) => *head == self.head(number) && body == self.body(number),
                None => bytes == &self.head(number)[..self.size],
            }
    }

    /// Whether `bytes` are what record `number` holds from `offset` on.
    pub(crate) fn is_piece(&self, number: u64, offset: usize, bytes: &[u8]) -> bool {
        if bytes.len() > self.size.saturating_sub(offset) {
            return false;
        }
        let head = self.head(number);
        let head = head.get(offset..).unwrap_or_default();
        let (in_head, in_body) = bytes.split_at(head.len().min(bytes.len()));
        let from = offset.saturating_sub(HEAD);
        in_head == &head[..in_head.len()] && in_body == &self.body(number)[from..from + in_body.len()]
    }
}

/// Sebastiano Vigna's SplitMix64 (public domain): enough to make bytes that nothing can guess right.
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    fn byte(&mut self) -> u8 {
        (self.next() >> 56) as u8
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
