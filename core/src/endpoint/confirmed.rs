//! What the receiver says of a stream that is sent: OPENED, STORED, CREDIT, BUSY and REFUSED free and hold what the ring has
//! (wire-format §7.3).

use super::Cx;
use super::receive::Stop;
use crate::crypto::Crypto;
use crate::discard::Fault;
use crate::ids::{LinkIx, OutIx, PeerIx, Position};
use crate::recovery::congestion::Acked;
use crate::recovery::sent::{Carried, Sent, State};
use crate::ring;
use crate::storage::of_link;
use crate::stream::{Opening, OutStream};
use crate::time::{Duration, Instant};

/// A refused stream is asked for again after this long.
const REFUSED_RETRY: Duration = Duration::from_secs(5);

/// Why records leave the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freed {
    /// The receiver has them on disk.
    Stored,
    /// The sender gives them up.
    GivenUp,
}

impl OutStream {
    /// How many bytes of the ring lie before the record `below`, if that is the head, or the record in which the
    /// oldest unacknowledged chunk, or else new data, begins. So it is for nearly every STORED; others walk the ring.
    #[inline]
    fn stored_bytes(&self, table: &[Sent], below: u64) -> Option<u32> {
        if below <= self.head {
            return Some(0);
        }
        let oldest = self.unacked.front.some().and_then(|f| table.get(f.0 as usize));
        let (start, at) = oldest.map_or((self.cursor, self.cursor_at), |sent| (sent.start, sent.ring_at));
        if start.number != below {
            return None;
        }
        let bytes = self.distance(self.head_at, self.back_from(at, start.offset));
        // Something lies before it: the whole ring, when it ends where it begins.
        Some(if bytes == 0 { self.ring_len } else { bytes })
    }
}

impl<C: Crypto> Cx<'_, C> {
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
        self.stored_there(ix, stream, stored_below);
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
        // It may overtake OPENED. And what was sent before a late REFUSED may have been taken all the same: the cursor is
        // not the measure.
        if below > s.next && s.opening == Opening::Open {
            return Err(Stop::Fault(Fault::StoredUnsent));
        }
        s.opening = Opening::Open;
        if self.stored_there(ix, stream, below) {
            self.confirmation_moved(ix);
        }
        Ok(())
    }

    /// The receiver has stored what lies below `below`. False when that is no news.
    fn stored_there(&mut self, ix: LinkIx, stream: OutIx, below: u64) -> bool {
        let Some(s) = self.p.outbound.get_mut(stream.at()) else { return false };
        if s.gap_closed(below) {
            // Another epoch may begin now.
            self.tell_out(stream, |news| news.stored = true);
        }
        let Some(s) = self.p.outbound.get_mut(stream.at()) else { return false };
        if below <= s.head {
            return false;
        }
        let ahead = below > s.next;
        self.free_below(ix, stream, below, Freed::Stored);
        if ahead {
            // Those numbers have a content already, so they are passed over.
            self.pass_over(stream, below);
            self.tell_out(stream, |news| news.ahead = Some(below));
        }
        true
    }

    /// A confirmation that was waited for has come: its back-off starts anew.
    fn confirmation_moved(&mut self, ix: LinkIx) {
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            link.outbound.queries = 0;
            link.outbound.query_at = Instant::NEVER;
            (link.recovery.probes, link.recovery.unanswered) = (0, 0);
        }
        self.wake(ix);
    }

    /// Everything below `below` has left the ring: it is stored, or given up.
    pub(super) fn free_below(&mut self, ix: LinkIx, stream: OutIx, below: u64, why: Freed) {
        let table = of_link(self.p.sent, ix, self.st.config.in_flight as usize);
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        let Some(s) = self.p.outbound.get_mut(stream.at()) else {
            return;
        };
        let below = below.min(s.next);
        let limit = Position::start_of(below);
        let (flight, mut acknowledged) = (link.flight.bytes, 0u64);
        while let Some(slot) = s.unacked.front.some() {
            let Some(sent) = table.get(slot.0 as usize) else {
                break;
            };
            if sent.end() > limit {
                break;
            }
            // STORED is as good as an ACK; what the sender gives up is not.
            let counts =
                sent.state == State::Flight && !sent.carried.has(Carried::PROBE) && link.cc.counts(sent.sent_at);
            if why == Freed::Stored && counts {
                acknowledged = acknowledged.saturating_add(u64::from(sent.size));
            }
            if why == Freed::Stored && sent.state == State::Lost {
                // It was not sent again: it came late, and STORED before its ACK.
                self.st.totals.losses_spurious = self.st.totals.losses_spurious.saturating_add(1);
                link.arrived_late(sent, self.now, self.st.config.in_flight);
            }
            link.flight.free(table, slot);
            s.unacked.remove(table, slot, crate::recovery::sent::stream_links);
        }
        let largest = link.recovery.largest_acked.unwrap_or(0);
        let next = self.p.peers.get(link.peer.at()).map_or(0, |p| p.session.tx_next);
        let rtt = link.rtt.smoothed();
        let acked = Acked { now: self.now, bytes: acknowledged, largest, next, sample: None, rtt };
        link.cc.acknowledged(&acked, flight);
        let start = s.ring_start as usize;
        let ring = self.p.ring.get(start..start.saturating_add(s.ring_len as usize)).unwrap_or(&[]);
        let bytes =
            s.stored_bytes(table, below).unwrap_or_else(|| ring::span(ring, s.head_at, below.saturating_sub(s.head)));
        debug_assert_eq!(bytes, ring::span(ring, s.head_at, below.saturating_sub(s.head)));
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
        s.skip_out = false;
        let Some(front) = s.unacked.front.some().and_then(|f| table.get(f.0 as usize)).copied() else {
            self.queue_stream(ix, stream);
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
        (link.outbound.wanted, link.outbound.passed_by) = (None, None);
        let mut moved = was_busy;
        if let Some(peer) = self.p.peers.get_mut(at.at()) {
            moved |= window > peer.session.window;
            peer.session.window = window;
        }
        if was_busy && !link.flight.is_empty() {
            // What was refused goes again at once.
            link.recovery.probes = 0;
            self.send_probe(ix);
        }
        if moved {
            self.confirmation_moved(ix);
        } else {
            self.answered_without_news(ix);
        }
    }

    /// The other end is there, and that is all that is known. Back-off goes on: on a path of a minute such answers come all the
    /// time, and probes that start anew with each of them push every packet out of a small table before its ACK comes.
    fn answered_without_news(&mut self, ix: LinkIx) {
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            link.recovery.unanswered = 0;
        }
        self.wake(ix);
    }

    /// The other end has no room: only probes leave until CREDIT comes. It is not silent: the session stays.
    pub(super) fn on_busy(&mut self, ix: LinkIx) {
        let spread = self.st.draw_u32() as u8;
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            (link.outbound.busy, link.outbound.busy_spread) = (true, spread);
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
