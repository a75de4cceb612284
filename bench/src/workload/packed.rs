//! A batch of records as a sender writes it: prefix and record, back to back.
use super::{HEAD, Workload};

/// One period of records, each behind the same prefix. Only the heads change from batch to batch.
pub(crate) struct Packed {
    bytes: Vec<u8>,
    /// Heads of a whole period, of which only the part inside the record is copied.
    head: usize,
    prefix: usize,
    stride: usize,
    period: u64,
}

impl Packed {
    /// `prefix` is what the side under test writes before each record to tell its size.
    pub(crate) fn new(workload: &Workload, prefix: &[u8]) -> Self {
        let stride = prefix.len() + workload.size();
        let head = workload.size().min(HEAD);
        let mut bytes = Vec::with_capacity(stride * workload.period() as usize);
        for number in 0..workload.period() {
            bytes.extend_from_slice(prefix);
            bytes.extend_from_slice(&workload.head(number)[..head]);
            bytes.extend_from_slice(workload.body(number));
        }
        Self { bytes, head, prefix: prefix.len(), stride, period: workload.period() }
    }

    /// Records `first..first + count`, where `first` begins a period and `count` is cut to one.
    /// Returns how many they are and their bytes.
    pub(crate) fn batch(&mut self, workload: &Workload, first: u64, count: u64) -> (u64, &[u8]) {
        debug_assert_eq!(first % self.period, 0, "a batch begins a period");
        let count = count.min(self.period);
        let length = count as usize * self.stride;
        if self.stride > 0 {
            let records = self.bytes[..length].chunks_exact_mut(self.stride);
            for (number, record) in (first..).zip(records) {
                let head = workload.head(number);
                match record[self.prefix..].first_chunk_mut::<HEAD>() {
                    Some(place) => *place = head,
                    None => record[self.prefix..].copy_from_slice(&head[..self.head]),
                }
            }
        }
        (count, &self.bytes[..length])
    }
}
