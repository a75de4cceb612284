//! A run as other threads see it, and stop it.
use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use anyhow::{Result, ensure};

use crate::clock;

/// How often an end that waits looks whether it is still wanted.
pub(crate) const TICK: Duration = Duration::from_millis(50);
/// Nothing on the way takes so long: who waits longer waits for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// Shared by both ends of a run and whoever started it.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    received: AtomicU64,
    moves: AtomicU64,
    over: AtomicBool,
}

impl Watch {
    /// Records that the receiver has checked.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    pub(crate) fn set_received(&self, records: u64) {
        self.received.store(records, Ordering::Relaxed);
    }

    /// How often the receiver's side saw the sender at another address, which answered.
    pub(crate) fn moves(&self) -> u64 {
        self.moves.load(Ordering::Relaxed)
    }

    pub(crate) fn add_move(&self) {
        self.moves.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether both ends shall end now, whatever is under way.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Notices that a run stands still for good.
pub(crate) struct Patience {
    seen: u64,
    since: std::time::Instant,
}

impl Patience {
    pub(crate) fn new() -> Self {
        Self { seen: 0, since: clock::wall() }
    }

    /// # Errors
    /// When `reached` has not moved for long.
    pub(crate) fn check(&mut self, reached: u64) -> Result<()> {
        if reached != self.seen {
            *self = Self { seen: reached, ..Self::new() };
        }
        ensure!(self.since.elapsed() < PATIENCE, "nothing moved for {PATIENCE:?} after record {reached}");
        Ok(())
    }
}
