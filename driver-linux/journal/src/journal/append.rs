//! Taking chunks, gaps and marks into the buffer, and beginning segments.

use std::io;

use super::active::Active;
use super::commit::Touched;
use super::{Journal, Slot};
use crate::chunk::{Chunk, Position, StreamId};
use crate::entry::{self, ChunkHead, Entry, MAX_BODY, MAX_DEFINE, MAX_HEADER};
use crate::error::{At, Error};
use crate::seal::Mask;
use crate::segment::{self, ENTRIES_AT, Header};
use crate::store::{Store, StoreFile, SyncSite};
use crate::streams::{Fit, fit};
use crate::varint;

/// A stream is defined again after this many bytes, so that damage to a definition hides little.
const REDEFINE_EVERY: u64 = 4 << 20;
/// Where a disk has no room for a whole segment, the least that is worth beginning.
const LEAST_PREALLOCATED: u64 = 64 << 10;

impl<S: Store> Journal<S> {
    /// Takes a chunk that begins exactly where its stream ends, or again at the start of the record that is
    /// unfinished there, whose part is then void. It is durable after the next [`commit`](Self::commit).
    ///
    /// `arrival_us` is when it came, in microseconds of UTC since 1970.
    ///
    /// # Errors
    /// [`OutOfOrder`](Error::OutOfOrder), [`UnknownEpoch`](Error::UnknownEpoch), [`BadChunk`](Error::BadChunk) and
    /// [`IndexesExhausted`](Error::IndexesExhausted) change nothing. After any other, [`rewind`](Self::rewind).
    pub fn append(&mut self, chunk: Chunk<'_>, arrival_us: u64) -> Result<(), Error> {
        let head = head_of(&chunk, arrival_us)?;
        let fits = |next| match fit(next, chunk.from) {
            Fit::Continues | Fit::Restarts => Ok(()),
            Fit::Jumps | Fit::Repeats => Err(Error::OutOfOrder { expected: next, got: chunk.from }),
        };
        self.put(chunk.stream, chunk.epoch, &Entry::Chunk(head), chunk.bytes, Some(chunk.to), fits)?;
        self.stats.appended_bytes += chunk.bytes.len() as u64;
        self.stats.appended_records += u64::from(chunk.records);
        Ok(())
    }

    /// Journals that the numbers from the epoch's position below `below` will never come, and why: `reason` is the
    /// caller's code, kept as it is. An unfinished record is void.
    ///
    /// # Errors
    /// As [`append`](Self::append); [`OutOfOrder`](Error::OutOfOrder) if `below` is not above the epoch's position.
    pub fn gap(
        &mut self,
        stream: StreamId,
        epoch: [u8; 8],
        below: u64,
        reason: u8,
        arrival_us: u64,
    ) -> Result<(), Error> {
        if below > varint::MAX || arrival_us > varint::MAX {
            return Err(Error::BadChunk("a number is above 2^62 - 1"));
        }
        let to = Position::start_of(below);
        let next = self.epoch_state(stream, epoch).ok_or(Error::UnknownEpoch)?.next;
        let fits = |next: Position| {
            let ahead = below > next.number;
            ahead.then_some(()).ok_or(Error::OutOfOrder { expected: next, got: to })
        };
        let entry = Entry::Gap { stream: stream.0, next: next.number, below, reason, arrival_us };
        self.put(stream, epoch, &entry, &[], Some(to), fits)
    }

    /// Marks that the owner of the records, a sender, needs nothing of the epoch below `below` any more.
    ///
    /// Durable with the next [`commit`](Self::commit); an outbox opened later begins there. Where the disk has no room for
    /// the mark, [`maintain`](Self::maintain) goes by it all the same: what is freed makes room.
    ///
    /// # Errors
    /// As [`append`](Self::append); [`BadChunk`](Error::BadChunk) if `below` was never appended.
    pub fn freed(&mut self, stream: StreamId, epoch: [u8; 8], below: u64) -> Result<(), Error> {
        let slot = self.streams.get_mut(stream.0).and_then(|s| s.epochs.find_mut(epoch)).ok_or(Error::UnknownEpoch)?;
        if below > slot.next().number {
            return Err(Error::BadChunk("what is freed was never appended"));
        }
        slot.freed = slot.freed.max(below);
        self.put(stream, epoch, &Entry::Freed { stream: stream.0, below }, &[], None, |_| Ok(()))
    }

