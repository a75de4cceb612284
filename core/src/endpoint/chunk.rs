//! Which bytes of which stream go into the planned packet: the oldest lost chunk, or new data of the next stream in turn
//! (wire-format §8.5).

use super::Cx;
use super::control::{CONTROL_MAX, Control, Look};
use crate::crypto::Crypto;
use crate::ids::{LinkIx, OutIx, Position};
use crate::link::Link;
use crate::peer::Session;
use crate::recovery::sent::{Sent, Slot};
use crate::ring::{self, Bounds, Cut, Stop};
use crate::storage::of_link;
use crate::stream::{Opening, OutStream, Priority};
use crate::wire::{Chunk, varint};

/// So many packets in a row may leave while a stream of lower priority waits; the next one is that stream's.
pub(super) const AHEAD_MOST: u8 = 15;
/// This part of the credit window is kept from backlogs: an eighth.
const CREDIT_KEPT: u32 = 3;

/// A chunk to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlannedChunk {
    pub(super) stream: OutIx,
    /// The lost packet that it repeats; nothing for new data.
    pub(super) repeats: Option<Slot>,
    pub(super) start: Position,
    /// What is left of the record that it starts in; 0 at its start.
    pub(super) rest: u32,
    pub(super) ring_at: u32,
    pub(super) cut: Cut,
    pub(super) open: bool,
    pub(super) skip: bool,
}

impl PlannedChunk {
    /// The next new data of a stream, not cut yet.
    pub(super) fn next_of(stream: OutIx, s: &OutStream) -> Self {
        Self {
            stream,
            repeats: None,
            start: s.cursor,
            rest: s.rest,
            ring_at: s.cursor_at,
            cut: Cut::default(),
            open: s.opening != Opening::Open,
            skip: s.skip.is_some() && !s.skip_out,
        }
    }

    /// The head of its frame.
    pub(super) fn frame(&self, wire: u32) -> Chunk<'static> {
        Chunk { stream: wire, number: self.start.number, offset: self.start.offset, rest: self.rest, bytes: &[] }
    }
}

impl<K> Look<'_, '_, K> {
    /// The oldest lost chunk, cut to the room if there is a `spare` slot for the rest.
    pub(super) fn plan_repeat(
        &self,
        ix: LinkIx,
        room: usize,
        spare: bool,
        control: &mut Control,
    ) -> Option<PlannedChunk> {
        let link = self.p.links.get(ix.at())?;
        let slot = link.flight.lost.front.some()?;
        let each = self.st.config.in_flight as usize;
        let sent = self.p.sent.get(ix.at().saturating_mul(each).saturating_add(slot.0 as usize))?;
        let s = self.p.outbound.get(sent.stream.at())?;
        let ring = s.of_ring(self.p.ring);
        let (mut start, mut ring_at, mut len, mut records) =
            (sent.start, sent.ring_at, u32::from(sent.len), sent.records);
        if start < Position::start_of(s.head) {
            // What lies below the head is stored or given up.
            len = len.saturating_sub(s.distance(ring_at, s.head_at));
            records = records.saturating_sub(s.head.saturating_sub(start.number) as u16);
            (start, ring_at) = (Position::start_of(s.head), s.head_at);
        }
        let rest = match start.offset {
            0 => 0,
            offset => ring::stored_size(ring, s.back_from(ring_at, offset)).saturating_sub(offset),
        };
        let open = s.opening != Opening::Open;
        let skip = s.skip.is_some() && !s.skip_out;
        let before = control.mark();
        if (open || skip) && !self.compose_stream_head(sent.stream, open, skip, room, control) {
            control.reset(before);
            return None;
        }
        let mut planned = PlannedChunk {
            stream: sent.stream,
            repeats: Some(slot),
            start,
            rest,
            ring_at,
            cut: Cut { len, ended: records, offset: sent.end_offset, rest: 0, stop: Stop::Empty },
            open,
            skip,
        };
        let room = chunk_room(&planned, s.wire, room, control).unwrap_or(0);
        if len > room {
            let bounds = Bounds { available: len, room, credit: u64::MAX, max_stored: u64::MAX };
            planned.cut = ring::cut(ring, ring_at, start.offset, rest, bounds);
            planned.cut.rest = 0;
        }
        if planned.cut.len == 0 || (planned.cut.len < len && !spare) {
            control.reset(before);
            return None;
        }
        Some(planned)
    }
}

/// Bytes of the ring that fit behind the composed frames and the chunk's own head.
fn chunk_room(planned: &PlannedChunk, wire: u32, room: usize, control: &Control) -> Option<u32> {
    let left = room.checked_sub(control.len())?;
    let left = left.checked_sub(planned.frame(wire).head_len(left))?;
    u32::try_from(left.min(usize::from(u16::MAX))).ok().filter(|l| *l > 0)
}

