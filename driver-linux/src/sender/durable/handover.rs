//! Blocks of durable records on their way from the disk's thread to the network's.

#[cfg(all(test, tallylink_loom))]
mod tests;

use crate::outbox::Next;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::PoisonError;

/// Blocks that may wait for the network thread.
const DEPTH: usize = 4;

/// One block, owned by one thread at a time.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) next: Next,
    /// Packed records, if there are any.
    pub(super) bytes: Vec<u8>,
    /// How many of these bytes are in the ring, or need not be.
    pub(super) placed: usize,
}

/// A short queue of blocks, and their emptied buffers on the way back.
#[derive(Debug, Default)]
pub(super) struct Handover {
    len: AtomicUsize,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    blocks: VecDeque<Block>,
    spare: Vec<Vec<u8>>,
}

impl Handover {
    pub(super) fn has_room(&self) -> bool {
        self.len.load(Ordering::Acquire) < DEPTH
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len.load(Ordering::Acquire) == 0
    }

    /// An empty buffer.
    pub(super) fn buffer(&self) -> Vec<u8> {
        self.queue().spare.pop().unwrap_or_default()
    }

    pub(super) fn put(&self, block: Block) {
        let mut queue = self.queue();
        queue.blocks.push_back(block);
        self.len.store(queue.blocks.len(), Ordering::Release);
    }

    pub(super) fn take(&self) -> Option<Block> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.queue();
        let block = queue.blocks.pop_front();
        self.len.store(queue.blocks.len(), Ordering::Release);
        block
    }

    pub(super) fn give_back(&self, mut buffer: Vec<u8>) {
        let mut queue = self.queue();
        if queue.spare.len() < DEPTH {
            buffer.clear();
            queue.spare.push(buffer);
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
