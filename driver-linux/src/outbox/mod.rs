//! A sender's outbox on disk: one stream's records, from the push until the receiver has stored them (storage §10).
//!
//! [`Outbox`] is a state machine over one journal. It has no thread, reads no clock and draws nothing at random: what
//! drives it (the thread behind [`Sender::open_durable`](crate::Sender::open_durable), or a test) calls
//!
//! | call | when |
//! |---|---|
//! | [`append`](Outbox::append) | with what was pushed; again with the same after an error |
//! | [`commit`](Outbox::commit) | to make that durable, and what the receiver has stored |
//! | [`rewind`](Outbox::rewind) | after an error of either; the next append tries the disk again |
//! | [`next`](Outbox::next) | for what goes to the receiver: durable records, of one epoch until all of it is STORED |
//! | [`free`](Outbox::free) | with what the receiver says is STORED |
//! | [`maintain`](Outbox::maintain) | after a commit: segments with nothing left to deliver are deleted; and while it is not [published](Outbox::is_published) |
//!
//! ```
//! use tallylink_core::{Epoch, Name, PeerId};
//! use tallylink_journal::testing::MemStore;
//! use tallylink_linux::outbox::{Group, Outbox, OutboxOptions, Owner, What};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let owner = Owner { peer: PeerId(*b"sensor-1"), stream: Name::new("temperature").ok_or("a name has 1 to 64 bytes")? };
//! let disk = MemStore::new(1);
//! let open = |epoch| Outbox::open(disk.clone(), &owner, Epoch([epoch; 8]), &OutboxOptions::default());
//!
//! let mut outbox = open(1)?;
//! let mut group = Group::default();
//! group.push(b"21.5");
//! outbox.append(&group, 1_700_000_000_000_000)?;
//! let mut block = Vec::new();
//! assert!(outbox.next(&mut block)?.is_none(), "nothing leaves before it is durable");
//! outbox.commit()?;
//! drop(outbox);
//!
//! let mut outbox = open(2)?;
//! let next = outbox.next(&mut block)?.ok_or("it waits")?;
//! assert_eq!((next.epoch, next.what), (Epoch([1; 8]), What::Records { first: 0, count: 1 }));
//! assert_eq!(block, b"\x0421.5");
//! outbox.free(next.epoch, 1);
//! outbox.commit()?;
//! assert_eq!(outbox.waiting(), 0);
//! # Ok(())
//! # }
//! ```

mod epochs;
mod error;
mod group;
mod refill;

pub use epochs::EpochNow;
pub use error::OutboxError;
pub use group::Group;
pub use refill::{Next, What};

pub(crate) use group::{PIECE_BYTES, Run, first_stored};
pub(crate) use refill::behind;

use epochs::Epochs;
use refill::Refill;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tallylink_core::wire::Previous;
use tallylink_core::{Epoch, Name, PeerId};
use tallylink_journal::{
    Chunk, Dir, Error, Journal, MAX_BODY, Maintained, Options, Position, Recovery, Retention, Store, StreamId,
};

/// Whose records an outbox holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The peer that sends them.
    pub peer: PeerId,
    /// The stream.
    pub stream: Name,
}

/// How an outbox is kept.
#[derive(Clone, Debug)]
pub struct OutboxOptions {
    /// A random number, used when the outbox is made (storage §2).
    pub salt: u64,
    /// Size of a segment in bytes: what is delivered is deleted in such pieces. Four times as large while more than one waits,
    /// since each costs the disk a few pauses.
    pub segment_bytes: u64,
    /// How long records wait for others to share a write with, unless somebody waits for them: for the thread that drives
    /// the outbox.
    pub group_every: Duration,
    /// Bytes that may wait in memory for the disk; as many again may be on their way to it. One record may be longer.
    pub memory_bytes: usize,
    /// Openings whose records may wait at the same time, at most 1,000.
    pub max_openings: usize,
}

impl Default for OutboxOptions {
    fn default() -> Self {
        Self {
            salt: 0,
            segment_bytes: 16 << 20,
            group_every: Duration::from_millis(5),
            memory_bytes: 8 << 20,
            max_openings: 1000,
        }
    }
}

/// The records of one stream that are on their way to being STORED.
pub struct Outbox<S: Store = Dir> {
    journal: Journal<S>,
    owner: Owner,
    options: OutboxOptions,
    stream: StreamId,
    /// What this opening appends to.
    fresh: Epoch,
    epochs: Epochs,
    refill: Refill<S>,
    /// How many records the outbox had ever held when it was opened.
    history: u64,
    recovery: Recovery,
    /// Time does not go back in a journal that is read by time.
    latest_us: u64,
}

