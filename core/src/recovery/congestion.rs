//! Congestion control: how many bytes may be in flight (RFC 9002 §7). What all laws share is here, the books of a cut and of
//! its undoing above all; how the window grows, and how far it is cut, is each law's own.

#[cfg(feature = "cubic")]
use super::cubic::Cubic;
use super::newreno::NewReno;
use crate::config::Congestion;
use crate::time::{Duration, Instant};

/// No table of packets in flight holds more bytes.
pub(super) const WINDOW_MAX: u64 = 1 << 32;

/// What an ACK acknowledged, as far as the window is concerned.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "cubic"), expect(dead_code, reason = "NewReno looks at the bytes alone"))]
pub(crate) struct Acked {
    pub(crate) now: Instant,
    /// Bytes of packets that were sent after the last cut.
    pub(crate) bytes: u64,
    /// The largest number acknowledged, and the next that will be sent.
    pub(crate) largest: u64,
    pub(crate) next: u64,
    /// The round-trip time that the ACK showed, if it showed one, and the smoothed one.
    pub(crate) sample: Option<Duration>,
    pub(crate) rtt: Duration,
}

/// How a window grows and is cut. Windows and sizes are in bytes.
pub(super) trait Law {
    /// By how much the window grows in slow start; `None` ends it. `first` is the session's first slow start, before any cut.
    fn slow_start(&mut self, acked: &Acked, first: bool) -> Option<u64>;
    /// The window after an ACK in congestion avoidance, at least what it was.
    fn avoid(&mut self, window: u64, acked: &Acked, datagram: u64) -> u64;
    /// The window after a cut.
    fn cut(&mut self, window: u64) -> u64;
    /// For this long it was not the window that held the sender back.
    fn idle(&mut self, spent: Duration);
    /// Whatever was learnt of the path is no longer true.
    fn forget(&mut self);
}

#[derive(Clone, Copy, Debug)]
enum Laws {
    NewReno(NewReno),
    #[cfg(feature = "cubic")]
    Cubic(Cubic),
}

impl Laws {
    fn law(&mut self) -> &mut dyn Law {
        match self {
            Self::NewReno(law) => law,
            #[cfg(feature = "cubic")]
            Self::Cubic(law) => law,
        }
    }
}

/// How things stood before a cut.
#[derive(Clone, Copy, Debug)]
struct Before {
    window: u64,
    threshold: u64,
    laws: Laws,
    /// When the cut before it was: what was sent earlier does not stand for this one.
    recovery_start: Option<Instant>,
}

/// The congestion window of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Controller {
    window: u64,
    threshold: u64,
    laws: Laws,
    /// Packets sent before this were sent before the last cut; their loss does not cut again.
    recovery_start: Option<Instant>,
    /// How things stood before the last cut, while it may be undone, and how many losses that were not shown to be none stand
    /// for it.
    before_cut: Option<Before>,
    losses: u32,
    datagram: u64,
    /// It is the window or its pacing that holds the sender back, or it is something else since then.
    in_use: bool,
    idle_from: Instant,
}

impl Controller {
    pub(crate) fn new(kind: Congestion, datagram: u16) -> Self {
        let datagram = u64::from(datagram);
        Self {
            // RFC 9002 §7.2
            window: datagram.saturating_mul(10).min(datagram.saturating_mul(2).max(14_720)),
            threshold: u64::MAX,
            laws: match kind {
                Congestion::NewReno => Laws::NewReno(NewReno::new()),
                #[cfg(feature = "cubic")]
                Congestion::Cubic => Laws::Cubic(Cubic::new()),
            },
            recovery_start: None,
            before_cut: None,
            losses: 0,
            datagram,
            in_use: false,
            idle_from: Instant::from_micros(0),
        }
    }

    /// Datagrams are of this size from now on. Two of them fit into the window always, or none would ever leave.
    pub(crate) fn set_datagram(&mut self, datagram: u16) {
        self.datagram = u64::from(datagram);
        self.window = self.window.max(self.least());
    }

