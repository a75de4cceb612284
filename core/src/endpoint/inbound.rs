//! Records arrive: each chunk goes to `Deliver` by its position, whatever packet brought it (wire-format §7.2).

use super::Cx;
use super::receive::Stop;
use crate::crypto::Crypto;
use crate::deliver::{Accept, Batch, Deliver, Refusal};
use crate::discard::{Discard, Fault};
use crate::ids::{Epoch, InIx, LARGEST_NUMBER, LinkIx, PeerIx, Position};
use crate::stream::InStream;
use crate::wire::{Chunk, Open, varint};

/// The least that a chunk counts in the receiver's accounting (wire-format §7.3).
pub(super) const CHUNK_COST: u64 = 64;
/// The reason of a gap before the oldest record that the sender still holds (wire-format §6.5).
const GAP_BEFORE_FIRST: u8 = 3;

/// So many records and chunks that were held are looked at for one packet. A sender of ordinary records stays below it.
const RELEASED: u32 = 1 << 17;

/// What walking a chunk finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Walked {
    pub(super) end: Position,
    /// What is left of the record at the end.
    pub(super) rest: u32,
    pub(super) first_start: u32,
    pub(super) starts: u32,
}

/// Walks the records of a chunk once: checks every size, and finds where the chunk ends.
#[inline]
pub(super) fn walk(chunk: &Chunk<'_>, max_record: u32) -> Result<Walked, Fault> {
    let bytes = chunk.bytes;
    let len = bytes.len() as u32;
    let (mut number, mut at, mut starts) = (chunk.number, 0u32, 0u32);
    if chunk.offset > 0 {
        if chunk.rest > len {
            let end = Position { number, offset: chunk.offset.saturating_add(len) };
            return Ok(Walked { end, rest: chunk.rest.saturating_sub(len), first_start: len, starts: 0 });
        }
        at = chunk.rest;
        number = number.saturating_add(1);
    }
    let first_start = at;
    while at < len {
        let tail = bytes.get(at as usize..).unwrap_or(&[]);
        if max_record >= 64 && tail.first().is_some_and(|size| *size < 0x40) {
            let (passed, small) = crate::ring::pass_small(tail, len.saturating_sub(at), u32::MAX);
            at = at.saturating_add(passed);
            number = number.saturating_add(u64::from(small));
            starts = starts.saturating_add(small);
            if small > 0 {
                continue;
            }
        }
        let (size, length) = varint::decode(tail).map_err(|_| Fault::BadFrame)?;
        if size > u64::from(max_record) {
            return Err(Fault::RecordTooLarge);
        }
        let stored = (size as u32).saturating_add(length as u32);
        starts = starts.saturating_add(1);
        let left = len.saturating_sub(at);
        if stored > left {
            let end = Position { number, offset: left };
            return Ok(Walked { end, rest: stored.saturating_sub(left), first_start, starts });
        }
        at = at.saturating_add(stored);
        number = number.saturating_add(1);
    }
    Ok(Walked { end: Position::start_of(number), rest: 0, first_start, starts })
}

/// The part of a chunk from `next` on; the chunk begins before it and ends after it. `rest` is what is left of the record
/// at `next`.
pub(super) fn from_position<'a>(chunk: &Chunk<'a>, next: Position, rest: u32) -> Result<Chunk<'a>, Fault> {
    let (mut number, mut at) = (chunk.number, 0u32);
    if chunk.offset > 0 {
        if number == next.number {
            // Both lie in one record, and must agree on where it ends.
            let skipped = next.offset.saturating_sub(chunk.offset);
            return part(chunk, skipped, next, chunk.rest.checked_sub(skipped), rest);
        }
        at = chunk.rest;
        number = number.saturating_add(1);
    }
    loop {
        let tail = chunk.bytes.get(at as usize..).ok_or(Fault::Contradiction)?;
        if number == next.number && next.offset == 0 {
            return part(chunk, at, next, Some(0), 0);
        }
        let most = u32::try_from(next.number.saturating_sub(number)).unwrap_or(u32::MAX);
        let (passed, small) = crate::ring::pass_small(tail, u32::MAX, most);
        if small > 0 {
            at = at.saturating_add(passed);
            number = number.saturating_add(u64::from(small));
            continue;
        }
        let (size, length) = varint::decode(tail).map_err(|_| Fault::BadFrame)?;
        let stored = (size as u32).saturating_add(length as u32);
        if number == next.number {
            return part(chunk, at.saturating_add(next.offset), next, stored.checked_sub(next.offset), rest);
        }
        at = at.saturating_add(stored);
        number = number.saturating_add(1);
    }
}

