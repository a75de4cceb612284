//! What the entries of a journal say of each stream: how many records are whole, and which numbers are missing.

use std::collections::BTreeMap;

use super::{Lost, StreamCheck};
use crate::chunk::Position;
use crate::entry::{ChunkHead, Entry, Identity};
use crate::streams::{Fit, Stream as Stored, Streams, fit};
use crate::varint;

/// How many missing ranges of a stream are listed; more are only counted.
const LISTED: usize = 256;

/// All streams, by their id in the journal.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    streams: BTreeMap<u32, Stream>,
}

#[derive(Debug)]
struct Stream {
    report: StreamCheck,
    /// Each epoch met; the first is the one that the definition in force names.
    epochs: Vec<Epoch>,
}

#[derive(Debug)]
struct Epoch {
    epoch: [u8; 8],
    base: u64,
    next: Position,
    /// The beginning of the record at `next` was met.
    begun: bool,
}

impl Tally {
    /// Takes one entry. `false` if it means nothing: its definition is lost, or its body is no chunk.
    pub(crate) fn take(&mut self, entry: Entry, body: &[u8]) -> bool {
        match entry {
            Entry::Group { .. } | Entry::Void => true,
            Entry::Define { stream, base, next } => {
                Identity::read(body).is_some_and(|who| self.define(stream, who, base, next))
            }
            Entry::Chunk(chunk) => is_chunk(&chunk, body) && self.chunk(&chunk).is_some(),
            Entry::Gap { stream, below, .. } => self.gap(stream, below).is_some(),
            Entry::Freed { stream, .. } => self.current(stream).is_some(),
        }
    }

    /// Adds what a checkpoint knows to have been stored and no entry shows.
    pub(crate) fn compare(&mut self, known: &Streams) {
        for (id, stream) in known.iter() {
            let Some(found) = self.streams.get_mut(&id) else { continue };
            for slot in stream.epochs.iter() {
                let Some(at) = found.epochs.iter().position(|epoch| epoch.epoch == slot.epoch) else { continue };
                let next = found.epochs[at].next.number;
                found.lose(at, next, slot.stored);
            }
        }
    }

    /// Streams and their epochs of which more is known to have been stored than any entry shows, a stream's oldest first.
    pub(crate) fn behind(&self, known: &Streams) -> Vec<(u32, [u8; 8])> {
        let of_stream = |(id, stream): (u32, &Stored)| {
            let met = self.streams.get(&id).map_or(&[][..], |found| &found.epochs);
            let next = |epoch| met.iter().find(|found| found.epoch == epoch).map(|found| found.next.number);
            let behind = stream.epochs.iter().filter(|slot| next(slot.epoch).is_some_and(|next| next < slot.stored));
            let mut behind: Vec<_> = behind.map(|slot| (id, slot.epoch)).collect();
            behind.reverse();
            behind
        };
        known.iter().flat_map(of_stream).collect()
    }

    pub(crate) fn into_report(self) -> Vec<StreamCheck> {
        self.streams.into_values().map(|stream| stream.report).collect()
    }

    fn define(&mut self, id: u32, who: Identity<'_>, base: u64, next: Position) -> bool {
        let stream = self.streams.entry(id).or_insert_with(|| Stream {
            report: StreamCheck { peer: who.peer, name: who.name.to_vec(), ..StreamCheck::default() },
            epochs: Vec::new(),
        });
        if stream.report.peer != who.peer || stream.report.name != who.name {
            return false;
        }
        match stream.epochs.iter().position(|epoch| epoch.epoch == who.epoch) {
            None => stream.epochs.insert(0, Epoch { epoch: who.epoch, base, next, begun: next.offset == 0 }),
            Some(at) => {
                let found = stream.epochs.remove(at);
                stream.epochs.insert(0, Epoch { base, ..found });
                stream.go_to(next);
            }
        }
        true
    }

    fn chunk(&mut self, chunk: &ChunkHead) -> Option<()> {
        let stream = self.streams.get_mut(&chunk.stream)?;
        let (from, to) = (chunk.from, chunk.to);
        let epoch = stream.epochs.first_mut()?;
        match fit(epoch.next, from) {
            Fit::Continues => {}
            Fit::Restarts => epoch.begun = true,
            Fit::Jumps => stream.go_to(from),
            // The writer appends at its stream's position only: the definition that made this a new one is lost.
            Fit::Repeats => return None,
        }
        let epoch = stream.epochs.first_mut()?;
        let ends_without_beginning = from.offset > 0 && to.number > from.number && !epoch.begun;
        epoch.begun = to.number > from.number || from.offset == 0 || epoch.begun;
        epoch.next = to;
        stream.report.records += to.number - from.number;
        if ends_without_beginning {
            stream.report.records -= 1;
            stream.lose(0, from.number, from.number + 1);
        }
        Some(())
    }

    fn gap(&mut self, id: u32, below: u64) -> Option<()> {
        let epoch = self.current(id)?;
        if below > epoch.next.number {
            epoch.next = Position::start_of(below);
            epoch.begun = true;
        }
        Some(())
    }

    fn current(&mut self, id: u32) -> Option<&mut Epoch> {
        self.streams.get_mut(&id)?.epochs.first_mut()
    }
}

impl Stream {
    /// Moves the current epoch to a place that is not behind it; what is between is missing.
    fn go_to(&mut self, to: Position) {
        let Some(epoch) = self.epochs.first_mut() else { return };
        let next = epoch.next;
        if to > next {
            epoch.next = to;
            epoch.begun = to.offset == 0;
            self.lose(0, next.number, to.number);
        }
    }

    fn lose(&mut self, epoch: usize, next: u64, below: u64) {
        let Some(Epoch { epoch, base, .. }) = self.epochs.get(epoch).filter(|_| next < below) else { return };
        self.report.lost_records += below - next;
        let lost = Lost { epoch: *epoch, next, below, index: base.saturating_add(next) };
        let room = self.report.lost.len() < LISTED;
        match self.report.lost.last_mut() {
            Some(last) if last.epoch == lost.epoch && last.below == next => last.below = below,
            _ if room => self.report.lost.push(lost),
            _ => {}
        }
    }
}

/// Whether the sizes in a body lead from record to record and end where its header says.
fn is_chunk(chunk: &ChunkHead, body: &[u8]) -> bool {
    let mut rest = body.get(chunk.first_record as usize..).unwrap_or_default();
    // The last one is begun only.
    let whole = u64::from(chunk.records) - u64::from(chunk.records > 0 && chunk.to.offset > 0);
    for _ in 0..whole {
        let Some((size, prefix)) = varint::read(rest) else { return false };
        let Some(behind) = usize::try_from(size).ok().and_then(|size| rest.get(prefix..)?.get(size..)) else {
            return false;
        };
        rest = behind;
    }
    match (chunk.records, chunk.to.offset as usize) {
        (0, _) => rest.is_empty(),
        (_, begun) => rest.len() == begun,
    }
}
