//! The packet that nearly every packet is: new data of one stream, and nothing else. It is planned here from one look at the
//! link and the stream. Whatever is out of the ordinary about either is left to [`plan`](super::plan), which would plan the
//! same packet, only slower: with debug assertions both plan it, and must agree.

use super::Cx;
use super::chunk::{AHEAD_MOST, PlannedChunk, bounds, room_ahead};
use super::plan::{Plan, Sealed, What, within_reach};
use crate::crypto::{Crypto, TAG_LEN};
use crate::ids::LinkIx;
use crate::link::Link;
use crate::peer::{End, Session};
use crate::recovery::sent::{Flight, Sent};
use crate::ring::{self, Stop};
use crate::storage::of_link;
use crate::stream::{Opening, OutStream};
use crate::time::Instant;
use crate::wire::varint;

impl<C: Crypto> Cx<'_, C> {
    /// Plans the next packet, if it is an ordinary one.
    #[inline]
    pub(super) fn plan_flow(&mut self, ix: LinkIx, planned: &mut Option<Plan>) {
        *planned = None;
        let Some(link) = self.p.links.get_mut(ix.at()) else { return };
        let Some(peer) = self.p.peers.get(link.peer.at()) else { return };
        let stream = link.outbound.front;
        let Some(s) = self.p.outbound.get(stream.at()) else { return };
        let session = &peer.session;
        let number = session.tx_next;
        let labelled = session.confirmed || peer.end == Some(End::Device);
        let numbered = number < session.packet_limit(&self.st.config) && number != link.recovery.skips_next;
        if !labelled || !numbered || !link.is_ordinary(self.now) || !s.is_ordinary() {
            return;
        }
        let table = of_link(self.p.sent, ix, self.st.config.in_flight as usize);
        let datagram = u64::from(link.datagram()).min(link.path.budget);
        if !link.may_leave(table, session, number, datagram) || !room_ahead(link, session, s, table) {
            return;
        }
        let header = link.short_header(session, number);
        let mut chunk = PlannedChunk::next_of(stream, s);
        // The head of a chunk, but for its length.
        let head = chunk.frame(s.wire).head_len(0).saturating_sub(1);
        let outside = header.len().saturating_add(TAG_LEN);
        let Some(room) = (datagram as usize).checked_sub(outside) else { return };
        let Some(behind_head) = room.checked_sub(head.saturating_add(varint::len(room as u64))) else { return };
        let bounds = bounds(link, session, s, behind_head as u32);
        chunk.cut = ring::cut(s.of_ring(self.p.ring), chunk.ring_at, chunk.start.offset, chunk.rest, bounds);
        if chunk.cut.len == 0 {
            return;
        }
        (link.outbound.passed_by, link.outbound.wanted) = (None, None);
        self.control.clear();
        let length = u64::from(chunk.cut.len);
        let used = head.saturating_add(varint::len(length)).saturating_add(length as usize);
        let padding = if chunk.cut.stop == Stop::Packet { room.saturating_sub(used) } else { 0 };
        let len = outside.saturating_add(used).saturating_add(padding) as u16;
        let (header_len, short) = (header.len(), Some(header));
        let sealed = Sealed { number, short, header_len, chunk: Some(chunk), padding, probe: false, size: false };
        *planned = Some(Plan { link: ix, at: link.peer, len, what: What::Sealed(sealed) });
    }
}

impl<K> Link<K> {
    /// True when there is nothing to do but to send what waits.
    fn is_ordinary(&self, now: Instant) -> bool {
        let (recovery, outbound) = (&self.recovery, &self.outbound);
        self.exchange.is_none()
            && self.long.is_none()
            && recovery.probe_due == 0
            && !recovery.parked
            && self.flight.lost.is_empty()
            && !outbound.busy
            && outbound.ahead < AHEAD_MOST
            && self.has_nothing_to_say(now)
            && self.mtu.probe(self.path.datagram, now).is_none()
    }

    fn has_nothing_to_say(&self, now: Instant) -> bool {
        let (ack, say, inbound) = (&self.ack, &self.say, &self.inbound);
        let acknowledges = ack.now || ack.asked > 0 || ack.due <= now;
        let says = say.label || say.credit || say.busy || say.ping || say.query;
        !acknowledges && !says && !inbound.say_refused && inbound.dirty.some().is_none()
    }

    /// True when a datagram with this number and of this size may leave, as far as is known without filling the pacer.
    fn may_leave(&self, table: &[Sent], session: &Session, number: u64, datagram: u64) -> bool {
        // The last slot is kept for what was lost, and for PING.
        let spare = self.flight.slots.saturating_add(1) < table.len() as u32;
        let free = table.get(Flight::slot(table, number).0 as usize).is_some_and(|s| !s.outstanding());
        let fits = self.flight.bytes.saturating_add(datagram) <= self.cc.window();
        spare && free && fits && self.pacer.ready(datagram) && within_reach(self, session, table, number)
    }
}

impl OutStream {
    fn is_ordinary(&self) -> bool {
        self.opening == Opening::Open && self.skip.is_none() && self.epoch.is_some() && self.wire != 0
    }
}
