//! What became of every datagram.

use serde::Serialize;

use super::receive::Received;
use super::write::{Grouped, Sink};
use crate::Error;

/// Every datagram that reached the socket is in one of `stored`, `dropped_by_kernel` and `dropped_by_queue`, unless the disk
/// or the output failed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Summary {
    /// Datagrams taken from the kernel.
    received: u64,
    received_bytes: u64,
    /// Datagrams in the journal and durable; with `--stdout`, written.
    stored: u64,
    /// Datagrams that found the kernel's buffer full; absent where the kernel does not tell.
    dropped_by_kernel: Option<u64>,
    /// Datagrams that found the queue full.
    dropped_by_queue: u64,
    /// From the first datagram until the last was stored.
    seconds: f64,
}

impl Summary {
    pub(super) fn new(received: &Received, written: &Grouped<impl Sink>, dropped_by_queue: u64) -> Self {
        Self {
            received: received.datagrams,
            received_bytes: received.bytes,
            stored: written.stored(),
            dropped_by_kernel: received.kernel_drops,
            dropped_by_queue,
            seconds: written.time().as_secs_f64(),
        }
    }

    pub(super) fn text(&self, json: bool) -> String {
        if json {
            return serde_json::to_string(self).unwrap_or_default() + "\n";
        }
        let Self { received, received_bytes, stored, dropped_by_queue, seconds, .. } = self;
        let kernel = self.dropped_by_kernel.map_or("an unknown number".to_owned(), |drops| drops.to_string());
        format!(
            "received {received} datagrams of {received_bytes} bytes, stored {stored} within {seconds:.3} s; \
             the kernel dropped {kernel}, the queue {dropped_by_queue}\n"
        )
    }

    /// Whether everything that reached the socket is stored.
    ///
    /// # Errors
    /// It is not.
    pub(super) fn verdict(&self) -> Result<(), Error> {
        let kernel = self.dropped_by_kernel.unwrap_or(0);
        let lost = kernel + self.received.saturating_sub(self.stored);
        let arrived = kernel + self.received;
        if lost == 0 { Ok(()) } else { Err(Error::Dropped { lost, arrived, kernel, queue: self.dropped_by_queue }) }
    }
}
