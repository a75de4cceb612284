//! Reading a journal, while it is written or not, in this process or another.

mod join;
mod track;

use std::collections::VecDeque;
use std::io;

use crate::chunk::Position;
use crate::entry::{Entry, Identity};
use crate::error::{At, Error};
use crate::position::{self, POSITION_FILE};
use crate::recover::Damage;
use crate::scan::{Scanner, Step};
use crate::seal::Mask;
use crate::segment::{self, ENTRIES_AT};
use crate::store::Store;
pub(crate) use join::synced_segments;
use join::{Cut, Walk};
use track::{Part, Tracks};

/// One stored record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Whose it is.
    pub peer: [u8; 8],
    /// The stream's name.
    pub stream: &'a [u8],
    /// The numbering it was counted in.
    pub epoch: [u8; 8],
    /// Its number there.
    pub number: u64,
    /// Its place in the stream, across epochs.
    pub index: u64,
    /// When its last byte came: UTC in microseconds.
    pub arrival_us: u64,
    /// The record itself.
    pub bytes: &'a [u8],
}

/// Numbers of a stream that will never come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap<'a> {
    /// Whose they are.
    pub peer: [u8; 8],
    /// The stream's name.
    pub stream: &'a [u8],
    /// The numbering they were counted in.
    pub epoch: [u8; 8],
    /// The first that is missing.
    pub next: u64,
    /// The first that is not.
    pub below: u64,
    /// Index of the first that is missing.
    pub index: u64,
    /// The code given to [`Journal::gap`](crate::Journal::gap); `None` if the journal itself lacks them, because of
    /// damage or because retention overtook this reader.
    pub reason: Option<u8>,
    /// When that was journalled: UTC in microseconds; 0 without a reason.
    pub arrival_us: u64,
}

/// What a reader meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A record.
    Record(Record<'a>),
    /// Missing numbers.
    Gap(Gap<'a>),
    /// A damaged place; reading goes on behind it.
    Damage(Damage),
}

/// Whole records of one stream, back to back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch<'a> {
    /// Whose they are.
    pub peer: [u8; 8],
    /// The stream's name.
    pub stream: &'a [u8],
    /// The numbering they were counted in.
    pub epoch: [u8; 8],
    /// The first one's number.
    pub number: u64,
    /// How many there are.
    pub count: u64,
    /// The first one's place in the stream, across epochs.
    pub index: u64,
    /// When they came: UTC in microseconds.
    pub arrival_us: u64,
    /// `[size varint][bytes]…`
    pub bytes: &'a [u8],
}

