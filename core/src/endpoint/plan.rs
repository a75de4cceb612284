//! What the next packet is: chosen without changing anything that a packet would spend, so that a driver may look, find no
//! room in its socket, and look again later (wire-format §8).

use super::Cx;
use super::control::{CONTROL_MAX, Control};
use crate::crypto::{Crypto, TAG_LEN};
use crate::ids::{LinkIx, OutIx, PeerIx, Position};
use crate::path::Path;
use crate::peer::{End, Peer};
use crate::recovery::sent::{Flight, Sent, Slot};
use crate::ring::{self, Bounds, Cut, Stop};
use crate::stream::Opening;
use crate::wire::{Chunk, DataHeader, number, varint};

/// The next packet: where to, and its exact length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The peer that it is for.
    pub peer: PeerIx,
    /// Where to.
    pub path: Path,
    /// Bytes of UDP payload.
    pub len: u16,
    /// The largest datagram of this path now: packets of this length can share one segmented send, and a shorter one ends it.
    pub segment: u16,
}

/// What was planned, for `seal`.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) link: LinkIx,
    pub(super) at: PeerIx,
    pub(super) len: u16,
    pub(super) what: What,
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a plan lives in one place and is never copied about")]
pub(super) enum What {
    Hello,
    Sealed(Sealed),
}

/// A sealed packet to be.
#[derive(Clone, Debug)]
pub(super) struct Sealed {
    pub(super) number: u64,
    /// `None`: long DATA.
    pub(super) short: Option<DataHeader>,
    pub(super) header_len: usize,
    pub(super) control: Control,
    pub(super) chunk: Option<PlannedChunk>,
    pub(super) padding: usize,
    pub(super) probe: bool,
}

/// A chunk to be.
#[derive(Clone, Copy, Debug)]
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
    /// The head of its frame.
    pub(super) fn frame(&self, wire: u32) -> Chunk<'static> {
        Chunk { stream: wire, number: self.start.number, offset: self.start.offset, rest: self.rest, bytes: &[] }
    }
}

