//! Carries records from one endpoint to another in memory, for a counter of instructions to watch.
//!
//! `tallylink-cost SIZE RECORDS` pushes so many records of so many bytes, packed in batches, and ends when all are STORED.
//! What two runs of different length differ by is what the records between them cost: set-up and handshake cancel out.
//! `.ci/cost` does that, and compares with the ceilings beside this crate. A third word, `one-by-one`, pushes them singly.

mod ends;
mod plain;

use ends::{Pair, RING};
use std::process::ExitCode;

/// Bytes of records in one batch.
const BATCH: usize = 64 << 10;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
    let (Some(size), Some(records)) = (number(), number()) else {
        eprintln!("say how large the records are and how many: tallylink-cost 61 100000");
        return ExitCode::from(2);
    };
    let singly = match words.next().as_deref() {
        None | Some("batch") => false,
        Some("one-by-one") => true,
        Some(other) => {
            eprintln!("records are pushed in a `batch` or `one-by-one`, not `{other}`");
            return ExitCode::from(2);
        }
    };
    // The arrays of an endpoint are one value, and it passes over the stack once.
    let run = std::thread::Builder::new().stack_size(16 * RING).spawn(move || carry(size as usize, records, singly));
    let carried = run.map(std::thread::JoinHandle::join);
    let Ok(Ok(packets)) = carried else {
        eprintln!("the records did not arrive");
        return ExitCode::FAILURE;
    };
    println!("{packets}");
    ExitCode::SUCCESS
}

/// Returns how many packets it took.
fn carry(size: usize, records: u64, singly: bool) -> u64 {
    let mut pair = Pair::new();
    let one = ends::packed(size);
    let at_once = if singly { 1 } else { (BATCH / one.len()).max(1) as u64 };
    let batch = one.repeat(at_once as usize);
    let mut pushed = 0;
    while pair.stored() < records {
        while pushed < records && pair.room() >= batch.len() {
            let count = at_once.min(records - pushed);
            match singly {
                true => pair.push(&one[one.len() - size..]),
                false => pair.push_batch(&batch[..count as usize * one.len()]),
            }
            pushed += count;
        }
        pair.turn();
    }
    pair.packets()
}
