//! What a receiver does with records: a bounded queue, and a writer that appends at exactly the right position.

use crate::ledger::Ledger;
use crate::log::{Entry, Head, Log, head_of};
use crate::plan::JournalPlan;
use crate::rng::Rng;
use std::cell::RefCell;
use std::rc::Rc;
use tallylink_core::{Accept, Batch, Deliver, Epoch, Full, InIx, Open, PeerIx, Position, Refusal};

/// One boot of a receiver.
#[derive(Debug)]
pub(crate) struct Inbox {
    plan: JournalPlan,
    ledger: Rc<RefCell<Ledger>>,
    rng: Rng,
    /// The streams that this end receives: the place in here is the index that core is given.
    streams: Vec<usize>,
    /// The ends that are its peers, by core's index.
    peers: Vec<usize>,
    heads: Vec<Head>,
    queue: Vec<Entry>,
    queued: usize,
    /// The queue was full: core waits to be told of room.
    pub(crate) starved: bool,
    /// What went wrong in a call from core.
    pub(crate) violation: Option<String>,
}

impl Inbox {
    /// A receiver that starts with this disk.
    #[must_use]
    pub(crate) fn new(
        plan: JournalPlan,
        ledger: Rc<RefCell<Ledger>>,
        rng: Rng,
        streams: Vec<usize>,
        peers: Vec<usize>,
        log: &Log,
    ) -> Self {
        Self {
            plan,
            ledger,
            rng,
            streams,
            peers,
            heads: log.heads(),
            queue: Vec::new(),
            queued: 0,
            starved: false,
            violation: None,
        }
    }

    /// From now on nothing is refused without need.
    pub(crate) fn calm(&mut self) {
        (self.plan.full, self.plan.refuse) = (0, 0);
    }

    /// True when there is something to write.
    #[must_use]
    pub(crate) fn waits(&self) -> bool {
        !self.queue.is_empty()
    }

    /// The writer takes everything that waits.
    pub(crate) fn write_to(&mut self, log: &mut Log) {
        self.queued = 0;
        log.entries.append(&mut self.queue);
    }

    /// A sync returned: what is now known to be stored, by index of stream and epoch.
    pub(crate) fn synced(&mut self, entries: &[Entry]) -> Vec<(InIx, Epoch, u64)> {
        let mut news: Vec<(InIx, Epoch, u64)> = Vec::new();
        for entry in entries {
            let Some(at) = self.streams.iter().position(|s| *s == entry.stream) else {
                continue;
            };
            let (ix, below) = (InIx(at as u32), entry.to.number);
            let head = head_of(&mut self.heads, entry.stream, entry.epoch);
            head.stored_below = head.stored_below.max(below);
            let mut ledger = self.ledger.borrow_mut();
            if let Some(source) = ledger.named(entry.stream, entry.epoch) {
                ledger.durable(source, below);
            }
            news.retain(|(i, e, _)| (*i, *e) != (ix, entry.epoch));
            news.push((ix, entry.epoch, below));
        }
        news
    }

    /// A sync failed: what was given since the last one does not count.
    pub(crate) fn back_to(&mut self, log: &Log) {
        (self.queue, self.queued) = (Vec::new(), 0);
        self.heads = log.heads();
    }

    fn take(&mut self, entry: Entry) -> Result<(), Full> {
        let size = entry.bytes.as_ref().map_or(0, Vec::len) + 64;
        let no_room = self.queued + size > self.plan.queue && !self.queue.is_empty();
        if no_room || self.rng.chance(self.plan.full) {
            self.starved = true;
            return Err(Full);
        }
        if let Err(what) = self.check(&entry) {
            let (stream, epoch) = (entry.stream, entry.epoch);
            self.violation.get_or_insert(format!("stream {stream} epoch {epoch:?}: {what}"));
        }
        head_of(&mut self.heads, entry.stream, entry.epoch).next = entry.to;
        self.queued += size;
        self.queue.push(entry);
        Ok(())
    }

