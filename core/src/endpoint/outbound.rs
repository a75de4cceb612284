//! Streams that are sent: what the application pushes, and what the receiver says of them.

use super::Cx;
use super::receive::Stop;
use crate::crypto::Crypto;
use crate::discard::Fault;
use crate::error::{Error, PushError};
use crate::ids::{Epoch, LARGEST_NUMBER, LinkIx, Name, OutIx, PeerIx, Position};
use crate::recovery::sent::Carried;
use crate::ring;
use crate::storage::of_link;
use crate::stream::{EpochSource, Opening, OutStream};
use crate::time::{Duration, Instant};
use crate::wire::{Previous, varint};
use core::ops::Range;

/// A refused stream is asked for again after this long.
const REFUSED_RETRY: Duration = Duration::from_secs(5);

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
        if s.used > 0 {
            return Err(Error::NotStored);
        }
        (s.epoch, s.previous) = (Some(epoch), previous);
        (s.head, s.next, s.skip) = (0, 0, None);
        let (queued, next_queued) = (s.queued, s.next_queued);
        s.rewind();
        (s.queued, s.next_queued) = (queued, next_queued);
        let Some(link) = self.p.peers.get(s.peer.at()).and_then(|p| p.link.some()) else {
            return Ok(());
        };
        // A SKIP on its way is of the numbering before.
        let table = of_link(self.p.sent, link, self.st.config.in_flight as usize);
        for sent in table.iter_mut().filter(|sent| sent.stream == ix) {
            sent.carried = Carried::default();
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
            self.start_exchange(ix, Duration::ZERO);
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
        let below = below.min(s.next);
        if below <= s.head {
            return;
        }
        (s.skip, s.skip_out) = (Some(reason), false);
        let at = s.peer;
        if let Some(link) = self.acquire(at) {
            self.free_below(link, ix, below);
            self.queue_stream(link, ix);
            self.wake(link);
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
        if s.queued || (s.unsent() == 0 && (s.skip.is_none() || s.skip_out)) {
            return;
        }
        (s.queued, s.next_queued) = (true, OutIx::NONE);
        let back = core::mem::replace(&mut link.outbound.back, stream);
        match back.some().and_then(|b| self.p.outbound.get_mut(b.at())) {
            Some(last) => last.next_queued = stream,
            None => link.outbound.front = stream,
        }
    }

    /// Takes the stream at the front off the list.
    pub(super) fn unqueue_front(&mut self, ix: LinkIx) {
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        let Some(s) = link.outbound.front.some().and_then(|f| self.p.outbound.get_mut(f.at())) else {
            return;
        };
        s.queued = false;
        link.outbound.front = core::mem::take(&mut s.next_queued);
        if link.outbound.front == OutIx::NONE {
            link.outbound.back = OutIx::NONE;
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

    fn outbound_by_wire(&mut self, ix: LinkIx, at: PeerIx, wire: u32) -> Option<OutIx> {
        let link = self.p.links.get_mut(ix.at())?;
        let last = link.outbound.last;
        if wire != 0 && self.p.outbound.get(last.at()).is_some_and(|s| s.wire == wire && s.peer == at) {
            return Some(last);
        }
        let mut each = self.p.peers.get(at.at())?.first_out;
        while let Some(stream) = each.some().and_then(|o| self.p.outbound.get(o.at())) {
            if wire != 0 && stream.wire == wire {
                link.outbound.last = each;
                return Some(each);
            }
            each = stream.next_of_peer;
        }
        None
    }

    /// A stream's earlier id in this session may be heard of again, one that was never given out may not.
    fn confirmation_of_no_stream(&self, at: PeerIx, wire: u32) -> Result<(), Stop> {
        let given = self.p.peers.get(at.at()).map(|p| p.session.next_stream);
        if wire > 0 && given.is_some_and(|next| wire < next) { Ok(()) } else { Err(Stop::Fault(Fault::StoredUnsent)) }
    }

    pub(super) fn on_opened(&mut self, ix: LinkIx, at: PeerIx, wire: u32, stored_below: u64) -> Result<(), Stop> {
        let Some(stream) = self.outbound_by_wire(ix, at, wire) else {
            return self.confirmation_of_no_stream(at, wire);
        };
        let Some(s) = self.p.outbound.get_mut(stream.at()) else {
            return Ok(());
        };
        s.opening = Opening::Open;
        s.gap_closed(stored_below);
        if stored_below > s.next {
            // This end was rolled back or copied: those numbers have a content already, so they are passed over.
            self.free_below(ix, stream, u64::MAX);
            let Some(s) = self.p.outbound.get_mut(stream.at()) else {
                return Ok(());
            };
            (s.head, s.next, s.received) = (stored_below, stored_below, stored_below);
            s.cursor = Position::start_of(stored_below);
            self.tell_out(stream, |news| news.ahead = Some(stored_below));
        } else if stored_below > s.head {
            self.free_below(ix, stream, stored_below);
        }
        self.confirmation_moved(ix);
        Ok(())
    }

    pub(super) fn on_stored(&mut self, ix: LinkIx, at: PeerIx, wire: u32, below: u64) -> Result<(), Stop> {
        let Some(stream) = self.outbound_by_wire(ix, at, wire) else {
            return self.confirmation_of_no_stream(at, wire);
        };
        let Some(s) = self.p.outbound.get_mut(stream.at()) else {
            return Ok(());
        };
        // What was sent before a late REFUSED may have been taken all the same: the cursor is not the measure.
        if below > s.next {
            return Err(Stop::Fault(Fault::StoredUnsent));
        }
        s.opening = Opening::Open;
        s.gap_closed(below);
        if below > s.head {
            self.free_below(ix, stream, below);
            self.confirmation_moved(ix);
        }
        Ok(())
    }

    /// A confirmation that was waited for has come: its back-off starts anew.
    fn confirmation_moved(&mut self, ix: LinkIx) {
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            link.outbound.queries = 0;
            link.outbound.query_at = Instant::NEVER;
        }
        self.wake(ix);
    }

    /// Everything below `below` has left the ring: it is stored, or given up.
    pub(super) fn free_below(&mut self, ix: LinkIx, stream: OutIx, below: u64) {
        let table = of_link(self.p.sent, ix, self.st.config.in_flight as usize);
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        let Some(s) = self.p.outbound.get_mut(stream.at()) else {
            return;
        };
        let below = below.min(s.next);
        let limit = Position::start_of(below);
        while let Some(slot) = s.unacked.front.some() {
            let Some(sent) = table.get(slot.0 as usize) else {
                break;
            };
            if sent.end() > limit {
                break;
            }
            link.flight.free(table, slot);
            s.unacked.remove(table, slot, crate::recovery::sent::stream_links);
        }
        let start = s.ring_start as usize;
        let ring = self.p.ring.get(start..start.saturating_add(s.ring_len as usize)).unwrap_or(&[]);
        let bytes = ring::span(ring, s.head_at, below.saturating_sub(s.head));
        s.head = below;
        s.head_at = s.advance(s.head_at, bytes);
        s.used = s.used.saturating_sub(bytes);
        if s.cursor < limit {
            link.outbound.begun_rest = link.outbound.begun_rest.saturating_sub(u64::from(s.rest));
            link.outbound.used = link.outbound.used.saturating_sub(u64::from(s.sent));
            (s.cursor, s.cursor_at, s.sent, s.rest) = (limit, s.head_at, 0, 0);
        } else {
            link.outbound.used = link.outbound.used.saturating_sub(u64::from(bytes));
            s.sent = s.sent.saturating_sub(bytes);
        }
        if below > s.received {
            s.received = below;
        }
        self.tell_out(stream, |news| (news.stored, news.received) = (true, true));
        self.wake(ix);
    }

    /// Puts the cursor back to the oldest position that is not acknowledged.
    pub(super) fn unsend(&mut self, ix: LinkIx, stream: OutIx) {
        let table = of_link(self.p.sent, ix, self.st.config.in_flight as usize);
        let Some(link) = self.p.links.get_mut(ix.at()) else { return };
        let Some(s) = self.p.outbound.get_mut(stream.at()) else { return };
        let Some(front) = s.unacked.front.some().and_then(|f| table.get(f.0 as usize)).copied() else {
            return;
        };
        while let Some(slot) = s.unacked.front.some() {
            link.flight.free(table, slot);
            s.unacked.remove(table, slot, crate::recovery::sent::stream_links);
        }
        let head = Position::start_of(s.head);
        let (start, at) = if front.start < head { (head, s.head_at) } else { (front.start, front.ring_at) };
        let ring = self.p.ring.get(s.ring_start as usize..).unwrap_or(&[]);
        let ring = ring.get(..s.ring_len as usize).unwrap_or(&[]);
        let rest = match start.offset {
            0 => 0,
            offset => ring::stored_size(ring, s.back_from(at, offset)).saturating_sub(offset),
        };
        // What lies between the head and the cursor is at most the whole ring, and not all of it: something was unacknowledged.
        let sent = s.distance(s.head_at, at);
        let o = &mut link.outbound;
        o.used = o.used.saturating_sub(u64::from(s.sent)).saturating_add(u64::from(sent));
        o.begun_rest = o.begun_rest.saturating_sub(u64::from(s.rest)).saturating_add(u64::from(rest));
        (s.cursor, s.cursor_at, s.sent, s.rest) = (start, at, sent, rest);
        s.skip_out = false;
        self.queue_stream(ix, stream);
    }

    pub(super) fn on_credit(&mut self, ix: LinkIx, at: PeerIx, number: u64, window: u64) {
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        if number < link.outbound.credit_from {
            return;
        }
        link.outbound.credit_from = number;
        let was_busy = core::mem::take(&mut link.outbound.busy);
        link.outbound.wanted = None;
        if let Some(peer) = self.p.peers.get_mut(at.at()) {
            peer.session.window = window;
        }
        if was_busy && !link.flight.is_empty() {
            // What was refused goes again at once.
            link.recovery.probes = 0;
            self.send_probe(ix);
        }
        self.confirmation_moved(ix);
    }

    /// The other end has no room: only probes leave until CREDIT comes. It is not silent: the session stays.
    pub(super) fn on_busy(&mut self, ix: LinkIx) {
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            link.outbound.busy = true;
            link.recovery.unanswered = 0;
        }
    }

    pub(super) fn on_refused(&mut self, ix: LinkIx, at: PeerIx, wire: u32, reason: u8) {
        let Some(stream) = self.outbound_by_wire(ix, at, wire) else {
            return;
        };
        let retry = self.now + REFUSED_RETRY;
        let Some(s) = self.p.outbound.get_mut(stream.at()) else {
            return;
        };
        if matches!(s.opening, Opening::Refused(until) if until > self.now) {
            return;
        }
        // What was sent of it is void: it starts at the head when it is asked for again, under the same id.
        let wire = s.wire;
        let table = of_link(self.p.sent, ix, self.st.config.in_flight as usize);
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        // It is an answer, although nothing was acknowledged.
        (link.recovery.probes, link.recovery.unanswered) = (0, 0);
        while let Some(slot) = s.unacked.front.some() {
            link.flight.free(table, slot);
            s.unacked.remove(table, slot, crate::recovery::sent::stream_links);
        }
        link.outbound.used = link.outbound.used.saturating_sub(u64::from(s.sent));
        link.outbound.begun_rest = link.outbound.begun_rest.saturating_sub(u64::from(s.rest));
        let (queued, next_queued, first) = (s.queued, s.next_queued, s.open_first);
        s.rewind();
        (s.wire, s.queued, s.next_queued, s.open_first) = (wire, queued, next_queued, first);
        s.opening = Opening::Refused(retry);
        self.queue_stream(ix, stream);
        self.tell_out(stream, |news| news.refused = Some(reason));
        self.wake(ix);
    }
}
