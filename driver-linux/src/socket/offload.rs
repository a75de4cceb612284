//! Who gets segmented sends.

use hashbrown::HashMap;
use std::hash::RandomState;
use tallylink_core::{Duration, Instant, PeerIx};

/// How long a peer and size are remembered. A route that changed is found again after that, at the price of one failed send.
const REMEMBERED: Duration = Duration::from_secs(60);
/// How many peers are remembered at a time.
const PEERS_MAX: usize = 1024;

/// Whether segmented sends work at all, and for whom not.
#[derive(Debug)]
pub(super) struct Offload {
    works: bool,
    refused: HashMap<PeerIx, Refused, RandomState>,
}

#[derive(Clone, Copy, Debug)]
struct Refused {
    /// Segments of this size or larger are refused.
    from: usize,
    until: Instant,
}

impl Offload {
    pub(super) fn new(works: bool) -> Self {
        Self { works, refused: HashMap::default() }
    }

    /// True when segments of `size` bytes to this peer may share a send.
    #[inline]
    pub(super) fn allows(&self, now: Instant, peer: PeerIx, size: usize) -> bool {
        self.works
            && (self.refused.is_empty() || self.refused.get(&peer).is_none_or(|r| size < r.from || r.until <= now))
    }

    /// The device or its driver cannot do it. Returns true the first time.
    pub(super) fn broke(&mut self) -> bool {
        std::mem::take(&mut self.works)
    }

    /// This peer's route does not take segments of that size.
    pub(super) fn refuse(&mut self, now: Instant, peer: PeerIx, size: usize) {
        if self.refused.len() >= PEERS_MAX && !self.refused.contains_key(&peer) {
            self.refused.retain(|_, r| r.until > now);
            if self.refused.len() >= PEERS_MAX {
                // Forgetting costs one failed send each.
                self.refused.clear();
            }
        }
        let until = now + REMEMBERED;
        self.refused
            .entry(peer)
            .and_modify(|r| {
                let from = if r.until > now { r.from.min(size) } else { size };
                *r = Refused { from, until };
            })
            .or_insert(Refused { from: size, until });
    }
}

#[cfg(test)]
mod tests {
    use super::{Offload, PEERS_MAX, REMEMBERED};
    use tallylink_core::{Instant, PeerIx};

    #[test]
    fn f02_only_that_peer_and_size_are_refused_and_not_for_ever() {
        let now = Instant::from_micros(7);
        let mut offload = Offload::new(true);
        offload.refuse(now, PeerIx(1), 1452);
        assert!(!offload.allows(now, PeerIx(1), 1452));
        assert!(!offload.allows(now, PeerIx(1), 1472));
        assert!(offload.allows(now, PeerIx(1), 1200));
        assert!(offload.allows(now, PeerIx(2), 1452));
        assert!(offload.allows(now + REMEMBERED, PeerIx(1), 1452));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let now = Instant::from_micros(0);
        let mut offload = Offload::new(true);
        for peer in 0..3 * PEERS_MAX as u32 {
            offload.refuse(now, PeerIx(peer), 1200);
        }
        assert!(offload.refused.len() <= PEERS_MAX);
    }
}
