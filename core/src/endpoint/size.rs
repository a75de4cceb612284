//! How large the datagrams of a link are: the search for more, and the way back (wire-format §8.7).

use super::Cx;
use super::timeout::PROBES_BEFORE_SMALL;
use crate::crypto::{Crypto, TAG_LEN};
use crate::ids::{LinkIx, PeerIx};
use crate::link::Link;
use crate::recovery::mtu::{BASE_DATAGRAM, Mtu};
use crate::recovery::sent::{Carried, Sent};
use crate::time::Instant;

impl<K> Link<K> {
    /// The largest datagram that leaves now. What is not answered is tried with what every path carries.
    pub(super) fn datagram(&self) -> u16 {
        let most = if self.mtu.suspected() { 1 } else { PROBES_BEFORE_SMALL };
        if self.recovery.unanswered < most {
            return self.path.datagram;
        }
        self.path.datagram.min(BASE_DATAGRAM)
    }

    /// A packet is lost, and says something of the path's size.
    pub(super) fn size_lost(&mut self, sent: &Sent, now: Instant) {
        if sent.carried.has(Carried::SIZE) {
            self.mtu.probe_lost(sent.size, self.path.datagram, now);
        } else {
            self.mtu.lost(sent.size, sent.sent_at);
        }
    }
}

impl<C: Crypto> Cx<'_, C> {
    /// A session begins: its link may send datagrams of `first` bytes, and look for more up to both ends' limits.
    pub(super) fn begin_size(&mut self, ix: LinkIx, at: PeerIx) {
        let Some(limits) = self.p.peers.get(at.at()).map(|p| p.session.limits) else {
            return;
        };
        let most = self.st.config.max_datagram.min(limits.max_datagram);
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            link.path.datagram = self.st.config.initial_datagram.min(most);
            link.cc.set_datagram(link.path.datagram);
            link.mtu = Mtu::new(most);
        }
    }

    /// The size of the probe that is to leave now, in place of data.
    pub(super) fn size_probe(&self, ix: LinkIx, header_len: usize) -> Option<usize> {
        let link = self.p.links.get(ix.at())?;
        let validated = self.p.peers.get(link.peer.at())?.path_validated;
        if !validated || link.long.is_some() || link.recovery.unanswered > 0 {
            return None;
        }
        let size = usize::from(link.mtu.probe(link.path.datagram, self.now)?);
        size.checked_sub(header_len)?.checked_sub(TAG_LEN)
    }

    /// A probe of the path's size arrived at the other end.
    pub(super) fn size_arrived(&mut self, ix: LinkIx, sent: &Sent) {
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        if link.mtu.probe_arrived(sent.size, link.path.datagram, self.now) {
            link.path.datagram = sent.size;
            link.cc.set_datagram(sent.size);
        }
    }

    /// Large datagrams vanish on this path: from now on they are small.
    pub(super) fn black_hole(&mut self, ix: LinkIx) {
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            link.path.datagram = link.path.datagram.min(BASE_DATAGRAM);
            link.cc.set_datagram(link.path.datagram);
            link.mtu.fell_back(false, self.now);
            self.st.totals.paths_shrunk = self.st.totals.paths_shrunk.saturating_add(1);
        }
    }

    /// The system would not send a datagram for its size (F02).
    pub(super) fn size_refused(&mut self, ix: LinkIx) {
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        if !link.mtu.probe_refused(link.path.datagram, self.now) && link.path.datagram > BASE_DATAGRAM {
            self.black_hole(ix);
        }
    }
}
