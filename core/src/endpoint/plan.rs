//! What the next packet is: chosen without changing anything that a packet would spend, so that a driver may look, find no
//! room in its socket, and look again later (wire-format §8).

use super::Cx;
use super::chunk::PlannedChunk;
use super::control::{CONTROL_MAX, Look, Said};
use super::timeout::PROBES_BEFORE_UNMARKED;
use crate::crypto::{Crypto, TAG_LEN};
use crate::ids::{LinkIx, OutIx, PeerIx};
use crate::link::Link;
use crate::path::{Ecn, Path};
use crate::peer::{End, Session};
use crate::recovery::sent::{Flight, Sent};
use crate::ring::Stop;
use crate::storage::of_link;
use crate::wire::{DataHeader, number};

/// The next packet: where to, and its exact length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The peer that it is for.
    pub peer: PeerIx,
    /// Where to.
    pub path: Path,
    /// Bytes of UDP payload.
    pub len: u16,
    /// The mark that it leaves with: ECT(0) or none.
    pub ecn: Ecn,
    /// The largest datagram of this path now: packets of this length can share one segmented send, and a shorter one ends it.
    pub segment: u16,
}

/// What was planned, for `seal`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) link: LinkIx,
    pub(super) at: PeerIx,
    pub(super) len: u16,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Hello,
    Sealed(Sealed),
}

impl What {
    /// True of a packet that asks for an ACK.
    fn asks(&self, said: &Said) -> bool {
        matches!(self, Self::Sealed(sealed) if sealed.chunk.is_some() || said.elicits)
    }
}

/// A sealed packet to be; its control frames are composed already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sealed {
    pub(super) number: u64,
    /// `None`: long DATA.
    pub(super) short: Option<DataHeader>,
    pub(super) header_len: usize,
    pub(super) chunk: Option<PlannedChunk>,
    pub(super) padding: usize,
    pub(super) probe: bool,
    /// It tries a larger datagram, and carries nothing.
    pub(super) size: bool,
}