impl<C: Crypto> Cx<'_, C> {
    /// New data of the next stream that has some and may send it.
    pub(super) fn plan_new(&mut self, ix: LinkIx, room: usize) -> Option<PlannedChunk> {
        let o = &self.p.links.get(ix.at())?.outbound;
        let front = o.front;
        let (mut wanted, mut found) = (None, None);
        if o.ahead >= AHEAD_MOST {
            let lower = self.first_lower(front);
            (wanted, found) = self.plan_from(ix, lower, room)?;
        }
        if found.is_none() {
            (wanted, found) = self.plan_from(ix, front, room)?;
        }
        let o = &mut self.p.links.get_mut(ix.at())?.outbound;
        o.passed_by = wanted;
        o.wanted = if found.is_some() { None } else { wanted };
        found
    }

    /// New data of `stream` or of the first behind it that may send, or the window that the first of them needs.
    fn plan_from(&mut self, ix: LinkIx, mut stream: OutIx, room: usize) -> Option<(Option<u64>, Option<PlannedChunk>)> {
        let (mut wanted, mut found) = (None, None);
        while found.is_none() && stream != OutIx::NONE {
            let next = self.p.outbound.get(stream.at())?.next_queued;
            match self.plan_stream(ix, stream, room) {
                Ok(planned) => found = planned,
                Err(window) => wanted = wanted.or(Some(window)),
            }
            stream = next;
        }
        Some((wanted, found))
    }

    /// The first stream of the list whose priority is lower than that of `front`.
    fn first_lower(&self, front: OutIx) -> OutIx {
        let priority = self.p.outbound.get(front.at()).map(|s| s.priority).unwrap_or_default();
        let mut each = front;
        while let Some(s) = self.p.outbound.get(each.at()).filter(|s| s.priority <= priority) {
            each = s.next_queued;
        }
        each
    }

    /// New data of one stream; `Err` is the credit window that it would need.
    fn plan_stream(&mut self, ix: LinkIx, stream: OutIx, room: usize) -> Result<Option<PlannedChunk>, u64> {
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return Ok(None);
        };
        let Some(peer) = self.p.peers.get_mut(link.peer.at()) else {
            return Ok(None);
        };
        let Some(s) = self.p.outbound.get_mut(stream.at()) else {
            return Ok(None);
        };
        let waits = match s.opening {
            Opening::Refused(until) => until > self.now,
            Opening::Asked | Opening::Open => false,
        };
        if waits
            || s.epoch.is_none()
            || !room_ahead(link, &peer.session, s, of_link(self.p.sent, ix, self.st.config.in_flight as usize))
        {
            return Ok(None);
        }
        if s.wire == 0 {
            s.wire = peer.session.next_stream;
            peer.session.next_stream = peer.session.next_stream.saturating_add(1);
        }
        let (used, begun) = (link.outbound.used, link.outbound.begun_rest);
        let mut planned = PlannedChunk::next_of(stream, s);
        let bounds = bounds(link, &peer.session, s, 0);
        let wire = s.wire;
        let at_head = s.sent == 0 && s.cursor.offset == 0;
        let before = self.control.mark();
        if planned.open || planned.skip {
            let look = Look { st: self.st, p: &self.p, now: self.now };
            let limit = CONTROL_MAX.min(room);
            if !look.compose_stream_head(stream, planned.open, planned.skip, limit, self.control) {
                self.control.reset(before);
                return Ok(None);
            }
        }
        let Some(chunk_room) = chunk_room(&planned, wire, room, self.control) else {
            return Ok(None);
        };
        let Some(s) = self.p.outbound.get(stream.at()) else { return Ok(None) };
        let (ring, bounds) = (s.of_ring(self.p.ring), Bounds { room: chunk_room, ..bounds });
        planned.cut = ring::cut(ring, planned.ring_at, planned.start.offset, planned.rest, bounds);
        // SKIP waits for nothing: what was sent behind the gap is not stored before it is known.
        if planned.cut.len > 0 || planned.skip {
            return Ok(Some(planned));
        }
        self.control.reset(before);
        match planned.cut.stop {
            Stop::Credit(size) => Err(used.saturating_add(begun).saturating_add(u64::from(size))),
            Stop::TooLarge if at_head => {
                // The other end lowered its limit: the record can never be sent, and is a gap (wire-format §6.5).
                let below = self.first_sendable(stream, bounds.max_stored);
                self.skip_to(stream, below, super::timeout::SKIP_TOO_LARGE);
                self.plan_stream(ix, stream, room)
            }
            _ => Ok(None),
        }
    }

    /// Number of the first record from the head on that the other end takes.
    fn first_sendable(&self, stream: OutIx, max_stored: u64) -> u64 {
        let Some(s) = self.p.outbound.get(stream.at()) else { return 0 };
        let ring = s.of_ring(self.p.ring);
        let (mut number, mut at) = (s.head, s.head_at);
        while number < s.next {
            let size = ring::stored_size(ring, at);
            if u64::from(size) <= max_stored {
                break;
            }
            at = s.advance(at, size);
            number = number.saturating_add(1);
        }
        number
    }
}

/// What of a stream a chunk of at most `room` bytes may take.
#[inline]
pub(super) fn bounds<K>(link: &Link<K>, session: &Session, s: &OutStream, room: u32) -> Bounds {
    let (used, window) = (link.outbound.used, session.window);
    // With nothing under way the whole window is anybody's: no record is too large for what is left.
    let kept = if s.priority == Priority::Backlog && used > 0 { window >> CREDIT_KEPT } else { 0 };
    let credit = window.saturating_sub(kept).saturating_sub(used).saturating_sub(link.outbound.begun_rest);
    let max = u64::from(session.limits.max_record);
    let max_stored = max.saturating_add(varint::len(max) as u64);
    Bounds { available: s.unsent(), room, credit, max_stored }
}

/// True while the other end has room ahead of the stream's oldest unacknowledged position (Q).
#[inline]
pub(super) fn room_ahead<K>(link: &Link<K>, session: &Session, s: &OutStream, table: &[Sent]) -> bool {
    match s.unacked.front.some().and_then(|f| table.get(f.0 as usize)) {
        Some(oldest) => {
            let since = link.recovery.data_sent.wrapping_sub(oldest.first_sent);
            since < u32::from(session.limits.held.max(1))
        }
        None => true,
    }
}
