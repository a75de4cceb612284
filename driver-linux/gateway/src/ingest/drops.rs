//! Saying that datagrams are dropped while it happens, not only at the end.

use std::time::{Duration, Instant};

use tallylink_linux::PlainSocket;
use tracing::warn;

use crate::clock;

/// The clock is looked at once in so many datagrams.
const EVERY: u64 = 1024;
/// The least time between two messages.
const QUIET: Duration = Duration::from_secs(10);

/// What was last told.
#[derive(Debug, Default)]
pub(super) struct Watch {
    kernel: u64,
    queue: u64,
    told: Option<Instant>,
}

impl Watch {
    #[inline]
    pub(super) fn is_due_after(&self, datagrams: u64) -> bool {
        datagrams.is_multiple_of(EVERY)
            && self.told.is_none_or(|told| clock::monotonic().saturating_duration_since(told) >= QUIET)
    }

    /// Warns of datagrams that were dropped since the last time.
    pub(super) fn look(&mut self, socket: &PlainSocket, queue: u64) {
        self.told = Some(clock::monotonic());
        let kernel = socket.kernel_drops().unwrap_or(self.kernel);
        let (more_kernel, more_queue) = (kernel.wrapping_sub(self.kernel), queue - self.queue);
        if more_kernel > 0 || more_queue > 0 {
            warn!("dropped datagrams: {more_kernel} found the kernel's buffer full, {more_queue} the queue");
        }
        (self.kernel, self.queue) = (kernel, queue);
    }
}
