//! Where the other end is: it may move, but only with a fresh authentic packet, and the new address must answer
//! (wire-format §8.6).

use super::Cx;
use crate::crypto::Crypto;
use crate::ids::{LinkIx, PeerIx};
use crate::path::Path;
use crate::peer::End;
use crate::recovery::mtu::BASE_DATAGRAM;
use crate::time::Instant;

/// With less than this left, nothing is sent to an address that has not answered.
pub(super) const LEAST_BUDGET: u64 = 64;
/// An address that has not answered gets at most this many times the bytes that came from it.
const AMPLIFICATION: u64 = 3;

impl<C: Crypto> Cx<'_, C> {
    /// The first address of a session: it gets little until it answers.
    pub(super) fn set_first_path(&mut self, at: PeerIx, path: &Path) {
        let Some(peer) = self.p.peers.get_mut(at.at()) else {
            return;
        };
        peer.path = *path;
        peer.path_validated = false;
        let Some(link) = self.p.links.get_mut(peer.link.at()) else {
            return;
        };
        link.path.budget = 0;
        link.path.since = 0;
        // Something must be answered from there; what is sent anyway may do.
        link.say.ping = true;
    }

    /// An authentic packet of `size` bytes came over `path`.
    pub(super) fn roam(&mut self, ix: LinkIx, at: PeerIx, number: u64, path: &Path, size: usize) {
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        let Some(peer) = self.p.peers.get_mut(at.at()) else {
            return;
        };
        if !path.same(&peer.path) {
            // Only the device moves, and only its newest packet tells where to.
            if peer.end != Some(End::Gateway) || number < link.window.next() {
                return;
            }
            let known_good = if peer.path_validated { Some(peer.path) } else { link.path.fallback };
            let back = known_good.is_some_and(|good| good.same(path));
            link.path.fallback = if back { None } else { known_good };
            link.path.fallback_at = if link.path.fallback.is_some() {
                self.now + link.rtt.probe_timeout().times(3)
            } else {
                Instant::NEVER
            };
            peer.path = *path;
            peer.path_validated = back;
            link.path.budget = if back { u64::MAX } else { 0 };
            link.path.since = peer.session.tx_next;
            link.path.datagram = link.path.datagram.min(BASE_DATAGRAM);
            link.mtu.fell_back(true, self.now);
            link.marks.other_path();
            link.say.ping = true;
        }
        if !peer.path_validated && peer.end == Some(End::Gateway) {
            link.path.budget = link.path.budget.saturating_add((size as u64).saturating_mul(AMPLIFICATION));
            self.wake(ix);
        }
    }

    /// A packet was acknowledged: if it was sent to the new address, that address is real.
    pub(super) fn validated(&mut self, ix: LinkIx, at: PeerIx, number: u64) {
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        let Some(peer) = self.p.peers.get_mut(at.at()) else {
            return;
        };
        if peer.path_validated || number < link.path.since {
            return;
        }
        peer.path_validated = true;
        link.path.budget = u64::MAX;
        link.path.fallback_at = Instant::NEVER;
        if link.path.fallback.take().is_some() {
            self.tell_peer(at, |news| news.moved = true);
        }
        self.wake(ix);
    }

    /// The new address did not answer in time: back to the one that did.
    pub(super) fn fall_back(&mut self, ix: LinkIx) {
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        let Some(peer) = self.p.peers.get_mut(link.peer.at()) else {
            return;
        };
        link.path.fallback_at = Instant::NEVER;
        if let Some(path) = link.path.fallback.take() {
            link.mtu.fell_back(true, self.now);
            link.marks.other_path();
            peer.path = path;
            peer.path_validated = true;
            link.path.budget = u64::MAX;
        }
        self.wake(ix);
    }
}
