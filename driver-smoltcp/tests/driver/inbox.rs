//! What a receiving end has been given, by stream.

use std::ops::Range;
use tallylink_core::wire::{Open, varint};
use tallylink_core::{Accept, Batch, Deliver, Epoch, Full, InIx, PeerIx, Position, Refusal};

#[derive(Default)]
pub(crate) struct Inbox {
    pub(crate) streams: Vec<Received>,
    /// How many more batches fit; `None` for any number.
    pub(crate) room: Option<usize>,
    /// A sender gives records up. Where none does, a gap is a fault.
    pub(crate) gaps_expected: bool,
}

#[derive(Default)]
pub(crate) struct Received {
    pub(crate) name: String,
    pub(crate) epoch: Epoch,
    pub(crate) next: Position,
    /// What is missing, each with its reason.
    pub(crate) gaps: Vec<(Range<u64>, u8)>,
    bytes: Vec<u8>,
}

impl Received {
    /// The whole records so far.
    pub(crate) fn records(&self) -> Vec<Vec<u8>> {
        let mut rest = &self.bytes[..];
        let mut records = vec![];
        while let Ok((size, length)) = varint::decode(rest) {
            let end = length + size as usize;
            if rest.len() < end {
                break;
            }
            records.push(rest[length..end].to_vec());
            rest = &rest[end..];
        }
        records
    }

    /// ... each with its number.
    pub(crate) fn numbered(&self) -> Vec<(u64, Vec<u8>)> {
        let is_there = |number: &u64| !self.gaps.iter().any(|(gap, _)| gap.contains(number));
        (0..).filter(is_there).zip(self.records()).collect()
    }

    /// What came of a record that is not whole is void.
    fn forget_begun(&mut self) {
        let whole = self.records().iter().map(|r| stored_len(r.len())).sum();
        self.bytes.truncate(whole);
    }
}

/// How many bytes a record takes in its stored form.
fn stored_len(size: usize) -> usize {
    varint::len(size as u64) + size
}

impl Deliver for Inbox {
    fn open(&mut self, _: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        let known = self.streams.iter().position(|s| s.name == open.name);
        let at = known.unwrap_or_else(|| {
            self.streams.push(Received { name: open.name.into(), ..Received::default() });
            self.streams.len() - 1
        });
        let s = &mut self.streams[at];
        if s.epoch != open.epoch {
            // A sender without storage has been restarted, and numbers anew.
            (s.epoch, s.next) = (open.epoch, Position::default());
        }
        Ok(Accept { stream: InIx(at as u32), stored_below: s.next.number, next: s.next.number })
    }

    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        if let Some(room) = &mut self.room {
            *room = room.checked_sub(1).ok_or(Full)?;
        }
        let s = &mut self.streams[batch.stream.at()];
        if batch.from == Position::start_of(s.next.number) {
            // It began in a session that has ended.
            s.forget_begun();
        } else {
            assert_eq!(batch.from, s.next, "delivery continues the stream");
        }
        s.bytes.extend_from_slice(batch.bytes);
        s.next = batch.to;
        Ok(())
    }

    fn gap(&mut self, stream: InIx, _: Epoch, from: u64, below: u64, reason: u8) -> Result<(), Full> {
        assert!(self.gaps_expected, "nothing was skipped, yet there is a gap in {stream:?} from {from} to {below}");
        let s = &mut self.streams[stream.at()];
        assert_eq!(from, s.next.number, "a gap continues the stream");
        s.forget_begun();
        s.gaps.push((from..below, reason));
        s.next = Position::start_of(below);
        Ok(())
    }
}
