//! A planned packet is written, sealed, and entered in the books.

use super::chunk::PlannedChunk;
use super::plan::{Plan, Sealed, What};
use super::receive::LEAST_SOFT_LIMIT;
use super::{Cx, SendFault};
use crate::crypto::{Crypto, TAG_LEN};
use crate::discard::Fault;
use crate::ids::{LinkIx, OutIx, PeerIx, Position};
use crate::link::Outbound;
use crate::path::Ecn;
use crate::peer::End;
use crate::recovery::sent::{Carried, Flight, Sent, State, stream_links};
use crate::ring::{self, Cut};
use crate::storage::of_link;
use crate::stream::OutStream;
use crate::wire::{LongData, NoRoom, Writer};

/// At the latest every 2^14 packets that are not known to be received one asks for an ACK (wire-format §8.1).
const UNKNOWN_BITS: u32 = 14;
/// One packet number of so many at least is skipped, and at most of so many more: seldom, and nobody can tell which.
const SKIP_LEAST: u64 = 32;
const SKIP_MASK: u32 = 0x3ff;

impl Outbound {
    /// New data of a stream has left: its cursor moves on.
    #[inline]
    fn sent_new(&mut self, s: &mut OutStream, cut: &Cut) {
        self.used = self.used.saturating_add(u64::from(cut.len));
        self.begun_rest = self.begun_rest.saturating_sub(u64::from(s.rest)).saturating_add(u64::from(cut.rest));
        s.cursor = Position { number: s.cursor.number.saturating_add(u64::from(cut.ended)), offset: cut.offset };
        s.cursor_at = s.advance(s.cursor_at, cut.len);
        s.sent = s.sent.saturating_add(cut.len);
        s.rest = cut.rest;
    }
}