impl<C: Crypto> Cx<'_, C> {
    /// Plans the next packet, if there is one to send now, into `planned`.
    pub(super) fn peek(&mut self, planned: &mut Option<Plan>) -> Option<Envelope> {
        loop {
            let Some(ix) = self.st.ready_front.some() else {
                if self.end_a_wait() {
                    continue;
                }
                *planned = None;
                return None;
            };
            if self.p.links.get(ix.at()).is_some_and(|l| l.turn == 0) {
                self.rotate_ready();
                continue;
            }
            self.plan_flow(ix, planned);
            debug_assert!(planned.is_none() || self.plan(ix) == *planned, "both ways to plan plan the same");
            if planned.is_none() {
                *planned = self.plan(ix);
            }
            if let Some(plan) = planned {
                return self.envelope(plan);
            }
            self.pop_ready();
            self.settle(ix);
        }
    }

    #[inline]
    fn envelope(&self, plan: &Plan) -> Option<Envelope> {
        let peer = self.p.peers.get(plan.at.at())?;
        let link = self.p.links.get(plan.link.at())?;
        // RFC 9000 §13.4: an address that has not answered gets nothing marked. Nor does a packet leave marked that asks for
        // no answer: on a path that drops marks its sender would never learn of it.
        let marks = peer.session.ecn && peer.path_validated && plan.what.asks(&self.control.said);
        let heard = link.recovery.unanswered < PROBES_BEFORE_UNMARKED;
        let ecn = if marks && heard { link.marks.next() } else { Ecn::NotEct };
        Some(Envelope { peer: plan.at, path: peer.path, len: plan.len, ecn, segment: link.path.datagram })
    }

    #[inline(never)]
    fn plan(&mut self, ix: LinkIx) -> Option<Plan> {
        let link = self.p.links.get(ix.at())?;
        let (at, skips) = (link.peer, link.recovery.skips_next);
        if self.exchange_at(ix) <= self.now {
            let len = u16::try_from(self.hello(ix)?.packet_len()).ok()?;
            return Some(Plan { link: ix, at, len, what: What::Hello });
        }
        let peer = self.p.peers.get(at.at())?;
        if !peer.has_session() {
            return None;
        }
        let next = peer.session.tx_next;
        let (sealed, len) = self.plan_sealed(ix, next.saturating_add(u64::from(skips == next)))?;
        Some(Plan { link: ix, at, len, what: What::Sealed(sealed) })
    }

    fn plan_sealed(&mut self, ix: LinkIx, tx_next: u64) -> Option<(Sealed, u16)> {
        let header = self.header(ix, tx_next)?;
        let link = self.p.links.get(ix.at())?;
        // An address that has not answered gets what its budget allows.
        let budget = usize::try_from(link.path.budget).unwrap_or(usize::MAX);
        let datagram = usize::from(link.datagram()).min(budget);
        let room = datagram.checked_sub(header.len)?.checked_sub(TAG_LEN)?;
        let (due, parked) = (link.recovery.probe_due > 0, link.recovery.parked);
        // Without a free slot nothing leaves that asks for an ACK; a probe timeout makes room then. The last one is kept for
        // what was lost, and for PING.
        // Nothing leaves that asks for an ACK while the other end is silent, either: a gateway waits without a link then.
        let free = if parked { None } else { self.free_number(ix, tx_next) };
        let spare = link.flight.slots.saturating_add(1) < self.st.config.in_flight;
        let probe = due && free.is_some();
        let may_send = probe || free.is_some_and(|n| self.may_send(ix, n, datagram));
        let link = self.p.links.get(ix.at())?;
        let has_data = may_send && (!link.flight.lost.is_empty() || link.outbound.front != OutIx::NONE);
        if link.mtu.wanted(link.path.datagram)
            && has_data
            && !probe
            && spare
            && let Some(room) = self.size_probe(ix, header.len)
        {
            return self.plan_size_probe(header, free?, room);
        }
        let look = Look { st: self.st, p: &self.p, now: self.now };
        look.compose(ix, room, has_data, free.is_some(), self.control);
        let mut chunk = None;
        if has_data {
            chunk = look.plan_repeat(ix, room, spare, self.control);
            if chunk.is_none() && spare {
                chunk = self.plan_new(ix, room);
            }
            if chunk.is_none() {
                self.not_held_back(ix);
                // What only goes along has no company after all.
                let look = Look { st: self.st, p: &self.p, now: self.now };
                look.compose(ix, room, false, free.is_some(), self.control);
            }
        }
        if may_send && !has_data {
            self.not_held_back(ix);
        }
        if probe && chunk.is_none() && !self.control.said.elicits {
            self.control.add(CONTROL_MAX, |w| crate::wire::Frame::Ping.write(w));
            self.control.said.elicits = true;
        }
        let chunk_len = chunk.filter(|c| c.cut.len > 0).map_or(0, |c| {
            let wire = self.p.outbound.get(c.stream.at()).map_or(0, |s| s.wire);
            c.frame(wire).head_len(c.cut.len as usize).saturating_add(c.cut.len as usize)
        });
        let used = self.control.len().saturating_add(chunk_len);
        if used == 0 {
            return None;
        }
        let full = chunk.is_some_and(|c| c.cut.stop == Stop::Packet && c.repeats.is_none());
        let padding = if full { room.saturating_sub(used) } else { 0 };
        let len = header.len.saturating_add(used).saturating_add(padding).saturating_add(TAG_LEN);
        let number = match chunk.is_some() || self.control.said.elicits {
            true => free?,
            false => tx_next,
        };
        // A skipped number may need a longer header only beyond the reach of the shortest: then the next plan has it.
        let short = header.short.map(|h| DataHeader { truncated: number as u32, ..h });
        let sealed = Sealed {
            number,
            short,
            header_len: header.len,
            chunk,
            padding,
            probe: probe && chunk.is_some(),
            size: false,
        };
        Some((sealed, u16::try_from(len).ok()?))
    }

    /// PING and PADDING: whether a datagram of this size passes (RFC 8899 §4.1).
    fn plan_size_probe(&mut self, header: Header, number: u64, room: usize) -> Option<(Sealed, u16)> {
        self.control.clear();
        self.control.add(CONTROL_MAX, |w| crate::wire::Frame::Ping.write(w));
        self.control.said.elicits = true;
        let short = header.short.map(|h| DataHeader { truncated: number as u32, ..h });
        let padding = room.saturating_sub(self.control.len());
        let len = header.len.saturating_add(room).saturating_add(TAG_LEN);
        let sealed = Sealed { number, short, header_len: header.len, chunk: None, padding, probe: true, size: true };
        Some((sealed, u16::try_from(len).ok()?))
    }

    fn header(&self, ix: LinkIx, tx_next: u64) -> Option<Header> {
        let link = self.p.links.get(ix.at())?;
        let peer = self.p.peers.get(link.peer.at())?;
        if tx_next >= peer.session.packet_limit(&self.st.config) {
            return None;
        }
        if link.long.is_some() && peer.end == Some(End::Device) {
            let (hello, _) = self.long_hello(ix)?;
            return Some(Header { short: None, len: hello.core_len().saturating_add(24) });
        }
        let short = link.short_header(&peer.session, tx_next);
        Some(Header { len: short.len(), short: Some(short) })
    }

    /// Congestion window, pacing, the other end's window of numbers and its room: may data leave?
    fn may_send(&mut self, ix: LinkIx, number: u64, datagram: usize) -> bool {
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
            link.cc.held_back(true, self.now);
            return false;
        }
        if !link.pacer.ready(datagram as u64) {
            let rate = link.rate(&self.st.config);
            link.pacer.refill(self.now, &rate, link.path.datagram);
            if !link.pacer.ready(datagram as u64) {
                link.cc.held_back(true, self.now);
                return false;
            }
        }
        within_reach(link, &peer.session, of_link(self.p.sent, ix, self.st.config.in_flight as usize), number)
    }

    /// There is nothing to send, or the other end has no room for it: the window is not to blame.
    fn not_held_back(&mut self, ix: LinkIx) {
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            link.cc.held_back(false, self.now);
        }
    }

    fn taken(table: &[Sent], number: u64) -> bool {
        table.get(Flight::slot(table, number).0 as usize).is_none_or(Sent::outstanding)
    }

    /// The first number from `from` on whose slot is free and that is not skipped; `from` is not.
    pub(super) fn free_number(&self, ix: LinkIx, from: u64) -> Option<u64> {
        let each = self.st.config.in_flight as usize;
        let start = ix.at().saturating_mul(each);
        let table = self.p.sent.get(start..start.saturating_add(each)).unwrap_or(&[]);
        if !Self::taken(table, from) {
            return Some(from);
        }
        let skips = self.p.links.get(ix.at())?.recovery.skips_next;
        (from..from.saturating_add(each as u64)).find(|n| !Self::taken(table, *n) && skips != *n)
    }
}

impl<K> Link<K> {
    /// The header of DATA with this number.
    #[inline]
    pub(super) fn short_header(&self, session: &Session, number: u64) -> DataHeader {
        let span = number.saturating_sub(self.recovery.oldest_unacked).saturating_add(1);
        DataHeader { label: session.theirs, truncated: number as u32, number_len: number::truncated_len(span) }
    }
}

/// True when the other end can still tell about the oldest packet that is out, after one with this number.
#[inline]
pub(super) fn within_reach<K>(link: &Link<K>, session: &Session, table: &[Sent], number: u64) -> bool {
    match link.flight.out.front.some().and_then(|f| table.get(f.0 as usize)) {
        Some(oldest) => (number as u32).wrapping_sub(oldest.number) <= session.limits.ack_window >> 1,
        None => true,
    }
}

struct Header {
    short: Option<DataHeader>,
    len: usize,
}
