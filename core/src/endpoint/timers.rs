//! The heap of links by deadline, in the driver's array. A link knows where in the heap it stands.

use super::Cx;
use crate::crypto::Crypto;
use crate::ids::LinkIx;
use crate::time::Instant;

const OUTSIDE: u32 = u32::MAX;

impl<C: Crypto> Cx<'_, C> {
    /// Sets a link's deadline; `NEVER` takes it out of the heap.
    pub(super) fn set_deadline(&mut self, ix: LinkIx, at: Instant) {
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        if link.deadline == at {
            return;
        }
        link.deadline = at;
        let mut place = link.heap_at;
        if at == Instant::NEVER {
            if place != OUTSIDE {
                self.take_out(place);
            }
        } else {
            if place == OUTSIDE {
                place = self.st.timers;
                self.st.timers = self.st.timers.saturating_add(1);
                self.put(place, ix);
            }
            self.sift_up(place);
            let place = self.p.links.get(ix.at()).map_or(OUTSIDE, |l| l.heap_at);
            self.sift_down(place);
        }
        self.st.next_timeout = self.deadline_at(0);
    }

    /// The link whose deadline comes first.
    pub(super) fn first_timer(&self) -> Option<(LinkIx, Instant)> {
        let ix = *self.p.timers.first()?;
        (self.st.timers > 0).then(|| (ix, self.deadline_at(0)))
    }

    fn put(&mut self, place: u32, ix: LinkIx) {
        if let Some(slot) = self.p.timers.get_mut(place as usize) {
            *slot = ix;
        }
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            link.heap_at = place;
        }
    }

    fn link_at(&self, place: u32) -> LinkIx {
        self.p.timers.get(place as usize).copied().unwrap_or_default()
    }

    fn deadline_at(&self, place: u32) -> Instant {
        if place >= self.st.timers {
            return Instant::NEVER;
        }
        self.p.links.get(self.link_at(place).at()).map_or(Instant::NEVER, |l| l.deadline)
    }

    fn take_out(&mut self, place: u32) {
        if let Some(link) = self.p.links.get_mut(self.link_at(place).at()) {
            link.heap_at = OUTSIDE;
        }
        self.st.timers = self.st.timers.saturating_sub(1);
        let last = self.st.timers;
        if place < last {
            let moved = self.link_at(last);
            self.put(place, moved);
            self.sift_up(place);
            let place = self.p.links.get(moved.at()).map_or(OUTSIDE, |l| l.heap_at);
            self.sift_down(place);
        }
    }

    fn swap(&mut self, a: u32, b: u32) {
        let (x, y) = (self.link_at(a), self.link_at(b));
        self.put(a, y);
        self.put(b, x);
    }

    fn sift_up(&mut self, mut place: u32) {
        while place > 0 {
            let parent = place.saturating_sub(1) >> 1;
            if self.deadline_at(parent) <= self.deadline_at(place) {
                return;
            }
            self.swap(parent, place);
            place = parent;
        }
    }

    fn sift_down(&mut self, mut place: u32) {
        loop {
            let left = place.saturating_mul(2).saturating_add(1);
            let right = left.saturating_add(1);
            let child = if self.deadline_at(right) < self.deadline_at(left) { right } else { left };
            if self.deadline_at(child) >= self.deadline_at(place) {
                return;
            }
            self.swap(child, place);
            place = child;
        }
    }
}