    /// The most bytes that may be in flight.
    pub(crate) const fn window(&self) -> u64 {
        self.window
    }

    /// True before the first loss: the window doubles each round trip.
    pub(crate) const fn in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// True of a packet that was sent after the last cut: its ACK grows the window.
    #[inline]
    pub(crate) fn counts(&self, sent: Instant) -> bool {
        self.recovery_start.is_none_or(|start| sent > start)
    }

    /// What holds the sender back now: the window and its pacing, or anything else (RFC 9002 §7.8).
    #[inline]
    pub(crate) fn held_back(&mut self, by_window: bool, now: Instant) {
        if by_window == self.in_use {
            return;
        }
        self.in_use = by_window;
        if by_window {
            self.laws.law().idle(now.since(self.idle_from));
        } else {
            self.idle_from = now;
        }
    }

    /// Packets were acknowledged; `flight` bytes were out before they were (RFC 9002 §7.3).
    pub(crate) fn acknowledged(&mut self, acked: &Acked, flight: u64) {
        if acked.bytes == 0 {
            return;
        }
        let window = if self.in_slow_start() {
            // Half a window in use is enough while it doubles: what leaves next finds it no larger than it needs.
            if !self.in_use && flight.saturating_mul(2) < self.window {
                return;
            }
            match self.laws.law().slow_start(acked, self.threshold == u64::MAX) {
                Some(growth) => self.window.saturating_add(growth),
                None => {
                    self.threshold = self.window;
                    self.window
                }
            }
        } else if self.in_use {
            self.laws.law().avoid(self.window, acked, self.datagram)
        } else {
            return;
        };
        self.window = window.min(WINDOW_MAX).max(self.window);
    }

    /// A packet sent at `sent` was lost: at most one cut a round trip (RFC 9002 §7.3.2). True for a cut.
    pub(crate) fn lost(&mut self, sent: Instant, now: Instant) -> bool {
        if !self.counts(sent) {
            if self.stands(sent) {
                self.losses = self.losses.saturating_add(1);
            }
            return false;
        }
        let (window, threshold, laws, recovery_start) = (self.window, self.threshold, self.laws, self.recovery_start);
        self.before_cut = Some(Before { window, threshold, laws, recovery_start });
        self.losses = 1;
        self.recovery_start = Some(now);
        self.window = self.laws.law().cut(self.window).max(self.least());
        self.threshold = self.window;
        true
    }

    /// A router marked a packet like the one sent at `sent`: the window is cut as for a loss, and for good.
    pub(crate) fn marked(&mut self, sent: Instant, now: Instant) {
        self.lost(sent, now);
        self.before_cut = None;
    }

    /// A loss was none: the packet came late. When no other stands for the cut, it is undone (RFC 9438 §4.9.2).
    pub(crate) fn not_lost(&mut self, sent: Instant) {
        if self.counts(sent) || !self.stands(sent) || self.losses == 0 {
            return;
        }
        self.losses = self.losses.saturating_sub(1);
        if self.losses == 0
            && let Some(before) = self.before_cut.take()
        {
            self.window = self.window.max(before.window);
            (self.threshold, self.laws, self.recovery_start) = (before.threshold, before.laws, before.recovery_start);
        }
    }

    /// True of a packet that was sent after the cut before the last.
    fn stands(&self, sent: Instant) -> bool {
        self.before_cut.is_none_or(|before| before.recovery_start.is_none_or(|start| sent > start))
    }

    /// Everything sent over a long time was lost (RFC 9002 §7.6.2).
    pub(crate) fn persistent_congestion(&mut self) {
        self.window = self.least();
        self.laws.law().forget();
        self.recovery_start = None;
        (self.losses, self.before_cut) = (0, None);
    }

    const fn least(&self) -> u64 {
        self.datagram.saturating_mul(2)
    }
}

#[cfg(test)]
mod tests;
