//! The largest datagram that a path carries (RFC 8899): found with probes that carry nothing, and given up when datagrams of
//! that size no longer arrive.

use crate::time::{Duration, Instant};

/// What every path is taken to carry.
pub(crate) const BASE_DATAGRAM: u16 = 1200;
/// An Ethernet frame with IPv6, where the largest has not passed.
const ETHERNET_V6: u16 = 1452;
/// A size counts as too large after so many probes (RFC 8899 §5.1.2 MAX_PROBES).
const PROBES: u8 = 3;
/// The search ends when what may still be gained is less than this.
const FINE: u16 = 16;
/// Then one looks again after this long (RFC 8899 §5.1.1 PMTU_RAISE_TIMER).
const RAISE: Duration = Duration::from_secs(600);
/// After the path became smaller, sooner: routes come back.
const RETRY: Duration = Duration::from_secs(60);
/// So many losses make a suspicion, when a smaller datagram arrives after them; one more, and it is certain.
const SUSPICIOUS: u8 = 3;

/// The search on one path, and what is suspected of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mtu {
    /// The largest that is wanted, and the smallest that is known not to pass, or one above.
    cap: u16,
    too_big: u16,
    /// The size that is tried, how often it was, and whether a probe of it is out.
    tried: u16,
    tries: u8,
    out: bool,
    /// No probe leaves before.
    next: Instant,
    /// Lost datagrams of which none as large, sent later, was acknowledged: how many, the smallest size, and when the first and
    /// the last left.
    lost: u8,
    lost_size: u16,
    first: Instant,
    last: Instant,
    suspected: bool,
    /// The largest datagram that was acknowledged lately, and when it left.
    passed: (u16, Instant),
}

impl Mtu {
    pub(crate) const fn new(cap: u16) -> Self {
        let start = Instant::from_micros(0);
        Self {
            cap,
            too_big: cap.saturating_add(1),
            tried: 0,
            tries: 0,
            out: false,
            next: start,
            lost: 0,
            lost_size: 0,
            first: start,
            last: start,
            suspected: false,
            passed: (0, start),
        }
    }

    /// True while there may be something to gain.
    #[inline]
    pub(crate) const fn wanted(&self, datagram: u16) -> bool {
        self.cap > datagram && !self.out
    }

    /// The size of the probe that is to leave now, beside data of `datagram` bytes.
    pub(crate) fn probe(&self, datagram: u16, now: Instant) -> Option<u16> {
        if !self.wanted(datagram) || now < self.next {
            return None;
        }
        let too_big = if self.exhausted(datagram) { self.cap.saturating_add(1) } else { self.too_big };
        Some(match too_big {
            all if all > self.cap => self.cap,
            below if datagram < ETHERNET_V6 && below > ETHERNET_V6 => ETHERNET_V6,
            below => datagram.saturating_add(below.saturating_sub(datagram) >> 1),
        })
    }

    /// The search is over, and a new one begins at the top.
    fn exhausted(&self, datagram: u16) -> bool {
        self.too_big.saturating_sub(datagram) < FINE
    }

    /// A probe of this size left.
    pub(crate) fn left(&mut self, size: u16, datagram: u16) {
        if self.exhausted(datagram) {
            self.too_big = self.cap.saturating_add(1);
        }
        if self.tried != size {
            (self.tried, self.tries) = (size, 0);
        }
        self.tries = self.tries.saturating_add(1);
        self.out = true;
    }

    /// A probe arrived: `true` when the path carries more than `datagram`.
    pub(crate) fn probe_arrived(&mut self, size: u16, datagram: u16, now: Instant) -> bool {
        self.out = false;
        let larger = size > datagram && size < self.too_big;
        if larger && (size >= self.cap || self.exhausted(size)) {
            self.next = now + RAISE;
        }
        larger
    }

    /// A probe is lost: no sign of congestion.
    pub(crate) fn probe_lost(&mut self, size: u16, datagram: u16, now: Instant) {
        self.out = false;
        if size == self.tried && self.tries >= PROBES {
            self.refused(size, datagram, now);
        }
    }

    /// The system refuses the size that is tried. False when none is.
    pub(crate) fn probe_refused(&mut self, datagram: u16, now: Instant) -> bool {
        let trying = self.out && self.tried > datagram;
        if trying {
            self.refused(self.tried, datagram, now);
        }
        trying
    }

    fn refused(&mut self, size: u16, datagram: u16, now: Instant) {
        if size > datagram {
            self.too_big = self.too_big.min(size);
        }
        if self.exhausted(datagram) {
            self.next = now + RAISE;
        }
    }

    /// A datagram of this size, sent then, was acknowledged. True for a black hole: larger ones, sent earlier, were all lost.
    #[inline]
    pub(crate) fn acknowledged(&mut self, size: u16, sent: Instant) -> bool {
        if size >= self.passed.0 {
            self.passed = (size, self.passed.1.max(sent));
        }
        if (self.lost == 0 && !self.suspected) || sent <= self.first {
            return false;
        }
        if size >= self.lost_size {
            (self.lost, self.suspected) = (0, false);
            return false;
        }
        let enough = if self.suspected { 1 } else { SUSPICIOUS };
        if self.lost < enough || sent <= self.last {
            return false;
        }
        self.lost = 0;
        core::mem::replace(&mut self.suspected, true)
    }

    /// True while it seems that only small datagrams arrive.
    pub(crate) const fn suspected(&self) -> bool {
        self.suspected
    }

    /// A datagram of this size, sent then, is lost.
    pub(crate) fn lost(&mut self, size: u16, sent: Instant) {
        let (passed, at) = self.passed;
        if size <= BASE_DATAGRAM || (passed >= size && at > sent) {
            return;
        }
        if self.lost == 0 && !self.suspected {
            (self.lost_size, self.first, self.last) = (size, sent, sent);
        }
        self.lost = self.lost.saturating_add(1);
        self.lost_size = self.lost_size.min(size);
        (self.first, self.last) = (self.first.min(sent), self.last.max(sent));
    }

    /// The path carries only the base from now on, or is another one that must be tried `soon`.
    pub(crate) fn fell_back(&mut self, soon: bool, now: Instant) {
        let next = if soon { now } else { now + RETRY };
        *self = Self { next, out: self.out, tried: self.tried, ..Self::new(self.cap) };
    }
}

#[cfg(test)]
mod tests;