impl<C: Crypto> Cx<'_, C> {
    pub(super) fn seal(&mut self, plan: &Plan, mark: Ecn, out: &mut [u8]) -> bool {
        let (ix, at) = (plan.link, plan.at);
        let size = out.len() as u64;
        let done = match &plan.what {
            What::Hello => self.write_hello(ix, out),
            What::Sealed(sealed) => {
                let written = self.write_sealed(ix, at, sealed, out).is_ok();
                debug_assert!(written, "a plan fits its length");
                written && self.enter(ix, at, sealed, mark, out.len())
            }
        };
        if !done {
            return false;
        }
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            link.turn = link.turn.saturating_sub(1);
            link.path.budget = match link.path.budget {
                u64::MAX => u64::MAX,
                left => left.saturating_sub(size),
            };
        }
        self.st.totals.bytes_sent = self.st.totals.bytes_sent.saturating_add(size);
        true
    }

    #[inline]
    fn write_sealed(&mut self, ix: LinkIx, at: PeerIx, sealed: &Sealed, out: &mut [u8]) -> Result<(), NoRoom> {
        let (packet, tag) = out.split_last_chunk_mut::<TAG_LEN>().ok_or(NoRoom)?;
        let mut w = Writer::new(packet);
        match &sealed.short {
            Some(header) => header.write(&mut w)?,
            None => {
                let (hello, gateway_nonce) = self.long_hello(ix).ok_or(NoRoom)?;
                LongData { hello, gateway_nonce, number: sealed.number }.write(&mut w)?;
            }
        }
        debug_assert_eq!(w.written(), sealed.header_len);
        // Most packets have no frames before their chunk and end with it.
        if self.control.len() > 0 {
            w.bytes(self.control.as_slice())?;
        }
        if let Some(chunk) = sealed.chunk.as_ref().filter(|c| c.cut.len > 0) {
            let s = self.p.outbound.get(chunk.stream.at()).ok_or(NoRoom)?;
            chunk.frame(s.wire).write_head(&mut w, chunk.cut.len as usize)?;
            let (front, back) = ring::pieces(s.of_ring(self.p.ring), chunk.ring_at, chunk.cut.len);
            w.bytes(front)?;
            if !back.is_empty() {
                w.bytes(back)?;
            }
        }
        if sealed.padding > 0 {
            w.space(sealed.padding)?.fill(0);
        }
        let (header, body) = packet.split_at_mut_checked(sealed.header_len).ok_or(NoRoom)?;
        debug_assert!(self.p.peers.get(at.at()).is_some_and(|p| p.session.tx_next <= sealed.number));
        let key = self.p.links.get(ix.at()).and_then(|l| l.tx.as_ref()).ok_or(NoRoom)?;
        *tag = *self.crypto.seal(key, sealed.number, header, body).as_bytes();
        Ok(())
    }

    /// The packet number is spent: what the packet carried is in flight.
    #[inline]
    fn enter(&mut self, ix: LinkIx, at: PeerIx, sealed: &Sealed, mark: Ecn, size: usize) -> bool {
        let Some(peer) = self.p.peers.get_mut(at.at()) else {
            return false;
        };
        let next = sealed.number.saturating_add(1);
        let before = core::mem::replace(&mut peer.session.tx_next, next);
        let renew = next >= LEAST_SOFT_LIMIT
            && peer.end == Some(End::Device)
            && next >= peer.session.soft_packet_limit(&self.st.config);
        self.st.totals.packets_sent = self.st.totals.packets_sent.saturating_add(1);
        let said = self.control.said;
        if self.control.len() > 0 {
            self.said(ix, said);
        }
        if sealed.chunk.is_some() || said.elicits {
            self.enter_flight(ix, sealed, mark, size);
        }
        if renew {
            self.start_exchange(ix);
        }
        self.number_spent(ix, before, next, mark);
        true
    }

    /// The next packet number is `next` now.
    #[inline]
    fn number_spent(&mut self, ix: LinkIx, before: u64, next: u64, mark: Ecn) {
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        if mark == Ecn::Ect0 {
            link.marks.left();
        }
        // An end that only acknowledges is never acknowledged itself, unless it asks.
        let unknown = |number: u64| number.saturating_sub(link.recovery.oldest_unacked) >> UNKNOWN_BITS;
        link.say.ping |= unknown(before) != unknown(next);
        let drawn = link.recovery.skips_next != u64::MAX;
        if link.recovery.skips_next < next || !drawn {
            if drawn {
                link.recovery.skipped = Some(link.recovery.skips_next);
            }
            let draw = u64::from(self.st.draw_u32() & SKIP_MASK);
            link.recovery.skips_next = next.saturating_add(SKIP_LEAST).saturating_add(draw);
        }
    }

    #[inline]
    fn enter_flight(&mut self, ix: LinkIx, sealed: &Sealed, mark: Ecn, size: usize) {
        let table = of_link(self.p.sent, ix, self.st.config.in_flight as usize);
        let slot = Flight::slot(table, sealed.number);
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        link.recovery.last_asked = self.now;
        link.recovery.probe_due = link.recovery.probe_due.saturating_sub(1);
        if !sealed.probe {
            link.pacer.spent(size as u64);
        }
        if sealed.size {
            link.mtu.left(size as u16, link.path.datagram);
        }
        let mut entry = Sent {
            sent_at: self.now,
            number: sealed.number as u32,
            size: size as u16,
            state: State::Flight,
            carried: Carried::of(&[
                (Carried::PROBE, sealed.probe),
                (Carried::MARKED, mark == Ecn::Ect0),
                (Carried::SIZE, sealed.size),
            ]),
            ..Sent::default()
        };
        let Some(chunk) = &sealed.chunk else {
            link.flight.insert(table, slot, entry);
            return;
        };
        let Some(s) = self.p.outbound.get_mut(chunk.stream.at()) else {
            return;
        };
        entry.stream = chunk.stream;
        if chunk.skip {
            entry.carried = entry.carried.with(Carried::SKIP);
            (s.skip_out, s.skip_packet) = (true, entry.number);
        }
        let cut = &chunk.cut;
        if cut.len == 0 {
            link.flight.insert(table, slot, entry);
            return self.after_new(ix, chunk.stream);
        }
        entry.carried = entry.carried.with(Carried::CHUNK);
        (entry.start, entry.end_offset, entry.records) = (chunk.start, cut.offset, cut.ended);
        (entry.ring_at, entry.len, entry.first_sent) = (chunk.ring_at, cut.len as u16, link.recovery.data_sent);
        match chunk.repeats {
            Some(old) => {
                entry.first_sent = table.get(old.0 as usize).map_or(0, |s| s.first_sent);
                link.flight.insert(table, slot, entry);
                self.enter_repeat(ix, slot, old, chunk);
            }
            None => {
                link.recovery.data_sent = link.recovery.data_sent.wrapping_add(1);
                link.flight.insert(table, slot, entry);
                s.unacked.push_back(table, slot, stream_links);
                link.outbound.sent_new(s, cut);
                self.after_new(ix, chunk.stream);
            }
        }
    }

    /// The stream that just sent goes to the back of its link's queue, or leaves it with nothing more to send.
    #[inline]
    fn after_new(&mut self, ix: LinkIx, stream: OutIx) {
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            let o = &mut link.outbound;
            if o.back == stream
                && o.front == stream
                && self.p.outbound.get(stream.at()).is_some_and(|s| s.has_something())
            {
                o.ahead = 0;
                return;
            }
            let priority = |s: OutIx| self.p.outbound.get(s.at()).map(|s| s.priority);
            let waits = o.back != stream && priority(o.back) > priority(stream);
            o.ahead = if waits { o.ahead.saturating_add(1) } else { 0 };
        }
        self.unqueue(ix, stream);
        self.queue_stream(ix, stream);
    }

    /// Repeated data: the new packet takes the place of the lost one, or of its beginning.
    fn enter_repeat(
        &mut self,
        ix: LinkIx,
        slot: crate::recovery::sent::Slot,
        old: crate::recovery::sent::Slot,
        chunk: &PlannedChunk,
    ) {
        let table = of_link(self.p.sent, ix, self.st.config.in_flight as usize);
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        let Some(s) = self.p.outbound.get_mut(chunk.stream.at()) else {
            return;
        };
        self.st.totals.chunks_repeated = self.st.totals.chunks_repeated.saturating_add(1);
        let Some(lost) = table.get_mut(old.0 as usize) else {
            return;
        };
        let lost_end = lost.end();
        let new_end = Position {
            number: chunk.start.number.saturating_add(u64::from(chunk.cut.ended)),
            offset: chunk.cut.offset,
        };
        if new_end >= lost_end {
            s.unacked.replace(table, old, slot, stream_links);
            link.flight.repeated(table, old, slot);
            return;
        }
        // The path has become smaller: the rest of the chunk stays lost, and goes with the next packet.
        let trimmed = chunk.start.number.saturating_sub(lost.start.number) as u16;
        let gone = s.distance(lost.ring_at, chunk.ring_at);
        lost.records = lost.records.saturating_sub(trimmed).saturating_sub(chunk.cut.ended);
        lost.len = lost.len.saturating_sub(gone as u16).saturating_sub(chunk.cut.len as u16);
        lost.start = new_end;
        lost.ring_at = s.advance(chunk.ring_at, chunk.cut.len);
        s.unacked.insert_before(table, old, slot, stream_links);
    }

    pub(super) fn transmit_failed(&mut self, at: PeerIx, why: SendFault) {
        let Some(ix) = self.p.peers.get(at.at()).and_then(|p| p.link.some()) else {
            return;
        };
        match why {
            SendFault::TooBig => self.size_refused(ix),
            // Loss recovery finds out.
            SendFault::Lost => {}
        }
        self.wake(ix);
    }

    /// Packet numbers or the suite's limit are used up, and no new session came in time.
    pub(super) fn numbers_used_up(&mut self, at: PeerIx) -> bool {
        let used_up = self
            .p
            .peers
            .get(at.at())
            .is_some_and(|p| p.session.lives() && p.session.tx_next >= p.session.packet_limit(&self.st.config));
        if used_up {
            self.end_session(at, Fault::NumbersUsedUp);
        }
        used_up
    }
}
