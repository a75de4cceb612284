//! What feeds a stream's ring: the application directly, or the outbox on disk, epoch by epoch.

use crate::end::{Shared, Up};
use crate::outbox::{Kept, Outbox};
use crate::plan::StreamPlan;
use crate::rng::Rng;
use std::ops::Range;
use tallylink_core::{EpochSource, Error, Instant, Name, OutIx, PeerIx, Priority, PushError};

/// Reason of a gap: the ring was overwritten (wire-format §6.5).
const OVERWRITTEN: u8 = 1;

/// An outbox takes nothing more while it holds this many bytes: the world has an end.
const BACKLOG: u64 = 10_000;

/// What a record counts besides its bytes: otherwise worlds of empty records would be endless.
pub(crate) const RECORD_COST: u64 = 20;

/// A stream of one boot of its sender.
#[derive(Clone, Debug)]
pub(crate) struct Out {
    /// The stream of the world.
    pub(crate) stream: usize,
    pub(crate) at: OutIx,
    peer: PeerIx,
    ring: Range<u32>,
    pub(crate) opened: bool,
    /// The epoch that is being sent, by its place in the outbox, and how many of its records are in the ring or were.
    feeding: usize,
    fed: u64,
    /// The epoch of this boot in the outbox.
    newest: Option<usize>,
    /// The ledger's numbering of a stream without storage, and whether its epoch is known to the ledger.
    pub(crate) source: Option<usize>,
    named: bool,
    /// A sync of the outbox is under way.
    pub(crate) syncing: bool,
}

impl Out {
    /// A stream that has not begun.
    #[must_use]
    pub(crate) fn new(stream: usize, at: OutIx, peer: PeerIx, ring: Range<u32>) -> Self {
        Self {
            stream,
            at,
            peer,
            ring,
            opened: false,
            feeding: 0,
            fed: 0,
            newest: None,
            source: None,
            named: false,
            syncing: false,
        }
    }
}

/// The stream under way in one end, and everything that it works on.
pub(crate) struct Sending<'a> {
    /// The end's memory.
    pub(crate) up: &'a mut Up,
    /// The stream's place among those that the end sends.
    pub(crate) out: usize,
    /// Its outbox.
    pub(crate) outbox: &'a mut Outbox,
    /// Its plan.
    pub(crate) plan: &'a StreamPlan,
    /// The truth.
    pub(crate) shared: &'a Shared,
    /// The time.
    pub(crate) now: Instant,
}

