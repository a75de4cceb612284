//! An outbox's records on the network thread: from blocks into the ring, and what is STORED back.

use super::handover::Block;
use super::shared::{Shared, Told};
use crate::application::Application;
use crate::network::Network;
use crate::outbox::{Next, What, behind};
use std::sync::Arc;
use tallylink_core::{Epoch, OutIx, OutStream, PushError};

/// Why records become a gap (wire-format §6.5).
const TOO_LARGE: u8 = 2;
const BEFORE_FIRST: u8 = 3;
const LOST: u8 = 5;

/// A block's way into the ring, and what goes back.
#[derive(Debug)]
pub(crate) struct DurableOutlet {
    at: OutIx,
    shared: Arc<Shared>,
    epoch: Epoch,
    fresh: Epoch,
    block: Option<Block>,
    /// What it was like when nothing more could be placed.
    stuck: Option<Stand>,
    told: Option<Told>,
}

/// What decides whether more can be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stand {
    room: u32,
    head: u64,
    next: u64,
    gives_up: Option<u8>,
}

impl DurableOutlet {
    pub(crate) fn new(at: OutIx, shared: Arc<Shared>, epoch: Epoch, fresh: Epoch) -> Self {
        Self { at, shared, epoch, fresh, block: None, stuck: None, told: None }
    }

    /// True while something is not STORED.
    pub(crate) fn outstanding(&self) -> bool {
        self.shared.outstanding()
    }

    /// True when there is something to place, and it may be possible.
    pub(crate) fn ready<A: Application + 'static>(&self, network: &Network<A>) -> bool {
        match self.block {
            Some(_) => self.stuck.is_none() || self.stuck != stand(network, self.at),
            None => !self.shared.handover.is_empty(),
        }
    }

    /// True when there is nothing to place, or it was not possible.
    pub(crate) fn idle(&self) -> bool {
        self.block.is_some() || self.shared.handover.is_empty()
    }

    /// Places what can be placed. Returns true when something was.
    pub(crate) fn pump<A: Application + 'static>(&mut self, network: &mut Network<A>) -> bool {
        if !self.ready(network) {
            return false;
        }
        let mut placed = false;
        while let Some(mut block) = self.block.take().or_else(|| self.shared.handover.take()) {
            if !self.place(network, &mut block) {
                self.block = Some(block);
                break;
            }
            placed = true;
            self.shared.handover.give_back(block.bytes);
            self.shared.wake_keeper();
        }
        self.stuck = stand(network, self.at);
        placed
    }

    /// Passes on what is STORED.
    pub(crate) fn confirm<A: Application + 'static>(&mut self, network: &Network<A>) {
        let Some(stream) = network.stream(self.at) else { return };
        if self.epoch == self.fresh {
            self.shared.is_received(stream.received_below());
        }
        let stored = stream.stored_below();
        match stream.gives_up() {
            None => {
                let told = Told { epoch: self.epoch, stored };
                if self.told != Some(told) {
                    self.told = Some(told);
                    self.shared.tell(told);
                }
            }
            // The disk must not take for STORED what the receiver has not even heard to be missing.
            Some(TOO_LARGE) if self.shared.gives_up_too_large(stored) => {
                tracing::warn!(
                    "the receiver lowered its limit: records before number {stored} that are larger are given up; it has a gap there"
                );
            }
            Some(_) => {}
        }
    }

    /// True when all of the block is placed.
    fn place<A: Application + 'static>(&mut self, network: &mut Network<A>, block: &mut Block) -> bool {
        if block.next.epoch != self.epoch {
            if network.begin_epoch(self.at, block.next.epoch, block.next.previous).is_err() {
                return false;
            }
            (self.epoch, self.told) = (block.next.epoch, None);
        }
        match block.next.what {
            What::Lost { below } => self.pass_over(network, below, LOST),
            What::Records { first, count } => self.place_records(network, block, first, first + count),
        }
    }

    fn place_records<A: Application + 'static>(
        &self,
        network: &mut Network<A>,
        block: &mut Block,
        mut first: u64,
        end: u64,
    ) -> bool {
        loop {
            let next = network.stream(self.at).map_or(0, OutStream::next);
            let rest = block.bytes.get(block.placed..).unwrap_or(&[]);
            if first >= end {
                return true;
            }
            if first < next {
                // The receiver has them: it knows the epoch from before.
                let passed = next.min(end) - first;
                block.placed = block.bytes.len() - behind(rest, passed).len();
                first += passed;
            } else if first > next {
                if !self.pass_over(network, first, BEFORE_FIRST) {
                    break;
                }
            } else {
                match network.push_batch(self.at, rest) {
                    Ok(pushed) => {
                        block.placed += pushed.bytes;
                        first += pushed.records;
                    }
                    // It was pushed when this sender's own limit was higher.
                    Err(PushError::TooLarge) if self.pass_over(network, first + 1, TOO_LARGE) => {}
                    Err(_) => break,
                }
            }
        }
        block.next = Next { what: What::Records { first, count: end - first }, ..block.next };
        false
    }

    /// Makes a gap up to `below`; that waits until everything before is STORED.
    fn pass_over<A: Application + 'static>(&self, network: &mut Network<A>, below: u64, reason: u8) -> bool {
        let next = |network: &Network<A>| network.stream(self.at).map_or(0, OutStream::next);
        let drained = network.stream(self.at).is_some_and(|s| s.stored_below() == s.next());
        if next(network) < below && drained {
            network.skip(self.at, below, reason);
        }
        next(network) >= below
    }
}

fn stand<A: Application + 'static>(network: &Network<A>, at: OutIx) -> Option<Stand> {
    network.stream(at).map(|s| Stand { room: s.room(), head: s.stored_below(), next: s.next(), gives_up: s.gives_up() })
}