impl<S: Store + Clone> Outbox<S> {
    /// Opens the outbox in `store`, or makes one. `fresh` is the epoch of this opening: eight random bytes, never used before.
    ///
    /// # Errors
    /// [`OutboxError`]: it is in use, belongs to another peer or stream, or cannot be read.
    pub fn open(store: S, owner: &Owner, fresh: Epoch, options: &OutboxOptions) -> Result<Self, OutboxError> {
        Self::open_until(store, owner, fresh, options, &Arc::default())
    }

    /// As [`Outbox::open`], but gives up soon after `stop` is set: recovering a damaged outbox may take a while. What was there
    /// stays there; a later opening begins again.
    ///
    /// # Errors
    /// As [`Outbox::open`], and [`OutboxError::Stopped`].
    pub fn open_until(
        store: S,
        owner: &Owner,
        fresh: Epoch,
        options: &OutboxOptions,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, OutboxError> {
        let journal_options = Options {
            salt: options.salt,
            segment_bytes: options.segment_bytes,
            max_streams: 1,
            // Beside those that wait, some that are delivered: the next one names its predecessor.
            remembered_epochs: options.max_openings.min(1000) + 24,
            retention: Retention { freed: true, ..Retention::default() },
            ..Options::default()
        };
        let place = store.describe("");
        let opened = Journal::open_until(store.clone(), journal_options, stop);
        let (mut journal, recovery) = opened.map_err(|why| OutboxError::of_opening(why, &place))?;
        let name = owner.stream.as_str();
        if let Some((_, peer, stream)) = journal.streams().find(|(_, p, s)| (*p, *s) != (owner.peer.0, name.as_bytes()))
        {
            return Err(OutboxError::Foreign {
                place,
                holds: format!("{}/{}", PeerId(peer), String::from_utf8_lossy(stream).escape_debug()),
                wanted: format!("{}/{}", owner.peer, name.escape_debug()),
            });
        }
        let stream = journal.stream(owner.peer.0, name.as_bytes())?;
        let epochs = Epochs::of(&journal, stream);
        let history = journal.index_end(stream);
        let refill = Refill::new(store);
        let (owner, options, latest_us) = (owner.clone(), options.clone(), 0);
        Ok(Self { journal, owner, options, stream, fresh, epochs, refill, history, recovery, latest_us })
    }

    /// Takes a group's records, as far as they are not durable already; the first one's number is `group.first()`.
    ///
    /// # Errors
    /// Then [`Outbox::rewind`], and the same group again later: nothing of it is lost, and nothing goes in twice.
    pub fn append(&mut self, group: &Group, now_us: u64) -> Result<(), OutboxError> {
        let most = self.options.max_openings.min(1000);
        if !self.epochs.has(self.fresh) && self.epochs.undelivered() >= most {
            return Err(OutboxError::TooManyOpenings { most });
        }
        self.latest_us = self.latest_us.max(now_us);
        let segment = self.options.segment_bytes;
        let larger = self.journal.segment_bytes() >= segment / 2;
        self.journal.set_segment_bytes(if larger { segment.saturating_mul(4) } else { segment });
        self.journal.begin_epoch(self.stream, self.fresh.0, 0, 0)?;
        for piece in group.pieces() {
            let next = self.position().number;
            if piece.first + piece.records <= next {
                continue;
            }
            if piece.first != next {
                let (expected, got) = (Position::start_of(next), Position::start_of(piece.first));
                return Err(Error::OutOfOrder { expected, got }.into());
            }
            self.append_piece(piece.first, piece.records, piece.bytes)?;
        }
        Ok(())
    }

    fn append_piece(&mut self, first: u64, records: u64, bytes: &[u8]) -> Result<(), OutboxError> {
        let (stream, epoch, arrival) = (self.stream, self.fresh.0, self.latest_us);
        let end = Position::start_of(first + records);
        if bytes.len() <= MAX_BODY {
            let from = Position::start_of(first);
            let records = records as u32;
            return Ok(self
                .journal
                .append(Chunk { stream, epoch, from, to: end, first_record: 0, records, bytes }, arrival)?);
        }
        // Only a single record is so long: several chunks carry it.
        let mut done = 0;
        for part in bytes.chunks(MAX_BODY) {
            let from = Position { number: first, offset: done };
            done += part.len() as u32;
            let to = if done as usize == bytes.len() { end } else { Position { number: first, offset: done } };
            let (first_record, records) = if from.offset == 0 { (0, 1) } else { (part.len() as u32, 0) };
            self.journal.append(Chunk { stream, epoch, from, to, first_record, records, bytes: part }, arrival)?;
        }
        Ok(())
    }

    /// Makes durable what was appended, and how far records are STORED.
    ///
    /// # Errors
    /// Then [`Outbox::rewind`].
    pub fn commit(&mut self) -> Result<(), OutboxError> {
        let marks: Vec<_> = self.epochs.unmarked().collect();
        for &(epoch, below) in &marks {
            match self.journal.freed(self.stream, epoch.0, below) {
                // Forgotten behind a thousand later ones.
                Err(Error::UnknownEpoch) => {}
                done => done?,
            }
        }
        self.journal.commit()?;
        self.epochs.marked(&marks);
        self.refresh();
        Ok(())
    }

    /// Goes back to what is durable after an error. Needs no disk.
    pub fn rewind(&mut self) {
        self.journal.rewind();
        // Some of a group may have become durable before the rest failed.
        self.refresh();
    }

    fn refresh(&mut self) {
        if let Some(state) = self.journal.epoch_state(self.stream, self.fresh.0) {
            self.epochs.durable(self.fresh, state.stored_below);
        }
    }

    /// What goes to the receiver next; its records are put into `block`, packed. `None`: nothing now, or nothing before
    /// more is durable or STORED and committed.
    ///
    /// # Errors
    /// The disk cannot be read; the next call tries again.
    pub fn next(&mut self, block: &mut Vec<u8>) -> Result<Option<Next>, OutboxError> {
        Ok(self.refill.next(&self.epochs, self.journal.is_published(), block)?)
    }

    /// Records of `epoch` below `below` are STORED. It is on disk after the next [`Outbox::commit`].
    ///
    /// Returns false when the receiver has more of it than was ever durable here: the outbox was restored or copied.
    pub fn free(&mut self, epoch: Epoch, below: u64) -> bool {
        self.epochs.free(epoch, below)
    }

    /// Deletes segments of which everything is STORED. `now_us` is UTC.
    ///
    /// # Errors
    /// The disk failed; the next call tries again.
    pub fn maintain(&mut self, now_us: u64) -> Result<Maintained, OutboxError> {
        Ok(self.journal.maintain(now_us)?)
    }

    /// Commits and ends; the next opening is quicker than after a crash.
    ///
    /// # Errors
    /// The disk failed; what was durable stays so.
    pub fn close(mut self) -> Result<(), OutboxError> {
        self.commit()?;
        Ok(self.journal.close()?)
    }

    /// The epoch, first number and predecessor that sending begins with.
    #[must_use]
    pub fn begins(&self) -> (Epoch, u64, Option<Previous>) {
        self.epochs.begins(self.fresh)
    }

    /// Whose it is.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// How it is kept.
    #[must_use]
    pub fn options(&self) -> &OutboxOptions {
        &self.options
    }

    /// The epoch that this opening appends to.
    #[must_use]
    pub fn fresh(&self) -> Epoch {
        self.fresh
    }

    /// Number of the first record of this opening that is not durable.
    #[must_use]
    pub fn durable_below(&self) -> u64 {
        self.epochs.end(self.fresh)
    }

    /// Number of the first record of this opening that is not STORED.
    #[must_use]
    pub fn stored_below(&self) -> u64 {
        self.epochs.freed(self.fresh)
    }

    /// Durable records that are not STORED, of all epochs.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.epochs.waiting()
    }

