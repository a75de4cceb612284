//! A seeded life of a journal beside a plain model of what it must keep.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::ControlFlow;

use tallylink_journal::testing::{Chance, Fault, MemStore, Operation};
use tallylink_journal::{Chunk, Error, Item, Journal, Options, Position, Reader, Retention, StreamId, SyncSite};

use crate::common::{SALT, stored};

const STREAMS: u8 = 3;
const REMEMBERED: usize = 4;

/// What the model knows of one epoch.
#[derive(Clone, Debug, Default)]
struct Epoch {
    id: [u8; 8],
    /// Told to be stored below this: may never go back.
    confirmed: u64,
    /// Ever appended below this.
    appended: u64,
    /// Gaps ever appended: from, below.
    gaps: Vec<(u64, u64)>,
    /// Index of each record as a reader first showed it.
    indexes: BTreeMap<u64, u64>,
}

/// One stream: its epochs, oldest first.
#[derive(Clone, Debug, Default)]
struct Stream {
    epochs: Vec<Epoch>,
}

/// A journal's store, what must be in it, and the chance that drives both.
pub(crate) struct World {
    pub(crate) store: MemStore,
    pub(crate) chance: Chance,
    streams: Vec<Stream>,
    retention: Retention,
    clock_us: u64,
    /// Records confirmed so far, over all lives.
    pub(crate) confirmed: u64,
    /// The cuts and kills so far.
    pub(crate) deaths: u64,
}

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Death {
    Kill,
    PowerCut,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let max_bytes = chance.percent(50).then_some(60_000);
        Self {
            store: MemStore::new(chance.draw()),
            chance,
            streams: vec![Stream::default(); usize::from(STREAMS)],
            retention: Retention { max_bytes, max_age_us: None, freed: false },
            clock_us: 1,
            confirmed: 0,
            deaths: 0,
        }
    }

    fn options(&self) -> Options {
        Options {
            salt: SALT,
            segment_bytes: Options::MIN_SEGMENT,
            buffer_bytes: 3000,
            max_streams: 10,
            remembered_epochs: REMEMBERED,
            retention: self.retention,
        }
    }

    /// Opens, checks everything against the model, works, and dies. An error says what the journal broke.
    pub(crate) fn live(&mut self) -> Result<(), String> {
        let death = if self.chance.percent(50) { Death::Kill } else { Death::PowerCut };
        let steps = self.chance.below(120);
        // Every now and then the end comes in the middle of whatever is being done, opening included.
        let early = self.chance.percent(50).then(|| self.chance.below(200));
        if let Some(operations) = early {
            self.store.die_after(operations);
        }
        match Journal::open(self.store.clone(), self.options()) {
            Ok((mut journal, recovery)) => {
                if recovery.damaged_places + recovery.missing_segments + recovery.repeated_chunks > 0 {
                    return Err(format!("damage without cause: {recovery:?}"));
                }
                self.check(&journal)?;
                for _ in 0..steps {
                    if self.step(&mut journal)?.is_break() {
                        break;
                    }
                }
            }
            Err(Error::Io { .. }) if early.is_some() => {}
            Err(e) => return Err(format!("cannot open: {e}")),
        }
        self.store.revive();
        self.store.clear_faults();
        self.deaths += 1;
        if death == Death::PowerCut {
            self.store.power_cut();
        }
        Ok(())
    }

    /// One random action. `Break` when the process died.
    fn step(&mut self, journal: &mut Journal<MemStore>) -> Result<ControlFlow<()>, String> {
        self.clock_us += 1;
        let which = self.chance.below(u64::from(STREAMS)) as u8;
        let acted = match self.chance.below(100) {
            0..60 => self.append(journal, which),
            60..63 => self.gap(journal, which),
            63..66 => {
                self.begin_epoch(which);
                Ok(())
            }
            66..90 => journal.commit().map(<[_]>::to_vec).map(|stored| {
                for told in stored {
                    self.confirm(told.epoch, told.below);
                }
            }),
            90..97 => journal.maintain(self.clock_us).map(|_| ()),
            _ => {
                journal.rewind();
                Ok(())
            }
        };
        match acted {
            Ok(()) => {}
            // Killed: whatever the error says, this process is no more.
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::BrokenPipe => {
                return Ok(ControlFlow::Break(()));
            }
            // The disk failed, as ordered: the caller ends its sessions and goes on.
            Err(Error::Io { .. }) => {
                journal.rewind();
                self.store.clear_faults();
            }
            Err(e) => return Err(format!("refused: {e}")),
        }
        if self.chance.percent(2) {
            let operations = [
                Operation::Sync(SyncSite::Group),
                Operation::Sync(SyncSite::SegmentName),
                Operation::Sync(SyncSite::Checkpoint),
                Operation::Write,
                Operation::Allocate,
                Operation::Create,
                Operation::Remove,
                Operation::Truncate,
            ];
            let operation = operations[self.chance.below(operations.len() as u64) as usize];
            let kind = if self.chance.percent(30) { ErrorKind::StorageFull } else { ErrorKind::Other };
            self.store.add_fault(Fault { operation, after: 0, times: 1, kind });
        }
        Ok(ControlFlow::Continue(()))
    }

    fn begin_epoch(&mut self, which: u8) {
        let epochs = &mut self.streams[usize::from(which)].epochs;
        let id = [which + 1, epochs.len() as u8 + 1, 0, 0, 0, 0, 0, 0];
        epochs.push(Epoch { id, ..Epoch::default() });
    }

    /// Appends to the newest epoch, or now and then to the one before.
    fn target(&mut self, journal: &mut Journal<MemStore>, which: u8) -> Result<(StreamId, usize, Position), Error> {
        if self.streams[usize::from(which)].epochs.is_empty() {
            self.begin_epoch(which);
        }
        let epochs = &self.streams[usize::from(which)].epochs;
        let newest = epochs.len() - 1;
        let at = if newest > 0 && self.chance.percent(10) { newest - 1 } else { newest };
        let stream = journal.stream([which; 8], &[b's', which])?;
        journal.begin_epoch(stream, epochs[at].id, 0, 0)?;
        let next = journal.epoch_state(stream, epochs[at].id).map(|state| state.next).unwrap_or_default();
        Ok((stream, at, next))
    }

    fn append(&mut self, journal: &mut Journal<MemStore>, which: u8) -> Result<(), Error> {
        let (stream, at, next) = self.target(journal, which)?;
        let epoch = self.streams[usize::from(which)].epochs[at].id;
        // The bytes of the records from `next.number` on, cut where the chunk begins and somewhere near its end.
        let count = 1 + self.chance.below(6);
        let records: Vec<Vec<u8>> = (next.number..next.number + count).map(|n| content(epoch, n)).collect();
        let restart = next.offset > 0 && self.chance.percent(30);
        let from = if restart { Position::start_of(next.number) } else { next };
        let mut bytes = stored(&records).split_off(from.offset as usize);
        let mut to = Position::start_of(next.number + count);
        let last = stored(&records[count as usize - 1..]).len();
        if (count > 1 || from.offset == 0) && self.chance.percent(40) && last > 3 {
            // No cut inside a size varint.
            let kept = 2 + self.chance.below(last as u64 - 2) as usize;
            bytes.truncate(bytes.len() - (last - kept));
            to = Position { number: next.number + count - 1, offset: kept as u32 };
        }
        let begun = u64::from(from.offset > 0);
        let first_record = if begun > 0 { stored(&records[..1]).len() - from.offset as usize } else { 0 };
        let chunk = Chunk {
            stream,
            epoch,
            from,
            to,
            first_record: first_record as u32,
            records: (count - begun) as u32,
            bytes: &bytes,
        };
        journal.append(chunk, self.clock_us)?;
        let epoch = &mut self.streams[usize::from(which)].epochs[at];
        epoch.appended = epoch.appended.max(to.number);
        Ok(())
    }

    fn gap(&mut self, journal: &mut Journal<MemStore>, which: u8) -> Result<(), Error> {
        let (stream, at, next) = self.target(journal, which)?;
        let epoch = &mut self.streams[usize::from(which)].epochs[at];
        // Only behind everything ever appended: a number that a cut took back will come again as a record.
        if next.number < epoch.appended || next.offset > 0 {
            return Ok(());
        }
        let below = next.number + 1 + self.chance.below(5);
        epoch.gaps.push((next.number, below));
        epoch.appended = below;
        journal.gap(stream, epoch.id, below, 1, self.clock_us)
    }

    fn confirm(&mut self, id: [u8; 8], below: u64) {
        let epochs = &mut self.streams[usize::from(id[0] - 1)].epochs;
        let epoch = &mut epochs[usize::from(id[1] - 1)];
        self.confirmed += below.saturating_sub(epoch.confirmed);
        epoch.confirmed = epoch.confirmed.max(below);
    }

    /// Compares what the journal tells and what a reader finds with the model.
    fn check(&mut self, journal: &Journal<MemStore>) -> Result<(), String> {
        let mut told = Vec::new();
        for (which, stream) in self.streams.iter().enumerate() {
            let known = journal.find_stream([which as u8; 8], &[b's', which as u8]);
            let confirmed: Vec<&Epoch> = stream.epochs.iter().rev().filter(|e| e.confirmed > 0).collect();
            for epoch in confirmed.iter().take(REMEMBERED) {
                let state = known.and_then(|id| journal.epoch_state(id, epoch.id));
                let Some(state) = state else {
                    // Newer epochs, appended and never confirmed, may have come through and pushed it out.
                    let newer = known.map_or(0, |id| journal.epochs(id).count());
                    if newer == REMEMBERED {
                        continue;
                    }
                    return Err(format!("stream {which} forgot epoch {:?}", epoch.id));
                };
                if state.stored_below < epoch.confirmed || state.stored_below > epoch.appended {
                    return Err(format!("stream {which}: {state:?}, the model has {epoch:?}"));
                }
                if state.next != Position::start_of(state.stored_below) {
                    return Err(format!("an unfinished record survived: {state:?}"));
                }
            }
            let epochs = known.into_iter().flat_map(|id| journal.epochs(id));
            told.extend(epochs.map(|(epoch, state)| (epoch, state.stored_below)));
        }
        for (epoch, below) in told {
            self.confirm(epoch, below);
        }
        self.check_reader()
    }

    fn check_reader(&mut self) -> Result<(), String> {
        let mut reader = match Reader::open(self.store.clone()) {
            Ok(reader) => reader,
            // The process dies in the middle of the check.
            Err(Error::Io { .. }) => return Ok(()),
            Err(e) => return Err(format!("cannot read: {e}")),
        };
        // Per epoch the next number, per stream the next index.
        let mut next: BTreeMap<[u8; 8], u64> = BTreeMap::new();
        let mut next_index: BTreeMap<[u8; 8], u64> = BTreeMap::new();
        loop {
            let (peer, id, number, below, index, bytes) = match reader.next() {
                Ok(None) => break,
                Ok(Some(Item::Record(r))) => (r.peer, r.epoch, r.number, r.number + 1, r.index, Some(r.bytes)),
                Ok(Some(Item::Gap(g))) if g.reason.is_some() => (g.peer, g.epoch, g.next, g.below, g.index, None),
                // Retention may have deleted the beginning of the first record.
                Ok(Some(Item::Gap(g))) if self.retention.max_bytes.is_some() && !next.contains_key(&g.epoch) => {
                    continue;
                }
                Ok(Some(other)) => return Err(format!("a reader met {other:?}")),
                Err(Error::Io { .. }) => return Ok(()),
                Err(e) => return Err(format!("cannot read on: {e}")),
            };
            let epoch = &mut self.streams[usize::from(id[0] - 1)].epochs[usize::from(id[1] - 1)];
            let expected = *next.get(&id).unwrap_or(&number);
            let starts = self.retention.max_bytes.is_some() || next.contains_key(&id) || number == 0;
            if number != expected || !starts {
                return Err(format!("{id:?}: read {number}, expected {expected}"));
            }
            if index < *next_index.get(&peer).unwrap_or(&0) {
                return Err(format!("{id:?}: index {index} of {number} went back"));
            }
            match bytes {
                Some(bytes) if bytes != content(id, number) => {
                    return Err(format!("{id:?}: {number} has other bytes"));
                }
                None if !epoch.gaps.contains(&(number, below)) => {
                    return Err(format!("a gap nobody made: {number}"));
                }
                _ => {}
            }
            if *epoch.indexes.entry(number).or_insert(index) != index {
                return Err(format!("{id:?}: the index of {number} changed to {index}"));
            }
            next.insert(id, below);
            next_index.insert(peer, index + (below - number));
        }
        for epoch in self.streams.iter().flat_map(|s| &s.epochs) {
            let read = next.get(&epoch.id).copied();
            let behind = read.is_some_and(|read| read < epoch.confirmed);
            if behind || (read.is_none() && epoch.confirmed > 0 && self.retention.max_bytes.is_none()) {
                return Err(format!("{:?}: read below {read:?}, confirmed {}", epoch.id, epoch.confirmed));
            }
        }
        Ok(())
    }
}

/// The one content that (epoch, number) ever has.
fn content(epoch: [u8; 8], number: u64) -> Vec<u8> {
    let mut chance = Chance::new(u64::from_le_bytes(epoch) ^ number.wrapping_mul(0x9e37_79b9));
    let longest = if chance.percent(5) { 6000 } else { 200 };
    let len = chance.below(longest);
    (0..len).map(|_| chance.draw() as u8).collect()
}
