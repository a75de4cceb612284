//! How the network thread and the program's thread tell each other of records and of room for them.

#[cfg(all(test, tallylink_loom))]
mod tests;

use crate::sync::atomic::{AtomicBool, Ordering, fence};
use crate::wake::Gate;
use tallylink_core::Full;

/// What both threads look at.
#[derive(Debug, Default)]
pub(super) struct Doors {
    /// Where the program waits for records.
    pub(super) gate: Gate,
    /// The network thread found no room in the queue.
    starved: AtomicBool,
}

impl Doors {
    /// The network thread: puts something into the queue, which `put` tries.
    ///
    /// # Errors
    /// [`Full`]; [`Self::was_starved`] will say so.
    #[inline]
    pub(super) fn put(&self, mut put: impl FnMut() -> Result<(), Full>) -> Result<(), Full> {
        if put().is_err() {
            // The program says that there is room only when it can see that this was set; it may have made room just before.
            self.starved.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            put()?;
        }
        self.gate.notify();
        Ok(())
    }

    /// The program, after it made room: true once after the network thread found none and must be told of it.
    pub(super) fn was_starved(&self) -> bool {
        fence(Ordering::SeqCst);
        self.starved.load(Ordering::Relaxed) && self.starved.swap(false, Ordering::AcqRel)
    }
}