    /// How many records the outbox had ever made durable when it was opened, those long delivered and deleted included.
    #[must_use]
    pub fn history(&self) -> u64 {
        self.history
    }

    /// True when a later epoch waits for what was STORED to be on disk, which [`Outbox::commit`] does.
    #[must_use]
    pub fn awaits_mark(&self) -> bool {
        self.epochs.awaits_mark()
    }

    /// Whether [`Outbox::next`] sees all that is durable. If not, [`Outbox::maintain`] tries to make it so.
    #[must_use]
    pub fn is_published(&self) -> bool {
        self.journal.is_published()
    }

    /// Records that are STORED, which the disk does not know yet.
    #[must_use]
    pub fn unmarked(&self) -> u64 {
        self.epochs.unmarked_records()
    }

    /// Every epoch that is remembered, oldest first.
    pub fn epochs(&self) -> impl Iterator<Item = EpochNow> {
        self.epochs.iter()
    }

    /// What opening found.
    #[must_use]
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// The journal, to look at.
    #[must_use]
    pub fn journal(&self) -> &Journal<S> {
        &self.journal
    }

    fn position(&self) -> Position {
        self.journal.epoch_state(self.stream, self.fresh.0).map_or(Position::default(), |state| state.next)
    }
}

impl<S: Store> fmt::Debug for Outbox<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").field("fresh", &self.fresh).field("epochs", &self.epochs).finish_non_exhaustive()
    }
}
