//! Reading the journal and holding it against the plan.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tallylink_journal::{Dir, Item, Reader, Record};

use super::plan::{Plan, STREAMS};
use crate::Error;
use crate::device::DeviceKey;

/// What the journal holds of one sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) records: u64,
    pub(super) bytes: u64,
    pub(super) missing: u64,
    pub(super) repeated: u64,
    pub(super) out_of_order: u64,
    /// Records whose bytes are not those that were sent, and records and gaps that nobody sent.
    pub(super) wrong: u64,
}

impl Found {
    pub(super) fn is_exact(&self) -> bool {
        let Self { records: _, bytes: _, missing, repeated, out_of_order, wrong } = self;
        [missing, repeated, out_of_order, wrong].iter().all(|count| **count == 0)
    }
}

/// Reads everything. One entry a sender.
///
/// # Errors
/// The journal cannot be read.
pub(super) fn read(plan: &Plan, keys: &[(PathBuf, DeviceKey)], dir: &Path) -> Result<Vec<Found>, Error> {
    let path = dir.join("journal");
    let journal = Dir::open(&path).map_err(|error| Error::NoJournal { dir: path.clone(), error })?;
    let mut reader = Reader::open(journal)?;
    let mut check = Check::new(plan, keys);
    loop {
        match reader.next()? {
            None => return Ok(check.finish()),
            Some(Item::Record(record)) => check.record(&record),
            Some(Item::Gap(gap)) => check.strange(gap.peer),
            Some(Item::Damage(_)) => return Err(Error::JournalDamaged { dir: path, places: 1 }),
        }
    }
}

struct Check<'p> {
    plan: &'p Plan,
    senders: HashMap<[u8; 8], u32>,
    found: Vec<Found>,
    /// Of each sender and stream: which records were seen, and the number after the last one.
    seen: Vec<[Seen; STREAMS.len()]>,
    expected: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
struct Seen {
    records: Vec<bool>,
    next: u64,
    epoch: Option<[u8; 8]>,
}

impl<'p> Check<'p> {
    fn new(plan: &'p Plan, keys: &[(PathBuf, DeviceKey)]) -> Self {
        let seen = |records: u64| Seen { records: vec![false; records as usize], ..Seen::default() };
        Self {
            plan,
            senders: keys.iter().map(|(_, key)| key.peer.0).zip(0..).collect(),
            found: vec![Found::default(); keys.len()],
            seen: (0..plan.senders).map(|sender| plan.records_of(sender).map(seen)).collect(),
            expected: Vec::new(),
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        let stream = STREAMS.iter().position(|name| name.as_bytes() == record.stream);
        let (Some(&sender), Some(stream)) = (self.senders.get(&record.peer), stream) else {
            return self.strange(record.peer);
        };
        let found = &mut self.found[sender as usize];
        let seen = &mut self.seen[sender as usize][stream];
        // One start of a sender is one numbering, and the first: then index and number are the same.
        let is_first_epoch = *seen.epoch.get_or_insert(record.epoch) == record.epoch && record.index == record.number;
        let Some(was_seen) = seen.records.get_mut(record.number as usize).filter(|_| is_first_epoch) else {
            found.wrong += 1;
            return;
        };
        if std::mem::replace(was_seen, true) {
            found.repeated += 1;
        } else if record.number < seen.next {
            found.out_of_order += 1;
        }
        seen.next = seen.next.max(record.number + 1);
        self.plan.record(sender, stream, record.number, &mut self.expected);
        found.wrong += u64::from(self.expected != record.bytes);
        found.records += 1;
        found.bytes += record.bytes.len() as u64;
    }

    /// Something that nobody of the demo sent.
    fn strange(&mut self, peer: [u8; 8]) {
        let sender = self.senders.get(&peer).copied().unwrap_or(0);
        self.found[sender as usize].wrong += 1;
    }

    fn finish(mut self) -> Vec<Found> {
        for (found, seen) in self.found.iter_mut().zip(&self.seen) {
            let missing = |seen: &Seen| seen.records.iter().filter(|seen| !**seen).count() as u64;
            found.missing = seen.iter().map(missing).sum();
        }
        self.found
    }
}
