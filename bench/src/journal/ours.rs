//! A Tallylink journal.
use std::path::Path;

use anyhow::{Context, Result, ensure};
use tallylink_core::wire::varint;
use tallylink_journal::{Chunk, Dir, Item, Journal, Options, Position, Reader};

use super::Round;
use crate::{
    meter::Meter,
    workload::{Packed, Workload},
};

const EPOCH: [u8; 8] = *b"measured";
/// UTC in microseconds at which everything arrives.
const NOW_US: u64 = 1_700_000_000_000_000;
/// Bytes of records in a packet.
const PACKET: usize = 1_430;

/// Appends in groups of at least so many bytes, opens what is there as a crash leaves it, and reads it.
pub(super) fn measure(workload: &Workload, records: u64, group: u64, home: &Path) -> Result<Round> {
    let dir = || Dir::create(home.join("journal"));
    let options = || Options { salt: 0x6a6f_7572_6e61_6c01, ..Options::default() };
    let prefix = varint::encode(workload.size() as u64).ok().context("records longer than any can be")?;
    let mut packed = Packed::new(workload, prefix.as_slice());
    let stride = prefix.as_slice().len() + workload.size();
    // A trickle has a record a chunk.
    let in_chunk = if group > 1 { (PACKET / stride).max(1) } else { 1 };

    let meter = Meter::start()?;
    let (mut journal, _) = Journal::open(dir()?, options())?;
    let stream = journal.stream([1; 8], b"measured")?;
    journal.begin_epoch(stream, EPOCH, 0, 0)?;
    let mut next = 0;
    while next < records {
        let (_, batch) = packed.batch(workload, next, records - next);
        for bytes in batch.chunks(in_chunk * stride) {
            let count = (bytes.len() / stride) as u32;
            let (from, to) = (Position::start_of(next), Position::start_of(next + u64::from(count)));
            let chunk = Chunk { stream, epoch: EPOCH, from, to, first_record: 0, records: count, bytes };
            journal.append(chunk, NOW_US)?;
            next = to.number;
            if journal.pending_bytes() >= group {
                journal.commit()?;
                journal.maintain(NOW_US)?;
            }
        }
    }
    journal.commit()?;
    let append = meter.spent()?;
    // No farewell: it is left as a killed process leaves it.
    drop(journal);

    let meter = Meter::start()?;
    let (journal, _) = Journal::open(dir()?, options())?;
    let recover = meter.spent()?;
    let found = journal.find_stream([1; 8], b"measured").and_then(|stream| journal.epoch_state(stream, EPOCH));
    ensure!(found.is_some_and(|state| state.stored_below == records), "not everything was recovered");

    let meter = Meter::start()?;
    let mut reader = Reader::open(dir()?)?;
    let (mut read, mut wrong) = (0, 0);
    while let Some(item) = reader.next()? {
        let right =
            matches!(item, Item::Record(record) if record.number == read && workload.is_record(read, record.bytes));
        wrong += u64::from(!right);
        read += 1;
    }
    Ok(Round { records, append, read: meter.spent()?, recover, errors: wrong + records.abs_diff(read) })
}
