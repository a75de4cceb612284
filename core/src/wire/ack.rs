//! The ranges of an ACK frame (wire-format §6.7; the encoding of RFC 9000 §19.3.1).

use super::cursor::{Malformed, NoRoom, Reader, Writer};

/// Packet numbers `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketRange {
    /// The smallest number.
    pub low: u64,
    /// The largest number.
    pub high: u64,
}

/// How many datagrams arrived with each mark of explicit congestion notification (RFC 9000 §19.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts {
    /// With ECT(0).
    pub ect0: u64,
    /// With ECT(1).
    pub ect1: u64,
    /// With CE.
    pub ce: u64,
}

impl EcnCounts {
    /// None at all.
    pub const NONE: Self = Self { ect0: 0, ect1: 0, ce: 0 };

    /// How long they are on the wire.
    pub(super) fn wire_len(&self) -> usize {
        use super::varint::len;
        len(self.ect0).saturating_add(len(self.ect1)).saturating_add(len(self.ce))
    }

    pub(super) fn parse(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { ect0: r.varint()?, ect1: r.varint()?, ce: r.varint()? })
    }

    /// Writes them, behind the ranges.
    ///
    /// # Errors
    /// [`NoRoom`] when they do not fit.
    pub fn write(&self, w: &mut Writer<'_>) -> Result<(), NoRoom> {
        w.varint(self.ect0)?;
        w.varint(self.ect1)?;
        w.varint(self.ce)
    }
}

/// The ranges of a received ACK frame, checked when the frame was parsed: descending, not touching, none below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRanges<'a> {
    largest: u64,
    first: u64,
    more: &'a [u8],
}

impl<'a> AckRanges<'a> {
    /// The largest packet number acknowledged.
    #[must_use]
    pub const fn largest(&self) -> u64 {
        self.largest
    }

    /// Parses everything behind the delay field: largest was read before.
    pub(super) fn parse(largest: u64, r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let count = r.varint()?;
        let first = r.varint_to(largest)?;
        let start = r.rest();
        let mut low = largest.checked_sub(first).ok_or(Malformed)?;
        // Each pass reads at least two bytes, so a false count costs no more than the packet is long.
        for _ in 0..count {
            low = next_range(low, r)?.low;
        }
        let used = start.len().saturating_sub(r.rest().len());
        let more = start.get(..used).ok_or(Malformed)?;
        Ok(Self { largest, first, more })
    }
}

fn next_range(below: u64, r: &mut Reader<'_>) -> Result<PacketRange, Malformed> {
    let gap = r.varint()?;
    let length = r.varint()?;
    let high = below.checked_sub(gap).and_then(|v| v.checked_sub(2)).ok_or(Malformed)?;
    let low = high.checked_sub(length).ok_or(Malformed)?;
    Ok(PacketRange { low, high })
}

impl<'a> IntoIterator for AckRanges<'a> {
    type Item = PacketRange;
    type IntoIter = AckRangesIter<'a>;

    fn into_iter(self) -> AckRangesIter<'a> {
        let low = self.largest.saturating_sub(self.first);
        AckRangesIter { pending: Some(PacketRange { low, high: self.largest }), rest: Reader::new(self.more) }
    }
}

/// Walks the ranges of an ACK, the largest first.
#[derive(Clone, Debug)]
pub struct AckRangesIter<'a> {
    pending: Option<PacketRange>,
    rest: Reader<'a>,
}

impl Iterator for AckRangesIter<'_> {
    type Item = PacketRange;

    fn next(&mut self) -> Option<PacketRange> {
        let range = self.pending.take()?;
        if !self.rest.is_empty() {
            self.pending = next_range(range.low, &mut self.rest).ok();
        }
        Some(range)
    }
}

/// Writes largest, delay and ranges. `ranges` are descending and do not touch; those that do not fit in the room are left
/// out, the smallest numbers first (F19). `kept` bytes of the room are left free. Returns how many were written.
///
/// # Errors
/// [`NoRoom`] when not even the first range fits; nothing is written then.
pub fn write(w: &mut Writer<'_>, delay_us: u64, ranges: &[PacketRange], kept: usize) -> Result<usize, NoRoom> {
    use super::varint::len;
    let first = ranges.first().ok_or(NoRoom)?;
    let first_length = first.high.saturating_sub(first.low);
    let head = len(first.high).saturating_add(len(delay_us)).saturating_add(len(first_length));
    // Two bytes are kept for the count, which is known only when the fitting ranges are.
    let mut room = w.room().checked_sub(head.saturating_add(kept)).and_then(|r| r.checked_sub(2)).ok_or(NoRoom)?;
    let gaps = || {
        ranges.windows(2).map_while(|pair| {
            let [a, b] = pair else { return None };
            let gap = a.low.checked_sub(b.high)?.checked_sub(2)?;
            Some((gap, b.high.checked_sub(b.low)?))
        })
    };
    let mut more: u64 = 0;
    for (gap, length) in gaps() {
        let Some(left) = room.checked_sub(len(gap)).and_then(|r| r.checked_sub(len(length))) else {
            break;
        };
        room = left;
        more = more.saturating_add(1);
    }
    w.varint(first.high)?;
    w.varint(delay_us)?;
    w.varint(more)?;
    w.varint(first_length)?;
    for (gap, length) in gaps().take(more as usize) {
        w.varint(gap)?;
        w.varint(length)?;
    }
    Ok((more as usize).saturating_add(1))
}
