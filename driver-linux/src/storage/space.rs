//! Which parts of the ring belong to no stream.

use std::ops::Range;

/// The largest ring of one stream.
const RING_MAX: u32 = 1 << 30;

/// Free parts, in order and never touching one another, and the end of what was ever given out.
#[derive(Debug, Default)]
pub(super) struct Space {
    free: Vec<Range<u32>>,
    end: u32,
}

impl Space {
    /// The first part of `len` bytes that is free; at the end when there is none.
    pub(super) fn take(&mut self, len: u32) -> Option<Range<u32>> {
        if len == 0 || len > RING_MAX {
            return None;
        }
        let found = self.free.iter().position(|r| r.end - r.start >= len);
        if let Some(at) = found
            && let Some(range) = self.free.get_mut(at)
        {
            let taken = range.start..range.start + len;
            range.start = taken.end;
            if range.start == range.end {
                self.free.remove(at);
            }
            return Some(taken);
        }
        let end = self.end.checked_add(len)?;
        let taken = self.end..end;
        self.end = end;
        Some(taken)
    }

    /// Takes a part back.
    pub(super) fn give(&mut self, range: Range<u32>) {
        let at = self.free.partition_point(|r| r.start < range.start);
        self.free.insert(at, range);
        self.free.dedup_by(|next, kept| {
            let touch = kept.end == next.start;
            if touch {
                kept.end = next.end;
            }
            touch
        });
        if let Some(last) = self.free.pop_if(|last| last.end == self.end) {
            self.end = last.start;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Space;

    #[test]
    fn what_is_given_back_is_joined_and_used_again() {
        let mut space = Space::default();
        let (a, b, c) = (space.take(10), space.take(20), space.take(30));
        let (a, b, c) = (a.unwrap(), b.unwrap(), c.unwrap());
        assert_eq!((&a, &b, &c), (&(0..10), &(10..30), &(30..60)));
        space.give(a);
        space.give(b);
        assert_eq!(space.take(30), Some(0..30));
        space.give(c);
        assert_eq!(space.take(5), Some(30..35));
    }

    #[test]
    fn no_ring_is_empty_or_larger_than_core_takes() {
        let mut space = Space::default();
        assert_eq!(space.take(0), None);
        assert_eq!(space.take(super::RING_MAX + 1), None);
        for _ in 0..3 {
            assert!(space.take(super::RING_MAX).is_some());
        }
        assert_eq!(space.take(super::RING_MAX), None, "4 GiB are not addressable");
    }
}