impl<C: Crypto> Cx<'_, C> {
    pub(super) fn peek(&mut self) -> Option<Envelope> {
        loop {
            let ix = self.st.ready_front.some()?;
            if self.p.links.get(ix.at()).is_some_and(|l| l.turn == 0) {
                self.rotate_ready();
                continue;
            }
            if let Some(plan) = self.plan(ix) {
                let peer = self.p.peers.get(plan.at.at())?;
                let segment = self.p.links.get(ix.at())?.path.datagram;
                let envelope = Envelope { peer: plan.at, path: peer.path, len: plan.len, segment };
                self.st.plan = Some(plan);
                return Some(envelope);
            }
            self.pop_ready();
            self.settle(ix);
        }
    }

    fn plan(&mut self, ix: LinkIx) -> Option<Plan> {
        let at = self.p.links.get(ix.at())?.peer;
        if self.exchange_at(ix) <= self.now {
            let len = u16::try_from(self.hello(ix)?.packet_len()).ok()?;
            return Some(Plan { link: ix, at, len, what: What::Hello });
        }
        let peer = self.p.peers.get(at.at())?;
        if !peer.has_session() {
            return None;
        }
        let (sealed, len) = self.plan_sealed(ix, peer.session.tx_next)?;
        Some(Plan { link: ix, at, len, what: What::Sealed(sealed) })
    }

    fn plan_sealed(&mut self, ix: LinkIx, tx_next: u64) -> Option<(Sealed, u16)> {
        let header = self.header(ix, tx_next)?;
        let link = self.p.links.get(ix.at())?;
        let datagram = usize::from(link.path.datagram);
        if link.path.budget < datagram as u64 {
            return None;
        }
        let room = datagram.checked_sub(header.len)?.checked_sub(TAG_LEN)?;
        let (probe, parked) = (link.recovery.probe_due > 0, link.recovery.parked);
        let may_send = !parked && (probe || self.may_send(ix, tx_next, datagram));
        let link = self.p.links.get(ix.at())?;
        let has_data = may_send && (!link.flight.lost.is_empty() || link.outbound.front != OutIx::NONE);
        let mut control = self.compose(ix, room, has_data);
        let mut chunk = None;
        if has_data {
            chunk = self.plan_repeat(ix, room, &mut control).or_else(|| self.plan_new(ix, room, &mut control));
        }
        if probe && chunk.is_none() && !control.elicits {
            control.add(CONTROL_MAX, |w| crate::wire::Frame::Ping.write(w));
            control.elicits = true;
        }
        let chunk_len = chunk.map_or(0, |c| {
            let wire = self.p.outbound.get(c.stream.at()).map_or(0, |s| s.wire);
            c.frame(wire).head_len(c.cut.len as usize).saturating_add(c.cut.len as usize)
        });
        let used = control.len().saturating_add(chunk_len);
        if used == 0 {
            return None;
        }
        let full = chunk.is_some_and(|c| c.cut.stop == Stop::Packet && c.repeats.is_none());
        let padding = if full { room.saturating_sub(used) } else { 0 };
        let len = header.len.saturating_add(used).saturating_add(padding).saturating_add(TAG_LEN);
        let number = match chunk.is_some() || control.elicits {
            true => self.free_number(ix, tx_next)?,
            false => tx_next,
        };
        // A skipped number may need a longer header only beyond the reach of the shortest: then the next plan has it.
        let short = header.short.map(|h| DataHeader { truncated: number as u32, ..h });
        let sealed =
            Sealed { number, short, header_len: header.len, control, chunk, padding, probe: probe && chunk.is_some() };
        Some((sealed, u16::try_from(len).ok()?))
    }

    fn header(&self, ix: LinkIx, tx_next: u64) -> Option<Header> {
        let link = self.p.links.get(ix.at())?;
        let peer = self.p.peers.get(link.peer.at())?;
        if tx_next >= peer.session.suite?.packet_limit().min(number::LARGEST) {
            return None;
        }
        if link.long.is_some() && peer.end == Some(End::Device) {
            let (hello, _) = self.long_hello(ix)?;
            return Some(Header { short: None, len: hello.core_len().saturating_add(24) });
        }
        let span = tx_next.saturating_sub(link.recovery.oldest_unacked).saturating_add(1);
        let number_len = number::truncated_len(span);
        let short = DataHeader { label: peer.session.theirs, truncated: 0, number_len };
        Some(Header { len: short.len(), short: Some(short) })
    }

    /// Congestion window, pacing, the other end's window of numbers and its room: may data leave?
    fn may_send(&mut self, ix: LinkIx, tx_next: u64, datagram: usize) -> bool {
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return false;
        };
        let Some(peer) = self.p.peers.get(link.peer.at()) else {
            return false;
        };
        if link.outbound.busy {
            return false;
        }
        let window = link.cc.window();
        if link.flight.bytes.saturating_add(datagram as u64) > window {
            return false;
        }
        let (rtt, doubling) = (link.rtt.smoothed(), link.cc.in_slow_start());
        if !link.pacer.ready(datagram as u64) {
            link.pacer.refill(self.now, window, rtt, doubling, link.path.datagram);
            if !link.pacer.ready(datagram as u64) {
                return false;
            }
        }
        let each = self.st.config.in_flight as usize;
        let start = ix.at().saturating_mul(each);
        let table = self.p.sent.get(start..start.saturating_add(each)).unwrap_or(&[]);
        if Self::taken(table, tx_next) {
            return false;
        }
        // The other end must still be able to tell about the oldest packet that is out.
        match link.flight.out.front.some().and_then(|f| table.get(f.0 as usize)) {
            Some(oldest) => (tx_next as u32).wrapping_sub(oldest.number) <= peer.session.limits.ack_window >> 1,
            None => true,
        }
    }

    fn taken(table: &[Sent], number: u64) -> bool {
        table.get(Flight::slot(table, number).0 as usize).is_none_or(Sent::outstanding)
    }

    /// The first number from `from` on whose slot is free.
    fn free_number(&self, ix: LinkIx, from: u64) -> Option<u64> {
        let each = self.st.config.in_flight as usize;
        let start = ix.at().saturating_mul(each);
        let table = self.p.sent.get(start..start.saturating_add(each)).unwrap_or(&[]);
        (from..from.saturating_add(each as u64)).find(|n| !Self::taken(table, *n))
    }

    /// The oldest lost chunk, cut to the room.
    fn plan_repeat(&self, ix: LinkIx, room: usize, control: &mut Control) -> Option<PlannedChunk> {
        let link = self.p.links.get(ix.at())?;
        let slot = link.flight.lost.front.some()?;
        let each = self.st.config.in_flight as usize;
        let sent = self.p.sent.get(ix.at().saturating_mul(each).saturating_add(slot.0 as usize))?;
        let s = self.p.outbound.get(sent.stream.at())?;
        let ring_start = s.ring_start as usize;
        let ring = self.p.ring.get(ring_start..ring_start.saturating_add(s.ring_len as usize))?;
        let (mut start, mut ring_at, mut len, mut records) =
            (sent.start, sent.ring_at, u32::from(sent.len), sent.records);
        if start < Position::start_of(s.head) {
            // What lies below the head is stored or given up.
            let gone = if s.head_at >= ring_at {
                s.head_at.saturating_sub(ring_at)
            } else {
                s.head_at.saturating_add(s.ring_len).saturating_sub(ring_at)
            };
            len = len.saturating_sub(gone);
            records = records.saturating_sub(s.head.saturating_sub(start.number) as u16);
            (start, ring_at) = (Position::start_of(s.head), s.head_at);
        }
        let rest = match start.offset {
            0 => 0,
            offset => {
                let record_at = if ring_at >= offset {
                    ring_at.saturating_sub(offset)
                } else {
                    ring_at.saturating_add(s.ring_len).saturating_sub(offset)
                };
                ring::stored_size(ring, record_at).saturating_sub(offset)
            }
        };
        let open = s.opening != Opening::Open;
        let skip = s.skip.is_some() && !s.skip_out;
        if (open || skip) && !self.compose_stream_head(sent.stream, open, skip, room, control) {
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
        let room = self.chunk_room(&planned, s.wire, room, control)?;
        if len > room {
            let bounds = Bounds { available: len, room, credit: u64::MAX, max_stored: u64::MAX };
            planned.cut = ring::cut(ring, ring_at, start.offset, rest, bounds);
            planned.cut.rest = 0;
        }
        (planned.cut.len > 0).then_some(planned)
    }

    fn chunk_room(&self, planned: &PlannedChunk, wire: u32, room: usize, control: &Control) -> Option<u32> {
        let left = room.checked_sub(control.len())?;
        let left = left.checked_sub(planned.frame(wire).head_len(left))?;
        u32::try_from(left.min(usize::from(u16::MAX))).ok().filter(|l| *l > 0)
    }

    /// New data of the next stream that has some and may send it.
    fn plan_new(&mut self, ix: LinkIx, room: usize, control: &mut Control) -> Option<PlannedChunk> {
        let mut stream = self.p.links.get(ix.at())?.outbound.front;
        let (mut wanted, mut found) = (None, None);
        while found.is_none() && stream != OutIx::NONE {
            let next = self.p.outbound.get(stream.at())?.next_queued;
            match self.plan_stream(ix, stream, room, control) {
                Ok(planned) => found = planned,
                Err(window) => wanted = wanted.or(Some(window)),
            }
            stream = next;
        }
        self.p.links.get_mut(ix.at())?.outbound.wanted = if found.is_some() { None } else { wanted };
        found
    }

    /// New data of one stream; `Err` is the credit window that it would need.
    fn plan_stream(
        &mut self,
        ix: LinkIx,
        stream: OutIx,
        room: usize,
        control: &mut Control,
    ) -> Result<Option<PlannedChunk>, u64> {
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
            || !Self::room_ahead(link, peer, s.unacked.front, self.p.sent, ix, &self.st.config)
        {
            return Ok(None);
        }
        if s.wire == 0 {
            s.wire = peer.session.next_stream;
            peer.session.next_stream = peer.session.next_stream.saturating_add(1);
        }
        let (used, begun) = (link.outbound.used, link.outbound.begun_rest);
        let credit = peer.session.window.saturating_sub(used).saturating_sub(begun);
        let max = u64::from(peer.session.limits.max_record);
        let max_stored = max.saturating_add(varint::len(max) as u64);
        let mut planned = PlannedChunk {
            stream,
            repeats: None,
            start: s.cursor,
            rest: s.rest,
            ring_at: s.cursor_at,
            cut: Cut::default(),
            open: s.opening != Opening::Open,
            skip: s.skip.is_some() && !s.skip_out,
        };
        let (wire, unsent, start, len) = (s.wire, s.unsent(), s.ring_start as usize, s.ring_len as usize);
        let at_head = s.sent == 0 && s.cursor.offset == 0;
        let before = control.mark();
        if (planned.open || planned.skip)
            && !self.compose_stream_head(stream, planned.open, planned.skip, CONTROL_MAX.min(room), control)
        {
            control.reset(before);
            return Ok(None);
        }
        let Some(room) = self.chunk_room(&planned, wire, room, control) else {
            return Ok(None);
        };
        let ring = self.p.ring.get(start..start.saturating_add(len)).unwrap_or(&[]);
        let bounds = Bounds { available: unsent, room, credit, max_stored };
        planned.cut = ring::cut(ring, planned.ring_at, planned.start.offset, planned.rest, bounds);
        if planned.cut.len > 0 || (planned.skip && unsent == 0) {
            return Ok(Some(planned));
        }
        control.reset(before);
        match planned.cut.stop {
            Stop::Credit(size) => Err(used.saturating_add(begun).saturating_add(u64::from(size))),
            Stop::TooLarge if at_head => {
                // The other end lowered its limit: the record can never be sent, and is a gap (wire-format §6.5).
                let below = planned.start.number.saturating_add(1);
                self.skip_to(stream, below, super::timeout::SKIP_TOO_LARGE);
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// True while the other end has room ahead of the oldest unacknowledged position (Q).
    fn room_ahead(
        link: &crate::link::Link<C::Key>,
        peer: &Peer,
        front: Slot,
        sent: &[Sent],
        ix: LinkIx,
        config: &crate::config::Config,
    ) -> bool {
        let at = ix.at().saturating_mul(config.in_flight as usize);
        match front.some().and_then(|f| sent.get(at.saturating_add(f.0 as usize))) {
            Some(oldest) => {
                let since = link.recovery.data_sent.wrapping_sub(oldest.first_sent);
                since < u32::from(peer.session.limits.held.max(1))
            }
            None => true,
        }
    }
}

struct Header {
    short: Option<DataHeader>,
    len: usize,
}