    /// Puts one entry of a stream into the buffer, its definition before it where one is due.
    #[inline]
    fn put(
        &mut self,
        id: StreamId,
        epoch: [u8; 8],
        entry: &Entry,
        body: &[u8],
        to: Option<Position>,
        fits: impl FnOnce(Position) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.failed {
            return Err(Error::Failed);
        }
        let (slot, base) = self.place(id, epoch, to.is_some())?;
        let next = slot.next();
        fits(next)?;
        if base.saturating_add(to.unwrap_or(next).number) >= varint::MAX {
            return Err(Error::IndexesExhausted);
        }
        self.latest_us = self.latest_us.max(arrival_of(entry));
        self.make_room(ROOM_BESIDES_BODY + body.len())?;
        let Some(active) = &mut self.active else {
            return Err(Error::Failed);
        };
        let mut write = |entry: &Entry, body: &[&[u8]]| {
            let from = self.buffer.len();
            entry::write(entry, body, active.mask, active.written + from as u64, &mut self.buffer);
        };
        if !active.in_group {
            write(&Entry::Group { proven: active.proven }, &[]);
            active.in_group = true;
        }
        let Some(stream) = self.streams.get(id.0) else {
            return Err(Error::UnknownEpoch);
        };
        let current = stream.epochs.iter().find(|slot| slot.current).map(|slot| (slot.epoch, slot.base));
        let index_end = stream.index_end;
        let defines = stream.defined != self.generation || current != Some((epoch, base));
        if defines {
            let identity: [&[u8]; 3] = [&stream.peer, &epoch, self.streams.name(stream)];
            let define = Entry::Define { stream: id.0, base, next };
            // Twice, so that one bad bit does not hide everything it stands for.
            write(&define, &identity);
            write(&define, &identity);
        }
        write(entry, &[body]);
        let Some(stream) = self.streams.get_mut(id.0) else {
            return Err(Error::UnknownEpoch);
        };
        if defines {
            stream.defined = self.generation;
            stream.epochs.make_current(epoch, base);
        }
        if let Some(slot) = stream.epochs.find_mut(epoch) {
            slot.advance(to.unwrap_or(next));
            if !slot.dirty {
                slot.dirty = true;
                self.dirty.push(Touched { stream: id.0, epoch, current, index_end });
            }
        }
        stream.note_index();
        Ok(())
    }

    /// The slot of an epoch, and the base its next entry counts from; a mark uses no index.
    #[inline]
    fn place(&self, id: StreamId, epoch: [u8; 8], uses_index: bool) -> Result<(&Slot, u64), Error> {
        let stream = self.streams.get(id.0).ok_or(Error::UnknownEpoch)?;
        let slot = stream.epochs.find(epoch).ok_or(Error::UnknownEpoch)?;
        let begun = slot.remembered || slot.dirty;
        // What another epoch was given in between has used the indexes that would come next.
        let unused = slot.base.saturating_add(slot.next().number) >= stream.index_end;
        let keeps = slot.current || (begun && (unused || !uses_index));
        Ok((slot, if keeps { slot.base } else { stream.index_end }))
    }

    /// Makes sure that `bytes` fit into the segment and the buffer.
    #[inline]
    fn make_room(&mut self, bytes: usize) -> Result<(), Error> {
        if let Some(active) = &self.active
            && active.written + (self.buffer.len() + bytes) as u64 > active.size
        {
            self.seal()?;
        }
        if self.active.is_none() {
            let begun = self.begin_segment(ENTRIES_AT + bytes as u64);
            self.failed = begun.is_err();
            begun?;
        }
        if let Some(active) = &mut self.active
            && active.written + self.buffer.len() as u64 >= active.redefine_at
        {
            active.redefine_at += REDEFINE_EVERY;
            self.generation += 1;
        }
        if !self.buffer.is_empty() && self.buffer.len() + bytes > self.options.buffer_bytes {
            self.write_out()?;
        }
        Ok(())
    }