    /// Only the next position may be appended, or the record that is not whole anew.
    fn check(&mut self, entry: &Entry) -> Result<(), String> {
        let next = head_of(&mut self.heads, entry.stream, entry.epoch).next;
        if entry.from != next && entry.from != Position::start_of(next.number) {
            return Err(format!("delivered at {:?} instead of {next:?}", entry.from));
        }
        let ledger = self.ledger.borrow();
        let source = ledger.named(entry.stream, entry.epoch).ok_or("nobody made that epoch")?;
        match &entry.bytes {
            Some(bytes) => ledger.compare(source, entry.from, entry.to, bytes),
            None if !self.plan.durable && next.number == 0 => Ok(()),
            None => {
                let missing = (entry.from.number..entry.to.number).find(|n| !ledger.may_miss(source, *n));
                missing.map_or(Ok(()), |n| Err(format!("record {n} is called missing")))
            }
        }
    }

    /// What a sender says of the epoch before must agree with what is stored of it.
    fn check_open(&self, stream: usize, open: &Open<'_>) -> Result<(), String> {
        let ledger = self.ledger.borrow();
        if ledger.named(stream, open.epoch).is_none() {
            return Err(format!("epoch {:?} was opened, but nobody made it", open.epoch));
        }
        let newest = self.heads.iter().rfind(|h| h.stream == stream);
        let known = self.heads.iter().any(|h| h.stream == stream && h.epoch == open.epoch);
        if known || !self.plan.durable || !ledger.streams[stream].durable {
            return Ok(());
        }
        let before = newest.map(|h| (h.epoch, h.stored_below));
        let said = open.previous.map(|p| (p.epoch, p.end));
        // Of an epoch's last records the receiver may never have heard, if they are all above its limit.
        let agrees = match open.previous {
            Some(p) => {
                let below = |h: &&Head| h.stream == stream && h.epoch == p.epoch;
                let below = self.heads.iter().find(below).map_or(0, |h| h.stored_below);
                let source = ledger.named(stream, p.epoch).ok_or("nobody made the epoch before")?;
                below <= p.end && (below..p.end).all(|n| ledger.may_miss(source, n))
            }
            None => before.is_none(),
        };
        if agrees { Ok(()) } else { Err(format!("the epoch before is {before:?}, but the sender says {said:?}")) }
    }
}

impl Deliver for Inbox {
    fn open(&mut self, peer: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        let Some(at) = self.known(peer, open.name).map(InIx::at) else {
            self.violation.get_or_insert(format!("a stream {:?} was opened", open.name));
            return Err(Refusal::Name);
        };
        if let Err(what) = self.check_open(self.streams[at], open) {
            self.violation.get_or_insert(format!("stream {}: {what}", self.streams[at]));
        }
        if self.rng.chance(self.plan.refuse) {
            return Err(Refusal::Storage);
        }
        let known = self.heads.iter().find(|h| h.stream == self.streams[at] && h.epoch == open.epoch);
        Ok(Accept {
            stream: InIx(at as u32),
            stored_below: known.map_or(0, |h| h.stored_below),
            next: known.map_or(0, |h| h.next.number),
        })
    }

    fn known(&self, peer: PeerIx, name: &str) -> Option<InIx> {
        let (sender, ledger) = (self.peers[peer.at()], self.ledger.borrow());
        let named = |s: &usize| ledger.streams[*s].sender == sender && ledger.streams[*s].name == name;
        self.streams.iter().position(named).map(|at| InIx(at as u32))
    }

    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        self.take(Entry {
            stream: self.streams[batch.stream.at()],
            epoch: batch.epoch,
            from: batch.from,
            to: batch.to,
            bytes: Some(batch.bytes.to_vec()),
        })
    }

    fn resumed(&mut self, _: PeerIx, stream: InIx, epoch: Epoch, next: u64) {
        let (stream, next) = (self.streams[stream.at()], Position::start_of(next));
        let head = head_of(&mut self.heads, stream, epoch);
        if self.plan.durable && head.next != next {
            let what =
                format!("stream {stream} goes on at {next:?} after a sleep, and the disk ends at {:?}", head.next);
            self.violation.get_or_insert(what);
        }
        (head.next, head.stored_below) = (next, next.number);
    }

    fn gap(&mut self, stream: InIx, epoch: Epoch, from: u64, below: u64, _reason: u8) -> Result<(), Full> {
        self.take(Entry {
            stream: self.streams[stream.at()],
            epoch,
            from: Position::start_of(from),
            to: Position::start_of(below),
            bytes: None,
        })
    }
}
