//! NewReno congestion control (RFC 9002 §7), in bytes.

use crate::time::Instant;

#[derive(Clone, Copy, Debug)]
pub(crate) struct NewReno {
    window: u64,
    threshold: u64,
    /// Packets sent before this were sent before the last cut; their loss does not cut again.
    recovery_start: Option<Instant>,
    /// Window and threshold before the last cut, and how many losses that were not shown to be none stand for it.
    before_cut: (u64, u64),
    losses: u32,
    /// Bytes acknowledged since the window last grew, in congestion avoidance.
    acknowledged: u64,
    datagram: u64,
}

impl NewReno {
    pub(crate) fn new(datagram: u16) -> Self {
        let datagram = u64::from(datagram);
        // RFC 9002 §7.2
        let window = datagram.saturating_mul(10).min(datagram.saturating_mul(2).max(14_720));
        Self {
            window,
            threshold: u64::MAX,
            recovery_start: None,
            before_cut: (0, 0),
            losses: 0,
            acknowledged: 0,
            datagram,
        }
    }

    /// The most bytes that may be in flight.
    pub(crate) const fn window(&self) -> u64 {
        self.window
    }

    /// True before the first loss: the window doubles each round trip.
    pub(crate) const fn in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    fn sent_before_cut(&self, sent: Instant) -> bool {
        self.recovery_start.is_some_and(|start| sent <= start)
    }

    /// `bytes` sent at `sent` were acknowledged while the window was in use (RFC 9002 §7.3).
    pub(crate) fn acknowledged(&mut self, bytes: u64, sent: Instant, window_in_use: bool) {
        if self.sent_before_cut(sent) || !window_in_use {
            return;
        }
        if self.in_slow_start() {
            self.window = self.window.saturating_add(bytes);
            return;
        }
        self.acknowledged = self.acknowledged.saturating_add(bytes);
        if self.acknowledged >= self.window {
            self.acknowledged = self.acknowledged.saturating_sub(self.window);
            self.window = self.window.saturating_add(self.datagram);
        }
    }

    /// A packet sent at `sent` was lost: at most one cut a round trip (RFC 9002 §7.3.2).
    pub(crate) fn lost(&mut self, sent: Instant, now: Instant) {
        if self.sent_before_cut(sent) {
            self.losses = self.losses.saturating_add(1);
            return;
        }
        self.before_cut = (self.window, self.threshold);
        self.losses = 1;
        self.recovery_start = Some(now);
        self.window = (self.window >> 1).max(self.datagram.saturating_mul(2));
        self.threshold = self.window;
        self.acknowledged = 0;
    }

    /// A loss was none: the packet came late. When no other stands for the cut, it is undone.
    pub(crate) fn not_lost(&mut self, sent: Instant) {
        if !self.sent_before_cut(sent) || self.losses == 0 {
            return;
        }
        self.losses = self.losses.saturating_sub(1);
        if self.losses == 0 {
            let (window, threshold) = self.before_cut;
            (self.window, self.threshold) = (self.window.max(window), threshold);
            self.recovery_start = None;
        }
    }

    /// Everything sent over a long time was lost (RFC 9002 §7.6.2).
    pub(crate) fn persistent_congestion(&mut self) {
        self.window = self.datagram.saturating_mul(2);
        self.recovery_start = None;
        self.losses = 0;
    }
}
