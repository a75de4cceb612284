//! Streams that are sent: what the application pushes, and which of them wait for their turn.

use super::Cx;
use super::confirmed::Freed;
use crate::crypto::Crypto;
use crate::error::{Error, PushError};
use crate::ids::{Epoch, LARGEST_NUMBER, LinkIx, Name, OutIx, PeerIx, Position};
use crate::recovery::sent::Sent;
use crate::ring;
use crate::storage::of_link;
use crate::stream::{EpochSource, OutStream, Priority};
use crate::wire::{Previous, varint};
use core::ops::Range;

/// What of a packed run was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// The number of the first record.
    pub first: u64,
    /// How many records.
    pub records: u64,
    /// How many bytes of the run.
    pub bytes: usize,
}

impl<C: Crypto> Cx<'_, C> {
    pub(super) fn open_out(
        &mut self,
        ix: OutIx,
        at: PeerIx,
        name: Name,
        source: EpochSource,
        first: u64,
        ring: Range<u32>,
    ) -> Result<(), Error> {
        let whole = self.p.ring.get(ring.start as usize..ring.end as usize).ok_or(Error::BadRing)?;
        if whole.is_empty() || whole.len() > 1 << 30 {
            return Err(Error::BadRing);
        }
        let peer = self.p.peers.get(at.at()).filter(|p| p.in_use()).ok_or(Error::Empty)?;
        let mut each = peer.first_out;
        while let Some(stream) = each.some().and_then(|o| self.p.outbound.get(o.at())) {
            if stream.name.as_ref() == Some(&name) && each != ix {
                return Err(Error::NameTaken);
            }
            each = stream.next_of_peer;
        }
        let slot = self.p.outbound.get_mut(ix.at()).ok_or(Error::NoSuchIndex)?;
        if slot.peer != PeerIx::NONE {
            return Err(Error::Taken);
        }
        let (epoch, previous) = match source {
            EpochSource::Stored { epoch, previous } => (Some(epoch), previous),
            EpochSource::FirstSession => (None, None),
        };
        let (listed, next_dirty) = (slot.news.listed, slot.next_dirty);
        *slot = OutStream {
            peer: at,
            name: Some(name),
            epoch,
            previous,
            ring_start: ring.start,
            ring_len: ring.end.saturating_sub(ring.start),
            head: first,
            next: first,
            next_of_peer: peer.first_out,
            next_dirty,
            ..OutStream::default()
        };
        slot.news.listed = listed;
        slot.rewind();
        let fresh_epoch = slot.epoch.is_none() && peer.has_session();
        if let Some(peer) = self.p.peers.get_mut(at.at()) {
            peer.first_out = ix;
        }
        if fresh_epoch {
            // The session's own nonces are spent; a draw of this boot names the epoch as well.
            let draw = self.st.draw();
            self.name_epochs(at, &draw, &draw);
        }
        Ok(())
    }

    /// Numbers the stream anew, from 0: everything of its epoch is STORED or given up.
    pub(super) fn begin_epoch(&mut self, ix: OutIx, epoch: Epoch, previous: Option<Previous>) -> Result<(), Error> {
        let s = self.p.outbound.get_mut(ix.at()).ok_or(Error::NoSuchIndex)?;
        if s.peer == PeerIx::NONE {
            return Err(Error::Empty);
        }
        // A gap at its end is known to the receiver as well, or it would think that it missed something.
        if s.used > 0 || s.skip.is_some() {
            return Err(Error::NotStored);
        }
        (s.epoch, s.previous) = (Some(epoch), previous);
        (s.head, s.next) = (0, 0);
        let (queued, next_queued) = (s.queued, s.next_queued);
        s.rewind();
        (s.queued, s.next_queued) = (queued, next_queued);
        if let Some(link) = self.p.peers.get(s.peer.at()).and_then(|p| p.link.some()) {
            // What was lost and repeated is of the numbering before: a late ACK says nothing of this one.
            let table = of_link(self.p.sent, link, self.st.config.in_flight as usize);
            table.iter_mut().filter(|sent| sent.stream == ix && !sent.outstanding()).for_each(|s| *s = Sent::default());
        }
        Ok(())
    }

    /// Empties a slot of which nothing is under way. What waits in its ring is forgotten.
    pub(super) fn close_out(&mut self, ix: OutIx) -> Result<(), Error> {
        let s = self.p.outbound.get(ix.at()).ok_or(Error::NoSuchIndex)?;
        let (at, next) = (s.peer, s.next_of_peer);
        let peer = self.p.peers.get_mut(at.at()).ok_or(Error::Empty)?;
        if s.sent > 0 || s.skip_out {
            return Err(Error::NotStored);
        }
        let link = peer.link;
        if peer.first_out == ix {
            peer.first_out = next;
        }
        let mut each = peer.first_out;
        while let Some(stream) = each.some().and_then(|o| self.p.outbound.get_mut(o.at())) {
            if stream.next_of_peer == ix {
                stream.next_of_peer = next;
            }
            each = stream.next_of_peer;
        }
        if link.some().is_some() {
            self.unqueue(link, ix);
            // What was lost and repeated is over: a late ACK says nothing of the slot's next stream.
            let table = of_link(self.p.sent, link, self.st.config.in_flight as usize);
            table.iter_mut().filter(|sent| sent.stream == ix && !sent.outstanding()).for_each(|s| *s = Sent::default());
            self.wake(link);
        }
        if let Some(s) = self.p.outbound.get_mut(ix.at()) {
            let (listed, next_dirty) = (s.news.listed, s.next_dirty);
            *s = OutStream { next_dirty, ..OutStream::default() };
            s.news.listed = listed;
        }
        Ok(())
    }

    pub(super) fn push_with(
        &mut self,
        ix: OutIx,
        len: u32,
        fill: impl FnOnce(&mut [u8], &mut [u8]),
    ) -> Result<u64, PushError> {
        let (start, at, number, size) = {
            let s = self.p.outbound.get(ix.at()).filter(|s| s.peer != PeerIx::NONE).ok_or(PushError::NoStream)?;
            let size = varint::encode(u64::from(len)).map_err(|_| PushError::TooLarge)?;
            let stored = u64::from(len).saturating_add(size.as_slice().len() as u64);
            if len > self.st.config.max_record || stored > u64::from(s.ring_len) || s.next >= LARGEST_NUMBER {
                return Err(PushError::TooLarge);
            }
            if stored > u64::from(s.room()) {
                return Err(PushError::Full);
            }
            (s.ring_start, s.advance(s.head_at, s.used), s.next, size)
        };
        let ring = self.ring_mut(ix).unwrap_or_default();
        ring::copy_in(ring, at, size.as_slice());
        let after = at.saturating_add(size.as_slice().len() as u32);
        let after = if after as usize >= ring.len() { after.saturating_sub(ring.len() as u32) } else { after };
        let (a, b) = ring::pieces_mut(ring, after, len);
        fill(a, b);
        debug_assert!(start <= u32::MAX >> 1);
        self.pushed(ix, len.saturating_add(size.as_slice().len() as u32), 1);
        Ok(number)
    }

    pub(super) fn push_batch(&mut self, ix: OutIx, packed: &[u8]) -> Result<Pushed, PushError> {
        let s = self.p.outbound.get(ix.at()).filter(|s| s.peer != PeerIx::NONE).ok_or(PushError::NoStream)?;
        let (room, len) = (s.room(), s.ring_len);
        if s.next.saturating_add(packed.len() as u64) > LARGEST_NUMBER {
            return Err(PushError::TooLarge);
        }
        let run =
            ring::measure(packed, room, self.st.config.max_record).ok_or_else(|| match varint::decode(packed) {
                Ok((size, _)) if size > u64::from(self.st.config.max_record) => PushError::TooLarge,
                _ => PushError::NotPacked,
            })?;
        if run.records == 0 && !packed.is_empty() {
            let never = ring::measure(packed, len, self.st.config.max_record).is_none_or(|r| r.records == 0);
            return Err(if never { PushError::TooLarge } else { PushError::Full });
        }
        let (at, first) = (s.advance(s.head_at, s.used), s.next);
        let taken = packed.get(..run.bytes as usize).unwrap_or(&[]);
        ring::copy_in(self.ring_mut(ix).unwrap_or_default(), at, taken);
        self.pushed(ix, run.bytes, run.records);
        Ok(Pushed { first, records: run.records, bytes: run.bytes as usize })
    }

    fn pushed(&mut self, ix: OutIx, bytes: u32, records: u64) {
        let Some(s) = self.p.outbound.get_mut(ix.at()) else {
            return;
        };
        s.used = s.used.saturating_add(bytes);
        s.next = s.next.saturating_add(records);
        let at = s.peer;
        let queued = s.queued;
        self.st.totals.records_pushed = self.st.totals.records_pushed.saturating_add(records);
        let link = match self.p.peers.get(at.at()).and_then(|p| p.link.some()) {
            Some(link) => link,
            None => match self.acquire(at) {
                Some(link) => link,
                // No link is free: the stream is found when one is.
                None => return,
            },
        };
        if !queued {
            self.queue_stream(link, ix);
        }
        self.ask_for_session(link, at);
        self.wake(link);
    }

    /// A device end that has something to send and no session asks for one.
    pub(super) fn ask_for_session(&mut self, ix: LinkIx, at: PeerIx) {
        let Some(peer) = self.p.peers.get(at.at()) else {
            return;
        };
        if !peer.has_session() && peer.end == Some(crate::peer::End::Device) {
            self.start_exchange(ix);
        }
    }

    /// The part of the ring that is this stream's.
    pub(super) fn ring_mut(&mut self, ix: OutIx) -> Option<&mut [u8]> {
        let s = self.p.outbound.get(ix.at())?;
        let start = s.ring_start as usize;
        self.p.ring.get_mut(start..start.saturating_add(s.ring_len as usize))
    }

    /// Gives up what lies below `below`; the receiver is told.
    pub(super) fn skip_to(&mut self, ix: OutIx, below: u64, reason: u8) {
        let Some(s) = self.p.outbound.get_mut(ix.at()).filter(|s| s.peer != PeerIx::NONE) else {
            return;
        };
        // Nothing to come is passed over while something pushed is not stored.
        let beyond = s.used == 0 && below > s.next && below < LARGEST_NUMBER;
        let below = if beyond { below } else { below.min(s.next) };
        if below <= s.head {
            return;
        }
        (s.skip, s.skip_out) = (Some(reason), false);
        let at = s.peer;
        if let Some(link) = self.acquire(at) {
            self.free_below(link, ix, below, Freed::GivenUp);
            self.pass_over(ix, below);
            self.queue_stream(link, ix);
            self.ask_for_session(link, at);
            self.wake(link);
        }
    }

    /// Numbers below `below` were never pushed and are no more: the ring is empty.
    pub(super) fn pass_over(&mut self, ix: OutIx, below: u64) {
        if let Some(s) = self.p.outbound.get_mut(ix.at()).filter(|s| below > s.next) {
            (s.head, s.next, s.received) = (below, below, below);
            s.cursor = Position::start_of(below);
        }
    }

    /// Lists a stream among those of its link that have something to send.
    pub(super) fn queue_stream(&mut self, ix: LinkIx, stream: OutIx) {
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        let Some(s) = self.p.outbound.get_mut(stream.at()) else {
            return;
        };
        if s.queued || !s.has_something() {
            return;
        }
        (s.queued, s.next_queued) = (true, OutIx::NONE);
        let (priority, back) = (s.priority, link.outbound.back);
        match self.p.outbound.get_mut(back.at()) {
            None => (link.outbound.front, link.outbound.back) = (stream, stream),
            Some(last) if last.priority <= priority => (last.next_queued, link.outbound.back) = (stream, stream),
            Some(_) => self.queue_before_lower(ix, stream, priority),
        }
    }

    /// ... behind those of the same priority, with at least the last one of the list behind it.
    fn queue_before_lower(&mut self, ix: LinkIx, stream: OutIx, priority: Priority) {
        let Some(link) = self.p.links.get_mut(ix.at()) else { return };
        let (mut before, mut each) = (OutIx::NONE, link.outbound.front);
        while let Some(s) = self.p.outbound.get(each.at()).filter(|s| s.priority <= priority) {
            (before, each) = (each, s.next_queued);
        }
        match self.p.outbound.get_mut(before.at()) {
            Some(before) => before.next_queued = stream,
            None => link.outbound.front = stream,
        }
        if let Some(s) = self.p.outbound.get_mut(stream.at()) {
            s.next_queued = each;
        }
    }

    pub(super) fn set_priority(&mut self, ix: OutIx, priority: Priority) -> Result<(), Error> {
        let s = self.p.outbound.get_mut(ix.at()).ok_or(Error::NoSuchIndex)?;
        if s.peer == PeerIx::NONE {
            return Err(Error::Empty);
        }
        s.priority = priority;
        if s.queued
            && let Some(link) = self.p.peers.get(s.peer.at()).and_then(|p| p.link.some())
        {
            self.unqueue(link, ix);
            self.queue_stream(link, ix);
            self.wake(link);
        }
        Ok(())
    }

    /// Takes streams off the front of the list whose records were stored or given up while they stood there.
    pub(super) fn unqueue_spent(&mut self, ix: LinkIx) {
        loop {
            let front = self.p.links.get(ix.at()).map(|l| l.outbound.front).unwrap_or_default();
            match self.p.outbound.get(front.at()) {
                Some(s) if !s.has_something() => self.unqueue(ix, front),
                _ => return,
            }
        }
    }

    /// Takes a stream off the list, most often the one at the front.
    pub(super) fn unqueue(&mut self, ix: LinkIx, stream: OutIx) {
        let Some(link) = self.p.links.get_mut(ix.at()) else { return };
        let (mut before, mut each) = (OutIx::NONE, link.outbound.front);
        while each != stream {
            let Some(s) = self.p.outbound.get(each.at()) else { return };
            (before, each) = (each, s.next_queued);
        }
        let Some(s) = self.p.outbound.get_mut(stream.at()) else { return };
        s.queued = false;
        let next = core::mem::take(&mut s.next_queued);
        match self.p.outbound.get_mut(before.at()) {
            Some(before) => before.next_queued = next,
            None => link.outbound.front = next,
        }
        if next == OutIx::NONE {
            link.outbound.back = before;
        }
    }

    /// A session begins: every stream of the peer that has something starts at its head.
    pub(super) fn requeue_streams(&mut self, ix: LinkIx) {
        let Some(at) = self.p.links.get(ix.at()).map(|l| l.peer) else {
            return;
        };
        let mut each = self.p.peers.get(at.at()).map(|p| p.first_out).unwrap_or_default();
        let mut any = false;
        while let Some(stream) = each.some() {
            self.queue_stream(ix, stream);
            let Some(s) = self.p.outbound.get(stream.at()) else {
                break;
            };
            any |= s.queued;
            each = s.next_of_peer;
        }
        if any {
            self.ask_for_session(ix, at);
        }
    }
}
