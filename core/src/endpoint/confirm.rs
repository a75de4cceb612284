//! What the receiver says of what it has: STORED, CREDIT, BUSY and its end; and the questions about them
//! (wire-format §7.3).

use super::Cx;
use crate::crypto::Crypto;
use crate::deliver::{Deliver, Refusal};
use crate::ids::{Epoch, InIx, LinkIx, PeerIx};

impl<C: Crypto> Cx<'_, C> {
    pub(super) fn stored(&mut self, stream: InIx, epoch: Epoch, below: u64) {
        let Some(s) = self.p.inbound.get_mut(stream.at()) else {
            return;
        };
        if s.peer == PeerIx::NONE || s.epoch != epoch || below <= s.stored_below {
            return;
        }
        debug_assert!(below <= s.next.number);
        s.stored_below = below;
        s.say_stored = true;
        let at = s.peer;
        let Some(ix) = self.acquire(at) else {
            return self.wait_for_link(stream);
        };
        self.grow_credit(ix, at);
        self.say_of(ix, stream);
    }

    /// The window doubles when over a quarter of it was used between two STOREDs, or within two round trips: on a long path with
    /// a fast disk each STORED covers little. So it stays ahead of a congestion window that doubles, too, while the news of it is
    /// on its way. It becomes four times as large when all of it was used, near enough: on a short path the sender waited for the
    /// disk, and would as often again as the window has to double.
    fn grow_credit(&mut self, ix: LinkIx, at: PeerIx) {
        let max = self.st.config.max_credit;
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        let Some(peer) = self.p.peers.get_mut(at.at()) else {
            return;
        };
        let granted = &mut peer.session.granted;
        let much = *granted >> 2;
        let i = &mut link.inbound;
        let since_stored = core::mem::take(&mut i.since_stored);
        let (used, used_up) = (since_stored > much, since_stored > granted.saturating_sub(much));
        let late = self.now.since(i.recent_from) > link.rtt.smoothed().times(2);
        let used_recently = i.recent > much;
        if used_recently || late {
            (i.recent, i.recent_from) = (0, self.now);
        }
        if (used || (used_recently && !late)) && *granted < max {
            *granted = granted.saturating_mul(if used_up { 4 } else { 2 }).min(max);
            link.say.credit = true;
        }
    }

    /// The driver's queue has room: what is held goes on, and those who heard BUSY hear CREDIT.
    pub(super) fn room(&mut self, to: &mut dyn Deliver) {
        for ix in 0..self.p.links.len() as u32 {
            let ix = LinkIx(ix);
            let Some(link) = self.p.links.get_mut(ix.at()).filter(|l| l.inbound.was_busy) else {
                continue;
            };
            link.inbound.was_busy = false;
            link.say.credit = true;
            link.say.busy = false;
            let at = link.peer;
            if let Err(why) = self.release_all(ix, at, to) {
                self.fault(at, why);
            }
            self.wake(ix);
        }
    }

    pub(super) fn on_query_stored(&mut self, ix: LinkIx, at: PeerIx, wire: u32) {
        if let Some(stream) = self.inbound_by_wire(ix, at, wire) {
            if let Some(s) = self.p.inbound.get_mut(stream.at()) {
                s.say_stored = true;
            }
            self.say_of(ix, stream);
        } else if !self.repeat_refused(ix, wire) {
            // Its REFUSED was lost, and is forgotten by now: the sender would wait for ever.
            self.refuse(ix, wire, Refusal::Storage);
        }
        self.wake(ix);
    }

    /// A sender needs a larger window: one record of the largest size it gets always.
    pub(super) fn on_query_credit(&mut self, ix: LinkIx, at: PeerIx, wanted: u64) {
        let max = self.st.config.max_credit;
        let Some(peer) = self.p.peers.get_mut(at.at()) else {
            return;
        };
        peer.session.granted = peer.session.granted.max(wanted.min(max));
        if let Some(link) = self.p.links.get_mut(ix.at())
            && !link.inbound.was_busy
        {
            link.say.credit = true;
        }
        self.wake(ix);
    }
}
