//! What other threads see of a router at work.
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use crate::lab::emulator::Queue;

#[derive(Debug, Default)]
pub(crate) struct View {
    queue: Mutex<Queue>,
    largest: AtomicUsize,
}

impl View {
    /// What went through the sender's queue, as of a moment ago.
    pub(crate) fn queue(&self) -> Queue {
        *self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of the largest packet that the sender has sent since this was asked last.
    pub(crate) fn take_largest(&self) -> usize {
        self.largest.swap(0, Ordering::Relaxed)
    }

    pub(super) fn show(&self, queue: &Queue) {
        *self.queue.lock().unwrap_or_else(PoisonError::into_inner) = *queue;
    }

    pub(super) fn see(&self, length: usize) {
        self.largest.fetch_max(length, Ordering::Relaxed);
    }
}