impl Sending<'_> {
    fn out(&mut self) -> &mut Out {
        &mut self.up.outs[self.out]
    }

    /// The application has a record of this size. False when there is no room for it.
    ///
    /// # Errors
    /// What core should not have said.
    pub(crate) fn produce(&mut self, size: u32, rng: &mut Rng) -> Result<bool, String> {
        if self.plan.durable { self.keep(size, rng) } else { self.push_directly(size, rng) }
    }

    fn keep(&mut self, size: u32, rng: &mut Rng) -> Result<bool, String> {
        if self.backlog() > BACKLOG {
            return Ok(false);
        }
        let newest = match self.out().newest {
            Some(newest) => newest,
            None => {
                let mut ledger = self.shared.ledger.borrow_mut();
                let (source, epoch) = (ledger.begin(self.plan_stream()), tallylink_core::Epoch(rng.bytes()));
                ledger.name(source, epoch)?;
                drop(ledger);
                self.outbox.begin(epoch, source);
                let newest = self.outbox.epochs.len() - 1;
                self.out().newest = Some(newest);
                newest
            }
        };
        let kept = &mut self.outbox.epochs[newest];
        kept.written += 1;
        self.shared.ledger.borrow_mut().source_mut(kept.source).sizes.push(size);
        Ok(true)
    }

    /// Bytes in the outbox that are not STORED.
    fn backlog(&self) -> u64 {
        let ledger = self.shared.ledger.borrow();
        let of = |e: &Kept| {
            let sizes = &ledger.source(e.source).sizes;
            sizes[e.stored as usize..].iter().map(|s| u64::from(*s) + RECORD_COST).sum::<u64>()
        };
        self.outbox.epochs.iter().map(of).sum()
    }

    fn plan_stream(&self) -> usize {
        self.up.outs[self.out].stream
    }

    fn push_directly(&mut self, size: u32, rng: &mut Rng) -> Result<bool, String> {
        let source = self.begin_directly()?;
        let mut ledger = self.shared.ledger.borrow_mut();
        ledger.source_mut(source).sizes.push(size);
        let number = ledger.source(source).sizes.len() as u64 - 1;
        let at = self.up.outs[self.out].at;
        let endpoint = &mut self.up.endpoint;
        let pushed = if rng.chance(500) {
            let fill = |a: &mut [u8], b: &mut [u8]| fill_ring(a, b, &ledger.record(source, number));
            endpoint.push_with(self.now, at, size, fill)
        } else if endpoint.storage().outbound()[at.at()].room() < size {
            Err(PushError::Full)
        } else {
            endpoint.push_batch(self.now, at, &ledger.packed(source, number)).map(|p| p.first)
        };
        match pushed {
            Ok(n) if n == number => Ok(true),
            Ok(n) => Err(format!("record {number} was given number {n}")),
            Err(PushError::Full) => {
                ledger.source_mut(source).sizes.pop();
                if rng.chance(self.plan.gives_up) {
                    let stream = &endpoint.storage().outbound()[at.at()];
                    let below = rng.within(stream.stored_below(), stream.next());
                    let of = ledger.source_mut(source);
                    of.given_up = of.given_up.max(below);
                    endpoint.skip(self.now, at, below, OVERWRITTEN);
                }
                Ok(false)
            }
            Err(e) => Err(format!("a record of {size} bytes was refused: {e}")),
        }
    }

    fn begin_directly(&mut self) -> Result<usize, String> {
        if let Some(source) = self.out().source {
            return Ok(source);
        }
        let source = self.shared.ledger.borrow_mut().begin(self.plan_stream());
        self.out().source = Some(source);
        self.open(EpochSource::FirstSession, 0)?;
        Ok(source)
    }

    pub(crate) fn open(&mut self, source: EpochSource, first: u64) -> Result<(), String> {
        let name = Name::new(&self.plan.name).ok_or("a stream has no name")?;
        let now = self.now;
        let Out { at, peer, ring, .. } = self.out().clone();
        self.out().opened = true;
        self.up
            .endpoint
            .open(now, at, peer, name, source, first, ring)
            .map_err(|e| format!("a stream was refused: {e}"))?;
        // Who has many at once has a backlog: it must not be starved, nor hold up the others.
        let priority = if self.plan.burst > 1 { Priority::Backlog } else { Priority::Live };
        self.up.endpoint.set_priority(now, at, priority).map_err(|e| format!("its priority was refused: {e}"))
    }

    /// Moves what can be moved from the outbox to the ring, and notes what was confirmed. True when something was pushed.
    ///
    /// # Errors
    /// A broken promise.
    pub(crate) fn feed(&mut self) -> Result<bool, String> {
        if self.plan.durable { self.feed_from_outbox() } else { self.name().map(|()| false) }
    }

    /// The epoch of a stream without storage becomes known with its first session.
    fn name(&mut self) -> Result<(), String> {
        let out = &mut self.up.outs[self.out];
        let (Some(source), false) = (out.source, out.named) else {
            return Ok(());
        };
        let stream = &self.up.endpoint.storage().outbound()[out.at.at()];
        if let Some(epoch) = stream.epoch() {
            out.named = true;
            self.shared.ledger.borrow_mut().name(source, epoch)?;
        }
        Ok(())
    }

    fn feed_from_outbox(&mut self) -> Result<bool, String> {
        let mut any = false;
        loop {
            let feeding = self.out().feeding;
            let Some(kept) = self.outbox.epochs.get(feeding).copied() else {
                return Ok(any);
            };
            if kept.drained() && self.outbox.epochs.len() > feeding + 1 {
                if self.out().opened && !self.begin_epoch(feeding + 1)? {
                    return Ok(any);
                }
                self.out().feeding += 1;
                continue;
            }
            if kept.drained() && !self.out().opened && self.out().newest != Some(feeding) {
                return Ok(any);
            }
            if !self.out().opened {
                if kept.synced == 0 {
                    return Ok(any);
                }
                let source = EpochSource::Stored { epoch: kept.epoch, previous: kept.previous };
                self.out().fed = kept.stored;
                self.open(source, kept.stored)?;
            }
            any |= self.fill()?;
            return Ok(any);
        }
    }

    /// The next epoch begins on the wire. False while the receiver has not heard of a gap at the end of the one before.
    fn begin_epoch(&mut self, next: usize) -> Result<bool, String> {
        let at = self.out().at;
        let kept = self.outbox.epochs[next];
        if kept.stored > 0 {
            return Err("an epoch was stored before the one before it was drained".into());
        }
        match self.up.endpoint.begin_epoch(self.now, at, kept.epoch, kept.previous) {
            Ok(()) => {
                self.out().fed = 0;
                Ok(true)
            }
            Err(Error::NotStored) => Ok(false),
            Err(e) => Err(format!("an epoch was refused: {e}")),
        }
    }

    fn fill(&mut self) -> Result<bool, String> {
        let Out { at, feeding, fed, .. } = self.out().clone();
        let kept = self.outbox.epochs[feeding];
        let mut number = fed.max(kept.stored);
        while number < kept.synced {
            let ledger = self.shared.ledger.borrow();
            let size = ledger.source(kept.source).sizes[number as usize];
            let fill = |a: &mut [u8], b: &mut [u8]| fill_ring(a, b, &ledger.record(kept.source, number));
            match self.up.endpoint.push_with(self.now, at, size, fill) {
                Ok(n) if n == number => number += 1,
                Ok(n) => return Err(format!("record {number} was given number {n}")),
                Err(PushError::Full) => break,
                Err(e) => return Err(format!("a record was refused: {e}")),
            }
        }
        self.out().fed = number;
        Ok(number > fed)
    }

    /// Core says that records below `below` are STORED.
    ///
    /// # Errors
    /// When they are not.
    pub(crate) fn stored(&mut self, below: u64) -> Result<(), String> {
        let source = if self.plan.durable {
            let feeding = self.out().feeding;
            let kept = &mut self.outbox.epochs[feeding];
            if below > kept.written {
                return Err(format!("the receiver is ahead at {below}, but nothing was copied"));
            }
            kept.stored = kept.stored.max(below);
            kept.source
        } else {
            self.out().source.ok_or("STORED of a stream that was not opened")?
        };
        let mut ledger = self.shared.ledger.borrow_mut();
        if below > ledger.source(source).sizes.len() as u64 {
            return Err(format!("STORED below {below} was told, which is more than was pushed"));
        }
        ledger.told(source, below)
    }

    /// True when everything that was pushed is STORED, and saved.
    pub(crate) fn finished(&mut self) -> bool {
        let at = self.out().at;
        let stream = &self.up.endpoint.storage().outbound()[at.at()];
        stream.room() == self.ring_len() && self.outbox.epochs.iter().all(|e| e.drained())
    }

    fn ring_len(&self) -> u32 {
        let out = &self.up.outs[self.out];
        if out.opened { out.ring.end - out.ring.start } else { 0 }
    }
}

/// Writes a record into the two pieces of a ring that it was given.
fn fill_ring(front: &mut [u8], back: &mut [u8], record: &[u8]) {
    let (a, b) = record.split_at(front.len());
    front.copy_from_slice(a);
    back.copy_from_slice(b);
}

/// The stream of an event.
#[must_use]
pub(crate) fn out_of(up: &Up, at: OutIx) -> Option<usize> {
    up.outs.iter().position(|o| o.at == at)
}