/// What a reader of batches meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packed<'a> {
    /// Records.
    Batch(Batch<'a>),
    /// Missing numbers.
    Gap(Gap<'a>),
    /// A damaged place; reading goes on behind it.
    Damage(Damage),
}

/// Reads everything that is synced, oldest first: within a stream in order, streams as they came.
///
/// Holds one window of 2 MiB, a row per stream met, and the beginning of each record whose end is yet to come.
pub struct Reader<S: Store> {
    store: S,
    journal: u64,
    /// The segment being read, and what is known to follow.
    segment: u64,
    ahead: VecDeque<(u64, u64)>,
    scanner: Option<Scanner<S::File>>,
    tracks: Tracks,
    /// The chunk being taken apart.
    walk: Option<Walk>,
}

/// What [`Reader::advance`] stopped at; the item is put together from it.
enum Stop {
    Records { stream: u32, number: u64, count: u64, arrival_us: u64, part: Part },
    Gap { stream: u32, next: u64, below: u64, reason: Option<u8>, arrival_us: u64 },
    Damage(Damage),
    End,
}

impl<S: Store> Reader<S> {
    /// A reader at the oldest record there is.
    ///
    /// # Errors
    /// There is no journal, its format is unknown, or the disk fails.
    pub fn open(store: S) -> Result<Self, Error> {
        Self::since(store, 0)
    }

    /// A reader that may leave out what arrived before `since_us`, as far as whole segments did.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn since(store: S, since_us: u64) -> Result<Self, Error> {
        let mut reader = Self {
            store,
            journal: 0,
            segment: 0,
            ahead: VecDeque::new(),
            scanner: None,
            tracks: Tracks::default(),
            walk: None,
        };
        reader.look_ahead(since_us)?;
        Ok(reader)
    }

    /// The next item; `None` where everything synced is read: then call again, now and then, or when the file
    /// [`POSITION_FILE`] changes.
    ///
    /// # Errors
    /// The disk fails. The next call tries again.
    #[expect(clippy::should_implement_trait, reason = "an item borrows the reader, which Iterator cannot say")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, Error> {
        let stop = self.advance(Cut::Records)?;
        Ok(self.packed(stop).map(|packed| match packed {
            Packed::Batch(b) => Item::Record(Record {
                peer: b.peer,
                stream: b.stream,
                epoch: b.epoch,
                number: b.number,
                index: b.index,
                arrival_us: b.arrival_us,
                bytes: b.bytes,
            }),
            Packed::Gap(gap) => Item::Gap(gap),
            Packed::Damage(damage) => Item::Damage(damage),
        }))
    }

    /// As [`next`](Self::next), but with as many whole records at once as one chunk holds, in their stored bytes.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn next_batch(&mut self) -> Result<Option<Packed<'_>>, Error> {
        let stop = self.advance(Cut::Batches)?;
        Ok(self.packed(stop))
    }

    #[inline]
    fn packed(&self, stop: Stop) -> Option<Packed<'_>> {
        match stop {
            Stop::End => None,
            Stop::Damage(damage) => Some(Packed::Damage(damage)),
            Stop::Gap { stream, next, below, reason, arrival_us } => self.tracks.get(stream).map(|track| {
                let index = track.base.saturating_add(next);
                let (peer, epoch, stream) = (track.peer, track.epoch, &track.name[..]);
                Packed::Gap(Gap { peer, stream, epoch, next, below, index, reason, arrival_us })
            }),
            Stop::Records { stream, number, count, arrival_us, part } => self.tracks.get(stream).map(|track| {
                let body = self.scanner.as_ref().map_or(&[][..], Scanner::body);
                let bytes = match part {
                    Part::Body { from, to } => &body[from..to],
                    Part::Joined { from } => &track.partial[from..],
                };
                let index = track.base.saturating_add(number);
                let (peer, epoch, stream) = (track.peer, track.epoch, &track.name[..]);
                Packed::Batch(Batch { peer, stream, epoch, number, count, index, arrival_us, bytes })
            }),
        }
    }

    #[inline]
    fn advance(&mut self, cut: Cut) -> Result<Stop, Error> {
        loop {
            if let (Some(walk), Some(scanner)) = (&mut self.walk, &self.scanner) {
                if let Some(stop) = walk.next(&mut self.tracks, scanner.body(), cut) {
                    return Ok(stop);
                }
                self.walk = None;
            }
            if let Some(stop) = self.step()? {
                return Ok(stop);
            }
        }
    }

    /// Takes the next entry. `None` if there is nothing to tell yet.
    fn step(&mut self) -> Result<Option<Stop>, Error> {
        let segment = self.segment;
        let file = || self.store.describe(&segment::name(segment));
        let Some(scanner) = &mut self.scanner else {
            return Ok(if self.next_segment()? { None } else { Some(Stop::End) });
        };
        match scanner.next().at(file, "read")? {
            Step::Entry { at, entry } => {
                let to = scanner.at();
                let known = match entry {
                    Entry::Group { .. } | Entry::Freed { .. } | Entry::Void => true,
                    Entry::Define { stream, base, next } => match Identity::read(scanner.body()) {
                        Some(who) => {
                            return Ok(self.tracks.define(stream, who, base, next).map(|lost| Stop::Gap {
                                stream,
                                next: lost.start,
                                below: lost.end,
                                reason: None,
                                arrival_us: 0,
                            }));
                        }
                        None => false,
                    },
                    Entry::Chunk(chunk) => {
                        self.walk = Walk::new(&self.tracks, chunk, Damage { segment, from: at, to });
                        self.walk.is_some()
                    }
                    Entry::Gap { stream, below, reason, arrival_us, .. } => match self.tracks.get_mut(stream) {
                        Some(track) => {
                            let next = track.next.number;
                            track.go_to(Position::start_of(below.max(next)));
                            let reason = Some(reason);
                            let tells = below > next;
                            return Ok(tells.then_some(Stop::Gap { stream, next, below, reason, arrival_us }));
                        }
                        None => false,
                    },
                };
                Ok((!known).then_some(Stop::Damage(Damage { segment, from: at, to })))
            }
            Step::Bad { .. } => {
                let passed = scanner.resync().at(|| self.store.describe(&segment::name(segment)), "read")?;
                Ok(Some(Stop::Damage(Damage { segment, from: passed.start, to: passed.end })))
            }
            Step::End => Ok(if self.next_segment()? { None } else { Some(Stop::End) }),
        }
    }

    /// Goes on behind the limit reached. `false` if nothing more is synced.
    fn next_segment(&mut self) -> Result<bool, Error> {
        loop {
            let listed_now = self.ahead.is_empty();
            if listed_now {
                self.look_ahead(0)?;
            }
            while let Some((segment, counted)) = self.ahead.pop_front() {
                if self.go_on_in(segment, counted)? {
                    return Ok(true);
                }
            }
            // What was listed earlier may all be deleted by now, and more may have come: only a list of now shows the end.
            if listed_now {
                return Ok(false);
            }
        }
    }

    /// Goes on in a listed segment. `false` if there is nothing to read in it.
    fn go_on_in(&mut self, segment: u64, counted: u64) -> Result<bool, Error> {
        if segment == self.segment
            && let Some(scanner) = &mut self.scanner
        {
            scanner.extend(counted);
            return Ok(scanner.at() < counted);
        }
        let name = segment::name(segment);
        let file = match self.store.open(&name, false) {
            Ok(file) => file,
            // Deleted since it was listed; the definitions behind tell what is missing.
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(e) => return Err(e).at(|| self.store.describe(&name), "open"),
        };
        let mask = Mask::new(self.journal, segment);
        match &mut self.scanner {
            Some(scanner) => scanner.reopen(file, mask, ENTRIES_AT, counted),
            None => self.scanner = Some(Scanner::new(file, mask, ENTRIES_AT, counted)),
        }
        self.segment = segment;
        Ok(true)
    }

    /// Finds out what is synced behind the place reached.
    fn look_ahead(&mut self, since_us: u64) -> Result<(), Error> {
        let published = position::read(&self.store).at(|| self.store.describe(POSITION_FILE), "read")?;
        let Some(published) = published else {
            return Err(io::Error::from(io::ErrorKind::NotFound))
                .at(|| self.store.describe(POSITION_FILE), "find a journal: open it for writing once to recover it,");
        };
        self.journal = published.journal;
        let found = synced_segments(&self.store, &published, self.segment, since_us)?;
        self.ahead.extend(found);
        Ok(())
    }
}
