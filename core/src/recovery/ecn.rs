//! Explicit congestion notification (RFC 9000 §13.4): which packets leave marked, and what the other end's counts say of it.

use crate::path::Ecn;
use crate::wire::EcnCounts;

/// Whether the path carries marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// Not known yet: packets leave marked.
    Untried,
    /// It does.
    Proved,
    /// It loses or changes them: nothing leaves marked.
    Broken,
}

/// The marks of a link, both ways.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    /// What arrived with which mark.
    pub(crate) received: EcnCounts,
    /// What the other end counted when it last said so.
    reported: EcnCounts,
    /// Packets that left marked.
    marked: u64,
    trust: Trust,
}

impl Marks {
    pub(crate) const fn new() -> Self {
        Self { received: EcnCounts::NONE, reported: EcnCounts::NONE, marked: 0, trust: Trust::Untried }
    }

    /// The same path, and another session: all counts begin anew.
    pub(crate) const fn anew(&self) -> Self {
        Self { trust: self.trust, ..Self::new() }
    }

    /// A datagram arrived with this mark.
    pub(crate) fn arrived(&mut self, mark: Ecn) {
        let count = match mark {
            Ecn::NotEct => return,
            Ecn::Ect0 => &mut self.received.ect0,
            Ecn::Ect1 => &mut self.received.ect1,
            Ecn::Ce => &mut self.received.ce,
        };
        *count = count.saturating_add(1);
    }

    /// The mark of the next packet.
    pub(crate) fn next(&self) -> Ecn {
        if self.trust == Trust::Broken { Ecn::NotEct } else { Ecn::Ect0 }
    }

    /// A packet left marked.
    pub(crate) fn left(&mut self) {
        self.marked = self.marked.saturating_add(1);
    }

    /// An ACK with a new largest number acknowledged `newly` packets that had left marked. True when the network says that it
    /// is congested. What the counts cannot be on an honest path ends the marking (RFC 9000 §13.4.2.1).
    pub(crate) fn acknowledged(&mut self, newly: u64, counts: Option<EcnCounts>) -> bool {
        let Some(counts) = counts else {
            // The marks were taken off on the way.
            if newly > 0 {
                self.trust = Trust::Broken;
            }
            return false;
        };
        let before = core::mem::replace(&mut self.reported, counts);
        let grown = (
            counts.ect0.checked_sub(before.ect0),
            counts.ect1.checked_sub(before.ect1),
            counts.ce.checked_sub(before.ce),
        );
        let (Some(ect0), Some(ect1), Some(ce)) = grown else {
            // The other end had given up its link, and counts anew.
            return false;
        };
        let missing = ect0.saturating_add(ce) < newly;
        if missing || ect1 > 0 || counts.ect0.saturating_add(counts.ce) > self.marked {
            self.trust = Trust::Broken;
            return false;
        }
        if newly > 0 && self.trust == Trust::Untried {
            self.trust = Trust::Proved;
        }
        ce > 0
    }

    /// Nothing comes back at all. A path may drop what is marked (RFC 9000 §13.4.2); one that was proved may have become another.
    pub(crate) fn silence(&mut self) {
        self.trust = match self.trust {
            Trust::Proved => Trust::Untried,
            Trust::Untried | Trust::Broken => Trust::Broken,
        };
    }

    /// Another path: what was learnt of the old one says nothing of it.
    pub(crate) fn other_path(&mut self) {
        self.trust = Trust::Untried;
    }
}

#[cfg(test)]
mod tests;
