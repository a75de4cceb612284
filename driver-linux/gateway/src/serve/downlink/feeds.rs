//! The network thread's part: streams under way to devices.

use tallylink_core::{OutIx, PeerIx};
use tallylink_linux::Network;
use tallylink_linux::sender::feed::Feed;

use crate::serve::ingest::Ingest;

/// Every stream that is under way.
#[derive(Debug, Default)]
pub(in crate::serve) struct Feeds {
    open: Vec<Feed>,
}

impl Feeds {
    pub(super) fn add(&mut self, feed: Feed) {
        self.open.push(feed);
    }

    /// A peer was removed, and its streams with it.
    pub(in crate::serve) fn forget(&mut self, peer: PeerIx) {
        self.open.retain(|feed| feed.peer() != peer);
    }

    fn remove(&mut self, stream: OutIx) {
        self.open.retain(|feed| feed.stream() != stream);
    }

    /// True when none has anything to move, as far as threads that bring something can see.
    pub(in crate::serve) fn are_idle(&self) -> bool {
        self.open.iter().all(Feed::idle)
    }
}

/// Before a turn: moves what is durable into the rings. True when something was moved, or may be at once.
pub(in crate::serve) fn pump(network: &mut Network<Ingest>) -> bool {
    if network.application_mut().feeds.open.is_empty() {
        return false;
    }
    let mut feeds = std::mem::take(&mut network.application_mut().feeds);
    let moved = feeds.open.iter_mut().fold(false, |moved, feed| feed.pump(network) | moved);
    network.application_mut().feeds = feeds;
    moved
}

/// After a turn: tells what it confirmed. True when there is something to move at once.
pub(in crate::serve) fn confirm(network: &mut Network<Ingest>) -> bool {
    if network.application_mut().feeds.open.is_empty() {
        return false;
    }
    let mut feeds = std::mem::take(&mut network.application_mut().feeds);
    let mut ready = false;
    for feed in &mut feeds.open {
        feed.confirm(network);
        ready |= feed.ready(network);
    }
    network.application_mut().feeds = feeds;
    ready
}

/// Ends a stream. False while something that was sent is not STORED.
pub(super) fn close(network: &mut Network<Ingest>, stream: OutIx) -> bool {
    let closed = network.close(stream).is_ok();
    if closed {
        network.application_mut().feeds.remove(stream);
    }
    closed
}
