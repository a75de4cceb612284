//! Which records were asked for.

use tallylink_journal::{Gap, Record};

/// What a record must be to be shown.
#[derive(Debug)]
pub(super) struct Selection {
    pub(super) peer: Option<[u8; 8]>,
    pub(super) stream: Option<Vec<u8>>,
    pub(super) from: u64,
    /// Exclusive.
    pub(super) to: u64,
    pub(super) since_us: u64,
}

impl Selection {
    #[inline]
    pub(super) fn takes(&self, record: &Record<'_>) -> bool {
        self.from <= record.index
            && record.index < self.to
            && self.since_us <= record.arrival_us
            && self.is_of(record.peer, record.stream)
    }

    /// A gap that the journal does not date is always recent enough.
    pub(super) fn takes_gap(&self, gap: &Gap<'_>) -> bool {
        let end = gap.index.saturating_add(gap.below.saturating_sub(gap.next));
        self.from < end
            && gap.index < self.to
            && (gap.reason.is_none() || self.since_us <= gap.arrival_us)
            && self.is_of(gap.peer, gap.stream)
    }

    /// Whether nothing behind a record can be asked for: it is the last of the only stream that is.
    #[inline]
    pub(super) fn ends_with(&self, peer: [u8; 8], stream: &[u8], index: u64) -> bool {
        index >= self.to.saturating_sub(1) && self.peer == Some(peer) && self.stream.as_deref() == Some(stream)
    }

    #[inline]
    fn is_of(&self, peer: [u8; 8], stream: &[u8]) -> bool {
        self.peer.is_none_or(|wanted| wanted == peer) && self.stream.as_deref().is_none_or(|wanted| wanted == stream)
    }
}
