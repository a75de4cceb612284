//! What both sides rely on: what is packed is what the checker expects, and nothing else is.
use std::sync::Arc;

use super::{Checked, LengthPrefixed, Packed, Workload};

const SEED: u64 = 7;
const SIZES: [usize; 7] = [0, 1, 7, 8, 61, 1_013, 16_013];

fn stream(workload: &Workload, records: u64) -> Vec<u8> {
    let mut packed = Packed::new(workload, &(workload.size() as u32).to_le_bytes());
    let mut bytes = Vec::new();
    let mut next = 0;
    while next < records {
        let (count, batch) = packed.batch(workload, next, records - next);
        bytes.extend_from_slice(batch);
        next += count;
    }
    bytes
}

fn check(workload: &Arc<Workload>, bytes: &[u8], cut: usize) -> Checked {
    let mut receiver = LengthPrefixed::new(Arc::clone(workload));
    bytes.chunks(cut).for_each(|chunk| receiver.take(chunk));
    receiver.finish()
}

#[test]
fn every_record_is_recognised_wherever_the_stream_is_cut() {
    for size in SIZES {
        let workload = Arc::new(Workload::new(SEED, size));
        let records = workload.period() + 3;
        let bytes = stream(&workload, records);
        for cut in [1, 3, 5, 64, 1_436, bytes.len()] {
            let found = check(&workload, &bytes, cut);
            assert_eq!(found, Checked { records, wrong: 0 }, "size {size}, cut {cut}");
        }
    }
}

#[test]
fn one_flipped_bit_spoils_exactly_one_record() {
    let workload = Arc::new(Workload::new(SEED, 61));
    let bytes = stream(&workload, 40);
    for at in 0..bytes.len() {
        if at % 65 < 4 {
            continue;
        }
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        for cut in [50, bytes.len()] {
            let found = check(&workload, &bytes, cut);
            assert_eq!(found, Checked { records: 40, wrong: 1 }, "byte {at}, cut {cut}");
        }
    }
}

#[test]
fn a_record_missing_repeated_or_out_of_order_is_noticed() {
    let workload = Arc::new(Workload::new(SEED, 61));
    let bytes = stream(&workload, workload.period() + 2);
    let record = |number: usize| bytes[number * 65..(number + 1) * 65].to_vec();
    let period = workload.period() as usize;
    for order in [[1, 2], [0, 0], [1, 0], [period, 1]] {
        let sent: Vec<u8> = order.into_iter().flat_map(record).collect();
        assert!(check(&workload, &sent, 4_096).wrong > 0, "order {order:?}");
    }
}

#[test]
fn a_stream_that_ends_inside_a_record_is_wrong() {
    let workload = Arc::new(Workload::new(SEED, 61));
    let bytes = stream(&workload, 2);
    for length in 66..130 {
        let found = check(&workload, &bytes[..length], 1_000);
        assert_eq!(found, Checked { records: 1, wrong: 1 }, "length {length}");
    }
}

#[test]
fn another_seed_makes_other_records() {
    let bytes = stream(&Workload::new(SEED, 61), 10);
    let other = Arc::new(Workload::new(SEED + 1, 61));
    let found = check(&other, &bytes, 1_000);
    assert_eq!(found, Checked { records: 10, wrong: 10 });
}
