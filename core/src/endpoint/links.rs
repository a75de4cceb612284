//! Peers and their links: a link is taken when something becomes outstanding and given back when nothing is.

use super::Cx;
use super::inbound::CHUNK_COST;
use crate::crypto::{self, Crypto, Label as KeyLabel};
use crate::discard::Fault;
use crate::error::Error;
use crate::ids::{InIx, LinkIx, OutIx, PeerIx};
use crate::link::Link;
use crate::path::Path;
use crate::peer::{End, Peer, Provision, Session};
use crate::recovery::mtu::Mtu;
use crate::recovery::sent::{Flight, Sent};
use crate::storage::of_link;
use crate::stream::OutStream;
use crate::time::Instant;
use crate::window::Window;

/// So many links that seem to be in use are passed by in the search for one that is not.
const SPARES_PASSED_BY: u32 = 16;
/// More than 64 packets, of which the compact session knows which arrived, may be no more than so many bytes of chunks.
const MUCH: u64 = 64 * CHUNK_COST;

impl<C: Crypto> Cx<'_, C> {
    pub(super) fn add_peer(&mut self, at: PeerIx, provision: Provision) -> Result<(), Error> {
        provision.check().map_err(|_| Error::Empty)?;
        let end = provision.end;
        let peer = self.p.peers.get_mut(at.at()).ok_or(Error::NoSuchIndex)?;
        if peer.in_use() {
            return Err(Error::Taken);
        }
        match end {
            End::Device => self.st.gateways.push(at).map_err(|_| Error::TooManyStreams)?,
            End::Gateway => self.st.devices = self.st.devices.saturating_add(1),
        }
        *peer = Peer {
            id: provision.id,
            keys: provision.keys,
            end: Some(end),
            // Whatever went live under this id before is over.
            last_live: self.st.counter,
            ..Peer::default()
        };
        Ok(())
    }

    pub(super) fn remove_peer(&mut self, at: PeerIx) {
        self.end_session(at, Fault::Local);
        let Some(peer) = self.p.peers.get_mut(at.at()) else {
            return;
        };
        let (link, mut out, listed) = (peer.link, peer.first_out, peer.news.listed);
        match peer.end {
            None => return,
            Some(End::Device) => self.st.gateways.retain(|g| *g != at),
            Some(End::Gateway) => self.st.devices = self.st.devices.saturating_sub(1),
        }
        let next_dirty = peer.next_dirty;
        *peer = Peer { next_dirty, ..Peer::default() };
        peer.news.listed = listed;
        while let Some(stream) = out.some().and_then(|o| self.p.outbound.get_mut(o.at())) {
            out = stream.next_of_peer;
            let (listed, next_dirty) = (stream.news.listed, stream.next_dirty);
            *stream = OutStream { next_dirty, ..OutStream::default() };
            stream.news.listed = listed;
        }
        if link.some().is_some() {
            self.free_link(link);
        }
    }

    pub(super) fn set_keys(&mut self, at: PeerIx, provision: Provision) -> Result<(), Error> {
        provision.check().map_err(|_| Error::Empty)?;
        let peer = self.p.peers.get_mut(at.at()).filter(|p| p.in_use()).ok_or(Error::Empty)?;
        let lost = peer.keys.iter().flatten().any(|(id, _)| !provision.keys.iter().flatten().any(|(k, _)| k == id));
        peer.keys = provision.keys;
        if lost {
            self.end_session(at, Fault::Local);
        }
        Ok(())
    }

    pub(super) fn connect(&mut self, at: PeerIx, path: Path) -> Result<(), Error> {
        let peer = self.p.peers.get_mut(at.at()).filter(|p| p.in_use()).ok_or(Error::Empty)?;
        if peer.end != Some(End::Device) {
            return Err(Error::NotDevice);
        }
        let changed = !peer.path.same(&path);
        peer.path = path;
        peer.path_validated = true;
        if let Some(ix) = self.acquire(at) {
            if changed && let Some(link) = self.p.links.get_mut(ix.at()) {
                // What the old address was asked has backed off.
                link.exchange = None;
            }
            if changed || !self.p.peers.get(at.at()).is_some_and(Peer::has_session) {
                self.start_exchange(ix);
            }
            self.wake(ix);
        }
        Ok(())
    }

    pub(super) fn end_sessions(&mut self) {
        for at in 0..self.p.peers.len() as u32 {
            if self.p.peers.get(at as usize).is_some_and(Peer::has_session) {
                self.end_session(PeerIx(at), Fault::Local);
            }
        }
    }

    /// Ends a peer's session. A device end asks for a new one as soon as there is something to send.
    pub(super) fn end_session(&mut self, at: PeerIx, why: Fault) {
        let Some(peer) = self.p.peers.get_mut(at.at()) else {
            return;
        };
        if !peer.has_session() {
            return;
        }
        peer.session = Session::none();
        let (ix, device) = (peer.link, peer.end == Some(End::Device));
        self.st.counters.count_fault(why);
        self.tell_peer(at, |news| news.ended = Some(why));
        self.forget_session(at);
        let Some(ix) = ix.some() else { return };
        if device {
            self.reset_link(ix);
            self.requeue_streams(ix);
            self.wake(ix);
        } else {
            self.free_link(ix);
        }
    }

    /// Forgets what the streams of a peer know of a session that is over.
    pub(super) fn forget_session(&mut self, at: PeerIx) {
        let Some(peer) = self.p.peers.get_mut(at.at()) else {
            return;
        };
        let mut inbound = core::mem::replace(&mut peer.first_in, InIx::NONE);
        let mut out = peer.first_out;
        while let Some(ix) = inbound.some() {
            self.drop_held(ix);
            let Some(stream) = self.p.inbound.get_mut(ix.at()) else {
                break;
            };
            inbound = stream.next_of_peer;
            stream.clear();
        }
        while let Some(stream) = out.some().and_then(|o| self.p.outbound.get_mut(o.at())) {
            out = stream.next_of_peer;
            stream.rewind();
        }
    }

    /// The peer's link; takes a free one when it has none.
    pub(super) fn acquire(&mut self, at: PeerIx) -> Option<LinkIx> {
        let peer = self.p.peers.get(at.at())?;
        if let Some(ix) = peer.link.some() {
            return Some(ix);
        }
        if !self.link_available() {
            return None;
        }
        let peer = self.p.peers.get(at.at())?;
        let ix = self.st.free_links.some()?;
        let words = of_link(self.p.windows, ix, self.st.config.window_words());
        let datagram = self.st.config.initial_datagram;
        let link = self.p.links.get_mut(ix.at())?;
        self.st.free_links = link.next;
        // It may still be listed as the spare link of the peer that had it.
        let (spare, next_spare) = (link.spare, link.next_spare);
        let fresh = Link::new(at, self.now, self.st.config.congestion, datagram, peer.rtt());
        *link = Link { spare, next_spare, ..fresh };
        if peer.session.lives() {
            (link.tx, link.rx) = expand(self.crypto, peer.end, &peer.session);
            link.window = Window::restore(peer.session.rx_next, peer.session.rx_bits, words);
            link.recovery.oldest_unacked = peer.session.tx_next;
            let most = self.st.config.max_datagram.min(peer.session.limits.max_datagram);
            // What the last link of the session found out.
            link.path.datagram = if peer.datagram > 0 { peer.datagram } else { datagram }.min(most);
            link.cc.set_datagram(link.path.datagram);
            link.mtu = Mtu::new(most);
            if !peer.path_validated {
                // It gets what its packets allow, as before, and something to answer.
                (link.path.budget, link.say.ping) = (0, true);
            }
            // BUSY was said for want of a link, and here is one.
            link.say.credit = peer.session.was_busy;
        } else {
            words.fill(0);
        }
        let mut each = peer.first_out;
        while let Some(s) = each.some().and_then(|o| self.p.outbound.get(o.at())) {
            link.outbound.used = link.outbound.used.saturating_add(u64::from(s.sent));
            link.outbound.begun_rest = link.outbound.begun_rest.saturating_add(u64::from(s.rest));
            each = s.next_of_peer;
        }
        let peer = self.p.peers.get_mut(at.at())?;
        (peer.link, peer.session.was_busy) = (ix, false);
        // What was pushed or stored while no link was free waits for this.
        self.requeue_streams(ix);
        let mut inbound = self.p.peers.get(at.at())?.first_in;
        while let Some(s) = inbound.some().and_then(|s| self.p.inbound.get(s.at())) {
            let (stream, says) = (inbound, s.say_opened || s.say_stored);
            inbound = s.next_of_peer;
            if says {
                self.say_of(ix, stream);
            }
        }
        // Whoever took it may find nothing to say after all: it is looked at once, and spare again then.
        self.wake(ix);
        Some(ix)
    }

    /// Puts a link back to where a session begins, keeping what it knows of the path.
    pub(super) fn reset_link(&mut self, ix: LinkIx) {
        let table = of_link(self.p.sent, ix, self.st.config.in_flight as usize);
        table.fill(Sent::default());
        of_link(self.p.windows, ix, self.st.config.window_words()).fill(0);
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        let (law, datagram) = (self.st.config.congestion, self.st.config.initial_datagram);
        let fresh = Link::new(link.peer, self.now, law, datagram, link.rtt.memory());
        let old = core::mem::replace(link, fresh);
        link.next = old.next;
        link.ready = old.ready;
        (link.spare, link.next_spare) = (old.spare, old.next_spare);
        link.turn = old.turn;
        link.deadline = old.deadline;
        link.heap_at = old.heap_at;
        link.exchange = old.exchange;
        link.marks = old.marks.anew();
        link.flight = Flight::default();
    }

    /// Gives a link back. What the session needs is kept with the peer.
    pub(super) fn free_link(&mut self, ix: LinkIx) {
        self.set_deadline(ix, Instant::NEVER);
        self.unlist(ix);
        while let Some(stream) = self.p.links.get(ix.at()).and_then(|l| l.outbound.front.some()) {
            self.unqueue(ix, stream);
        }
        let words = of_link(self.p.windows, ix, self.st.config.window_words());
        let Some(link) = self.p.links.get_mut(ix.at()) else { return };
        if let Some(peer) = self.p.peers.get_mut(link.peer.at()) {
            peer.session.rx_next = link.window.next();
            peer.session.rx_bits = link.window.newest(words);
            peer.rtt_us = u32::try_from(link.rtt.memory().as_micros()).unwrap_or(u32::MAX);
            peer.datagram = link.path.datagram;
            peer.link = LinkIx::NONE;
        }
        if !link.flight.is_empty() || link.flight.remembers {
            of_link(self.p.sent, ix, self.st.config.in_flight as usize).fill(Sent::default());
        }
        let (spare, next_spare) = (link.spare, link.next_spare);
        *link = Link { spare, next_spare, ..Link::default() };
        link.next = core::mem::replace(&mut self.st.free_links, ix);
    }

    /// True when a link is free, or one could be made free: an idle one, or else one that waits only to hear that what it
    /// confirmed has arrived.
    pub(super) fn link_available(&mut self) -> bool {
        let (mut passed_by, mut confirms) = (0u32, LinkIx::NONE);
        while self.st.free_links == LinkIx::NONE && passed_by < SPARES_PASSED_BY {
            let Some(ix) = self.st.spare_front.some() else { break };
            let Some(link) = self.p.links.get_mut(ix.at()) else { return false };
            link.spare = false;
            self.st.spare_front = core::mem::take(&mut link.next_spare);
            if self.st.spare_front == LinkIx::NONE {
                self.st.spare_back = LinkIx::NONE;
            }
            let idle = self.is_idle(ix);
            if !idle && !self.only_confirms(ix) {
                continue;
            }
            let in_use = self.is_in_use(ix);
            if idle && !in_use {
                self.free_link(ix);
                continue;
            }
            if !in_use && confirms == LinkIx::NONE {
                confirms = ix;
            }
            self.list_spare(ix);
            passed_by = passed_by.saturating_add(1);
        }
        if self.st.free_links == LinkIx::NONE && confirms != LinkIx::NONE {
            self.free_link(confirms);
        }
        self.st.free_links != LinkIx::NONE
    }

    /// True when an idle link's peer waits for STORED, was heard just now, and has sent more than what is kept of its window
    /// without the link: it is likely to be in the middle of something, and would lose by it.
    fn is_in_use(&self, ix: LinkIx) -> bool {
        let link = self.p.links.get(ix.at()).filter(|l| l.inbound.recent >= MUCH);
        let peer = link.and_then(|l| self.p.peers.get(l.peer.at()));
        let Some(peer) = peer.filter(|p| self.now.since(p.heard) < self.st.config.max_ack_delay) else { return false };
        let mut inbound = peer.first_in;
        while let Some(stream) = inbound.some().and_then(|s| self.p.inbound.get(s.at())) {
            if stream.stored_below < stream.next.number {
                return true;
            }
            inbound = stream.next_of_peer;
        }
        false
    }

    /// Lists an idle link. It stays its peer's until another peer needs one: waking up costs it nothing then.
    fn list_spare(&mut self, ix: LinkIx) {
        let Some(link) = self.p.links.get_mut(ix.at()).filter(|l| !l.spare) else { return };
        (link.spare, link.next_spare) = (true, LinkIx::NONE);
        match self.st.spare_back.some().and_then(|b| self.p.links.get_mut(b.at())) {
            Some(back) => back.next_spare = ix,
            None => self.st.spare_front = ix,
        }
        self.st.spare_back = ix;
    }

    /// True when nothing of this link has to be kept apart from the compact session.
    fn is_idle(&self, ix: LinkIx) -> bool {
        self.p.links.get(ix.at()).is_some_and(|link| link.flight.is_empty()) && self.is_quiet(ix)
    }

    /// True when all that this link waits for is the ACK of what a gateway end confirmed. Confirmations are cumulative, and who
    /// misses one asks (wire-format §7.3): another peer may need the link more.
    fn only_confirms(&self, ix: LinkIx) -> bool {
        let Some(link) = self.p.links.get(ix.at()).filter(|l| !l.ready) else { return false };
        // A label is said with everything until it is used, and a new path is asked about with the next link.
        let peer = self.p.peers.get(link.peer.at());
        peer.is_some_and(|p| p.end == Some(End::Gateway) && p.session.lives()) && self.is_quiet(ix)
    }

    /// As [`Self::is_idle`], whatever is in flight.
    fn is_quiet(&self, ix: LinkIx) -> bool {
        let Some(link) = self.p.links.get(ix.at()) else {
            return false;
        };
        let Some(peer) = self.p.peers.get(link.peer.at()) else {
            return false;
        };
        let (o, i) = (&link.outbound, &link.inbound);
        // A gateway end that waits for a silent device waits without a link: everything is as if it had not been sent.
        let dormant = peer.end == Some(End::Gateway) && (link.recovery.parked || !peer.session.lives());
        let quiet = link.ack.asked == 0
            && link.exchange.is_none()
            && link.long.is_none()
            && link.path.fallback.is_none()
            && (dormant || (o.used == 0 && o.front == OutIx::NONE))
            && i.held == 0
            && i.dirty == InIx::NONE
            && !i.was_busy
            && !i.held_full;
        if !quiet {
            return false;
        }
        let mut inbound = peer.first_in;
        while let Some(stream) = inbound.some().and_then(|s| self.p.inbound.get(s.at())) {
            // What waits for the disk only needs no link: STORED takes one again.
            if stream.next.offset != 0 {
                return false;
            }
            inbound = stream.next_of_peer;
        }
        let mut out = peer.first_out;
        while let Some(stream) = out.some().and_then(|s| self.p.outbound.get(s.at())) {
            if !dormant && (stream.used > 0 || stream.skip.is_some()) {
                return false;
            }
            out = stream.next_of_peer;
        }
        self.st.config.poll.is_none() || peer.end == Some(End::Gateway)
    }

    /// A link has nothing to send now: its timer is set, or it is spare.
    pub(super) fn settle(&mut self, ix: LinkIx) {
        self.unqueue_spent(ix);
        if self.is_idle(ix) {
            self.list_spare(ix);
            self.set_deadline(ix, Instant::NEVER);
        } else {
            self.set_query_timer(ix);
            let at = self.deadline(ix);
            self.set_deadline(ix, at);
            if self.only_confirms(ix) {
                self.list_spare(ix);
            }
        }
    }

    /// Lists a link among those with something to send.
    pub(super) fn wake(&mut self, ix: LinkIx) {
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        if link.ready || link.peer == PeerIx::NONE {
            return;
        }
        link.ready = true;
        self.st.ready = self.st.ready.saturating_add(1);
        link.turn = self.st.config.turn;
        self.push_ready(ix);
    }

    fn push_ready(&mut self, ix: LinkIx) {
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            link.next = LinkIx::NONE;
        }
        match self.st.ready_back.some().and_then(|b| self.p.links.get_mut(b.at())) {
            Some(back) => back.next = ix,
            None => self.st.ready_front = ix,
        }
        self.st.ready_back = ix;
    }

    /// Takes the front link off the list.
    pub(super) fn pop_ready(&mut self) {
        let Some(link) = self.st.ready_front.some().and_then(|f| self.p.links.get_mut(f.at())) else {
            return;
        };
        link.ready = false;
        self.st.ready = self.st.ready.saturating_sub(1);
        self.st.ready_front = core::mem::take(&mut link.next);
        if self.st.ready_front == LinkIx::NONE {
            self.st.ready_back = LinkIx::NONE;
        }
    }

    /// The front link has had its turn.
    pub(super) fn rotate_ready(&mut self) {
        let ix = self.st.ready_front;
        self.pop_ready();
        self.wake(ix);
    }

    /// Takes a link off the list, wherever it stands.
    fn unlist(&mut self, ix: LinkIx) {
        if !self.p.links.get(ix.at()).is_some_and(|l| l.ready) {
            return;
        }
        if self.st.ready_front == ix {
            return self.pop_ready();
        }
        let mut before = self.st.ready_front;
        while let Some(at) = before.some() {
            let Some(next) = self.p.links.get(at.at()).map(|l| l.next) else {
                return;
            };
            if next == ix {
                let after = self.p.links.get(ix.at()).map_or(LinkIx::NONE, |l| l.next);
                if let Some(link) = self.p.links.get_mut(at.at()) {
                    link.next = after;
                }
                if self.st.ready_back == ix {
                    self.st.ready_back = at;
                }
                self.st.ready = self.st.ready.saturating_sub(1);
                return;
            }
            before = next;
        }
    }
}

/// Expands the keys of both directions: (to send with, to receive with).
pub(super) fn expand<C: Crypto>(crypto: &C, end: Option<End>, session: &Session) -> (Option<C::Key>, Option<C::Key>) {
    let (mut tx, mut rx) = (None, None);
    if let Some(suite) = session.suite {
        let (ours, theirs) = match end {
            Some(End::Device) => (KeyLabel::DeviceToGateway, KeyLabel::GatewayToDevice),
            _ => (KeyLabel::GatewayToDevice, KeyLabel::DeviceToGateway),
        };
        crypto.expand(suite, &crypto::derive_secret(&session.key, ours, &[]), &mut tx);
        crypto.expand(suite, &crypto::derive_secret(&session.key, theirs, &[]), &mut rx);
    }
    (tx, rx)
}