fn part<'a>(chunk: &Chunk<'a>, at: u32, next: Position, left: Option<u32>, rest: u32) -> Result<Chunk<'a>, Fault> {
    if left != Some(rest) {
        return Err(Fault::Contradiction);
    }
    let bytes = chunk.bytes.get(at as usize..).ok_or(Fault::Contradiction)?;
    Ok(Chunk { stream: chunk.stream, number: next.number, offset: next.offset, rest, bytes })
}

/// What a chunk is to a stream that expects `next`.
enum Place<'a> {
    /// It continues the stream.
    Next(Chunk<'a>, Walked),
    /// There is a gap before it; so many records start in it.
    Ahead(u32),
    /// All of it is known.
    Known,
}

#[inline]
fn place<'a>(stream: &InStream, chunk: Chunk<'a>, max_record: u32) -> Result<Place<'a>, Fault> {
    let start = Position { number: chunk.number, offset: chunk.offset };
    let walked = walk(&chunk, max_record)?;
    if walked.end > Position::start_of(LARGEST_NUMBER) {
        return Err(Fault::BadFrame);
    }
    if start == stream.next {
        if chunk.rest != stream.rest {
            return Err(Fault::Contradiction);
        }
        return Ok(Place::Next(chunk, walked));
    }
    if start > stream.next {
        return Ok(Place::Ahead(walked.starts));
    }
    if walked.end <= stream.next {
        return Ok(Place::Known);
    }
    let new = from_position(&chunk, stream.next, stream.rest)?;
    let walked = walk(&new, max_record)?;
    Ok(Place::Next(new, walked))
}

