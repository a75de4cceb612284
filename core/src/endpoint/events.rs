//! Events: two lists of what has news, one of peers, one of streams. An entry stands in its list once.

use super::Cx;
use crate::crypto::Crypto;
use crate::event::Event;
use crate::ids::{OutIx, PeerIx};
use crate::peer::{News, SetUp};
use crate::stream::OutNews;

impl<C: Crypto> Cx<'_, C> {
    /// Notes something about a peer.
    pub(super) fn tell_peer(&mut self, ix: PeerIx, note: impl FnOnce(&mut News)) {
        let Some(peer) = self.p.peers.get_mut(ix.at()) else {
            return;
        };
        note(&mut peer.news);
        if !peer.news.listed {
            peer.news.listed = true;
            peer.next_dirty = core::mem::replace(&mut self.st.dirty_peers, ix);
        }
    }

    /// Notes something about a stream that is sent.
    pub(super) fn tell_out(&mut self, ix: OutIx, note: impl FnOnce(&mut OutNews)) {
        let Some(stream) = self.p.outbound.get_mut(ix.at()) else {
            return;
        };
        note(&mut stream.news);
        if !stream.news.listed {
            stream.news.listed = true;
            stream.next_dirty = core::mem::replace(&mut self.st.dirty_out, ix);
        }
    }

    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.next_peer_event().or_else(|| self.next_out_event())
    }

    fn next_peer_event(&mut self) -> Option<Event> {
        while let Some(ix) = self.st.dirty_peers.some() {
            let peer = self.p.peers.get_mut(ix.at())?;
            let news = &mut peer.news;
            if let Some(fault) = news.ended.take() {
                return Some(Event::Ended(ix, fault));
            }
            if core::mem::take(&mut news.connected) {
                return Some(Event::Connected(ix));
            }
            match news.set_up.take() {
                Some(SetUp::Rejected(reason)) => return Some(Event::Rejected(ix, reason)),
                Some(SetUp::IdUsedTwice) => return Some(Event::IdUsedTwice(ix)),
                None => {}
            }
            if core::mem::take(&mut news.moved) {
                return Some(Event::Moved(ix));
            }
            news.listed = false;
            self.st.dirty_peers = core::mem::take(&mut peer.next_dirty);
        }
        None
    }

    fn next_out_event(&mut self) -> Option<Event> {
        while let Some(ix) = self.st.dirty_out.some() {
            let stream = self.p.outbound.get_mut(ix.at())?;
            if let Some(reason) = stream.news.refused.take() {
                return Some(Event::Refused(ix, reason));
            }
            if let Some(below) = stream.news.ahead.take() {
                return Some(Event::Ahead(ix, below));
            }
            if core::mem::take(&mut stream.news.received) {
                return Some(Event::Received(ix, stream.received));
            }
            if core::mem::take(&mut stream.news.stored) {
                return Some(Event::Stored(ix, stream.head));
            }
            stream.news.listed = false;
            self.st.dirty_out = core::mem::take(&mut stream.next_dirty);
        }
        None
    }
}