    /// Begins a segment with at least `least` bytes behind the last that counts.
    fn begin_segment(&mut self, least: u64) -> Result<(), Error> {
        let created_us = self.latest_us;
        let segment = self.next_segment;
        self.next_segment += 1;
        let name = segment::name(segment);
        let before = self.durable_end();
        let header = Header { journal: self.id, segment, before, created_us };
        let store = &self.store;
        let made = (|| {
            let mut file = store.create(&name)?;
            let size = preallocate(&mut file, self.options.segment_bytes, least)?;
            file.write_at(&header.to_block(), 0)?;
            store.sync_names(SyncSite::SegmentName)?;
            Ok((file, size))
        })();
        if made.is_err() {
            // Give back what little it may have taken; recovery takes it for what it is if this fails too.
            let _ = store.remove(&name);
        }
        let (file, size) = made.at(|| store.describe(&name), "begin the segment")?;
        self.stats.segments += 1;
        self.stats.written_bytes += ENTRIES_AT;
        self.generation += 1;
        self.active = Some(Active {
            file,
            segment,
            mask: Mask::new(self.id, segment),
            size,
            created_us,
            written: ENTRIES_AT,
            proven: 0,
            in_group: false,
            redefine_at: ENTRIES_AT + REDEFINE_EVERY,
        });
        Ok(())
    }
}

/// Room for a group, a definition twice and a header before a body.
const ROOM_BESIDES_BODY: usize = MAX_HEADER + 2 * MAX_DEFINE + MAX_HEADER;

/// Preallocates `wanted` bytes, or as much of it as there is, but `least`.
fn preallocate<F: StoreFile>(file: &mut F, wanted: u64, least: u64) -> io::Result<u64> {
    let mut size = wanted.max(least);
    loop {
        match file.allocate(size) {
            Err(e) if e.kind() == io::ErrorKind::StorageFull && size / 4 >= least.max(LEAST_PREALLOCATED) => {
                size /= 4;
            }
            made => return made.map(|()| size),
        }
    }
}

#[inline]
fn arrival_of(entry: &Entry) -> u64 {
    match *entry {
        Entry::Chunk(ChunkHead { arrival_us, .. }) | Entry::Gap { arrival_us, .. } => arrival_us,
        Entry::Group { .. } | Entry::Define { .. } | Entry::Freed { .. } | Entry::Void => 0,
    }
}

/// The header of a chunk that does not contradict itself.
#[inline]
fn head_of(chunk: &Chunk<'_>, arrival_us: u64) -> Result<ChunkHead, Error> {
    let Chunk { from, to, first_record, records, bytes, .. } = *chunk;
    let (begins, ends) = (from.offset > 0, to.offset > 0);
    if bytes.is_empty() || bytes.len() > MAX_BODY {
        return Err(Error::BadChunk("it is empty or longer than 1 MiB"));
    }
    if from.number > varint::MAX || to.number > varint::MAX || arrival_us > varint::MAX {
        return Err(Error::BadChunk("a number is above 2^62 - 1"));
    }
    if ChunkHead::end_number(from.number, records, begins, ends) != Some(to.number) {
        return Err(Error::BadChunk("its positions and its count of records differ"));
    }
    if begins != (first_record > 0) || first_record as usize > bytes.len() {
        return Err(Error::BadChunk("the first record does not start where it can"));
    }
    if (records == 0) != (first_record as usize == bytes.len()) {
        return Err(Error::BadChunk("records start and do not"));
    }
    Ok(ChunkHead { stream: chunk.stream.0, from, to, first_record, records, arrival_us })
}
