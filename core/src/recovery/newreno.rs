//! The window of NewReno (RFC 9002 §7.3): small enough for a microcontroller.

use super::congestion::{Acked, Law};
use crate::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(super) struct NewReno {
    /// Bytes acknowledged since the window last grew, in congestion avoidance.
    acknowledged: u64,
}

impl NewReno {
    pub(super) const fn new() -> Self {
        Self { acknowledged: 0 }
    }
}

impl Law for NewReno {
    fn slow_start(&mut self, acked: &Acked, _first: bool) -> Option<u64> {
        Some(acked.bytes)
    }

    fn avoid(&mut self, window: u64, acked: &Acked, datagram: u64) -> u64 {
        self.acknowledged = self.acknowledged.saturating_add(acked.bytes);
        match self.acknowledged.checked_sub(window) {
            Some(left) => {
                self.acknowledged = left;
                window.saturating_add(datagram)
            }
            None => window,
        }
    }

    fn cut(&mut self, window: u64) -> u64 {
        self.acknowledged = 0;
        window >> 1
    }

    fn idle(&mut self, _spent: Duration) {}

    fn forget(&mut self) {
        self.acknowledged = 0;
    }
}