impl<C: Crypto> Cx<'_, C> {
    /// The stream with this id, if it is open.
    pub(super) fn inbound_by_wire(&mut self, ix: LinkIx, at: PeerIx, wire: u32) -> Option<InIx> {
        let link = self.p.links.get_mut(ix.at())?;
        let last = link.inbound.last;
        if self.p.inbound.get(last.at()).is_some_and(|s| s.wire == wire && s.peer == at) {
            return Some(last);
        }
        let mut each = self.p.peers.get(at.at())?.first_in;
        while let Some(stream) = each.some().and_then(|s| self.p.inbound.get(s.at())) {
            if stream.wire == wire {
                link.inbound.last = each;
                return Some(each);
            }
            each = stream.next_of_peer;
        }
        None
    }

    #[inline]
    pub(super) fn on_chunk(
        &mut self,
        ix: LinkIx,
        at: PeerIx,
        chunk: Chunk<'_>,
        to: &mut dyn Deliver,
    ) -> Result<(), Stop> {
        let Some(stream) = self.inbound_by_wire(ix, at, chunk.stream) else {
            return self.chunk_of_no_stream(ix, chunk.stream);
        };
        let max_record = self.st.config.max_record;
        let Some(s) = self.p.inbound.get_mut(stream.at()) else {
            return Err(Stop::Fault(Fault::Internal));
        };
        match place(s, chunk, max_record).map_err(Stop::Fault)? {
            Place::Known => Ok(()),
            Place::Ahead(starts) => self.hold(ix, stream, &chunk, starts).map_err(|_| Stop::Discard(Discard::HeldFull)),
            Place::Next(chunk, walked) => {
                let batch = batch(stream, s.epoch, &chunk, &walked);
                to.records(batch).map_err(|_| Stop::Discard(Discard::DeliverFull))?;
                (s.next, s.rest) = (walked.end, walked.rest);
                let waiting = s.held_front != u32::MAX;
                self.delivered(ix, chunk.bytes.len(), walked.starts);
                if waiting { self.release_held(ix, stream, to).map_err(Stop::Fault) } else { Ok(()) }
            }
        }
    }

    fn delivered(&mut self, ix: LinkIx, len: usize, starts: u32) {
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            let cost = CHUNK_COST.max(len as u64);
            link.inbound.since_stored = link.inbound.since_stored.saturating_add(cost);
            link.inbound.recent = link.inbound.recent.saturating_add(cost);
        }
        self.st.totals.records_delivered = self.st.totals.records_delivered.saturating_add(u64::from(starts));
    }

    /// A chunk of a stream that is not open is never acknowledged: REFUSED may be lost and a later OPEN accepted, and then
    /// the sender must not take it for received.
    fn chunk_of_no_stream(&mut self, ix: LinkIx, wire: u32) -> Result<(), Stop> {
        let refused = self.repeat_refused(ix, wire);
        Err(Stop::Discard(if refused { Discard::RefusedStream } else { Discard::BeforeOpen }))
    }

    /// Says REFUSED again, if the stream is known to be refused.
    pub(super) fn repeat_refused(&mut self, ix: LinkIx, wire: u32) -> bool {
        let Some(link) = self.p.links.get_mut(ix.at()) else { return false };
        let refused = link.inbound.refused.iter().any(|(id, _)| *id == wire);
        link.inbound.say_refused |= refused;
        refused
    }

    /// Goes on with the gaps of all streams that have closed.
    pub(super) fn release_all(&mut self, ix: LinkIx, at: PeerIx, to: &mut dyn Deliver) -> Result<(), Fault> {
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            link.inbound.unreleased = false;
        }
        let mut each = self.p.peers.get(at.at()).map(|p| p.first_in).unwrap_or_default();
        while let Some(stream) = each.some() {
            self.release_held(ix, stream, to)?;
            each = self.p.inbound.get(stream.at()).map(|s| s.next_of_peer).unwrap_or_default();
        }
        Ok(())
    }

    /// Gives the driver what waited for a gap that has closed.
    pub(super) fn release_held(&mut self, ix: LinkIx, stream: InIx, to: &mut dyn Deliver) -> Result<(), Fault> {
        let max_record = self.st.config.max_record;
        let slot_len = usize::from(self.st.config.max_datagram);
        let mut budget = RELEASED;
        loop {
            let Some(s) = self.p.inbound.get_mut(stream.at()) else {
                return Err(Fault::Internal);
            };
            let slot = s.held_front;
            let Some(held) = self.p.held.get(slot as usize) else {
                return Ok(());
            };
            let Some(left) = budget.checked_sub(u32::from(held.starts).saturating_add(1)) else {
                if let Some(link) = self.p.links.get_mut(ix.at()) {
                    link.inbound.unreleased = true;
                }
                return Ok(());
            };
            budget = left;
            let start = (slot as usize).saturating_mul(slot_len);
            let bytes = self.p.slots.get(start..start.saturating_add(usize::from(held.len))).unwrap_or(&[]);
            let chunk =
                Chunk { stream: s.wire, number: held.start.number, offset: held.start.offset, rest: held.rest, bytes };
            match place(s, chunk, max_record)? {
                Place::Ahead(_) => return Ok(()),
                Place::Known => {}
                Place::Next(chunk, walked) => {
                    if to.records(batch(stream, s.epoch, &chunk, &walked)).is_err() {
                        // It is acknowledged and stays held; `room` comes back to it.
                        if let Some(link) = self.p.links.get_mut(ix.at()) {
                            link.inbound.was_busy = true;
                        }
                        return Ok(());
                    }
                    (s.next, s.rest) = (walked.end, walked.rest);
                    let len = chunk.bytes.len();
                    self.delivered(ix, len, walked.starts);
                }
            }
            self.pop_held(ix, stream);
        }
    }

    pub(super) fn on_open(
        &mut self,
        ix: LinkIx,
        at: PeerIx,
        open: &Open<'_>,
        to: &mut dyn Deliver,
    ) -> Result<(), Stop> {
        if let Some(known) = self.inbound_by_wire(ix, at, open.stream) {
            let Some(s) = self.p.inbound.get_mut(known.at()) else {
                return Err(Stop::Fault(Fault::Internal));
            };
            if s.epoch != open.epoch || s.first != open.first {
                return Err(Stop::Fault(Fault::OpenChanged));
            }
            s.say_opened = true;
            self.say_of(ix, known);
            return Ok(());
        }
        if to.known(at, open.name).is_some_and(|known| self.is_replaced(known, at, open.stream)) {
            return Ok(());
        }
        match to.open(at, open) {
            Ok(accept) => self.accept(ix, at, open, accept, to),
            Err(refusal) => {
                self.refuse(ix, open.stream, refusal);
                Ok(())
            }
        }
    }

    fn count_inbound(&self, at: PeerIx) -> u16 {
        let mut each = self.p.peers.get(at.at()).map(|p| p.first_in).unwrap_or_default();
        let mut count = 0u16;
        while let Some(stream) = each.some().and_then(|s| self.p.inbound.get(s.at())) {
            count = count.saturating_add(1);
            each = stream.next_of_peer;
        }
        count
    }

    pub(super) fn refuse(&mut self, ix: LinkIx, wire: u32, refusal: Refusal) {
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        link.inbound.refused.retain(|(id, _)| *id != wire);
        if link.inbound.refused.is_full() {
            link.inbound.refused.remove(0);
        }
        let _ = link.inbound.refused.push((wire, refusal.number()));
        link.inbound.say_refused = true;
        self.wake(ix);
    }

    /// The packet is late: the name has a newer id already.
    fn is_replaced(&self, stream: InIx, at: PeerIx, wire: u32) -> bool {
        self.p.inbound.get(stream.at()).is_some_and(|s| s.peer == at && s.wire > wire)
    }

    fn accept(
        &mut self,
        ix: LinkIx,
        at: PeerIx,
        open: &Open<'_>,
        accept: Accept,
        to: &mut dyn Deliver,
    ) -> Result<(), Stop> {
        let stream = accept.stream;
        if self.is_replaced(stream, at, open.stream) {
            return Ok(());
        }
        let replaces = self.p.inbound.get(stream.at()).is_some_and(|s| s.peer == at);
        if !replaces && self.count_inbound(at) >= self.st.config.streams {
            self.refuse(ix, open.stream, Refusal::TooMany);
            return Ok(());
        }
        let mut next = accept.next.max(accept.stored_below);
        if open.first > next {
            to.gap(stream, open.epoch, next, open.first, GAP_BEFORE_FIRST)
                .map_err(|_| Stop::Discard(Discard::DeliverFull))?;
            next = open.first;
        }
        let Some(owner) = self.p.inbound.get(stream.at()).map(|s| s.peer) else {
            return Err(Stop::Fault(Fault::Internal));
        };
        if owner == at {
            // The name was opened before in this session: the new id replaces the old one.
            self.drop_held(stream);
        } else if owner != PeerIx::NONE {
            return Err(Stop::Fault(Fault::Internal));
        }
        let Some(s) = self.p.inbound.get_mut(stream.at()) else {
            return Err(Stop::Fault(Fault::Internal));
        };
        let Some(peer) = self.p.peers.get_mut(at.at()) else {
            return Err(Stop::Fault(Fault::Internal));
        };
        let next_of_peer = if owner == at { s.next_of_peer } else { core::mem::replace(&mut peer.first_in, stream) };
        *s = InStream {
            peer: at,
            next_of_peer,
            wire: open.stream,
            epoch: open.epoch,
            first: open.first,
            next: Position::start_of(next),
            stored_below: accept.stored_below,
            say_opened: true,
            next_dirty: s.next_dirty,
            dirty: s.dirty,
            waits: s.waits,
            next_waiting: s.next_waiting,
            ..InStream::default()
        };
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            link.inbound.refused.retain(|(id, _)| *id != open.stream);
        }
        self.say_of(ix, stream);
        Ok(())
    }

    pub(super) fn on_skip(
        &mut self,
        ix: LinkIx,
        at: PeerIx,
        wire: u32,
        below: u64,
        reason: u8,
        to: &mut dyn Deliver,
    ) -> Result<(), Stop> {
        let Some(stream) = self.inbound_by_wire(ix, at, wire) else {
            return self.chunk_of_no_stream(ix, wire);
        };
        let Some(s) = self.p.inbound.get_mut(stream.at()) else {
            return Err(Stop::Fault(Fault::Internal));
        };
        if below <= s.next.number {
            return Ok(());
        }
        to.gap(stream, s.epoch, s.next.number, below, reason).map_err(|_| Stop::Discard(Discard::DeliverFull))?;
        (s.next, s.rest) = (Position::start_of(below), 0);
        self.release_held(ix, stream, to).map_err(Stop::Fault)
    }

    /// Something is to be said of a stream that is received.
    pub(super) fn say_of(&mut self, ix: LinkIx, stream: InIx) {
        let Some(s) = self.p.inbound.get_mut(stream.at()) else {
            return;
        };
        if !s.dirty
            && let Some(link) = self.p.links.get_mut(ix.at())
        {
            s.dirty = true;
            s.next_dirty = core::mem::replace(&mut link.inbound.dirty, stream);
        }
        self.wake(ix);
    }
}

fn batch<'a>(stream: InIx, epoch: Epoch, chunk: &Chunk<'a>, walked: &Walked) -> Batch<'a> {
    Batch {
        stream,
        epoch,
        from: Position { number: chunk.number, offset: chunk.offset },
        to: walked.end,
        first_start: walked.first_start,
        starts: walked.starts,
        bytes: chunk.bytes,
    }
}

#[cfg(test)]
mod tests;
