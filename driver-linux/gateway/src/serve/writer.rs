//! The journal's thread: it appends every chunk that waits, makes groups of them durable, and tells how far.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tallylink_core::Epoch;
use tallylink_journal::{Chunk, Error, Journal, Position, Store, StreamId};
use tracing::{error, info, warn};

use super::bridge::{Bridge, JournalNow, Report};
use super::queue::{Item, Take};
use crate::clock;

/// A group is not left open for more, once it has so many bytes.
const GROUP_BYTES: u64 = 1 << 20;
/// How often old segments are looked for when nothing is written, if they may go for their age.
const AGE_CHECK: Duration = Duration::from_secs(30);

/// What a turn leaves to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Another turn, at once.
    Again,
    /// A turn when something was put, and at the latest after this.
    Wait(Duration),
    /// A turn when something was put.
    Rest,
    /// Nothing more will come.
    Over,
}

/// Writes the journal until the queue is over.
pub(super) struct Writer<S: Store> {
    journal: Journal<S>,
    queue: Take,
    bridge: Arc<Bridge>,
    /// Wakes the network thread.
    wake: Box<dyn Fn() + Send>,
    interval: Duration,
    /// When the open group got its first chunk.
    group: Option<Instant>,
    checks_age: bool,
    /// The journal's ids of the streams, and the epoch each is known to have begun.
    streams: Vec<Option<(StreamId, Option<Epoch>)>>,
    /// And back.
    places: Vec<(StreamId, u32)>,
    /// What became durable and is not told yet.
    reports: Vec<Report>,
    /// Everything is passed over until the network thread says where it goes on.
    failed: bool,
    failures: u64,
}

impl<S: Store> Writer<S> {
    pub(super) fn new(
        journal: Journal<S>,
        queue: Take,
        bridge: Arc<Bridge>,
        wake: Box<dyn Fn() + Send>,
        interval: Duration,
        checks_age: bool,
    ) -> Self {
        let streams: Vec<_> = journal.streams().map(|(id, ..)| Some((id, None))).collect();
        let mut places: Vec<_> = (0..).zip(&streams).filter_map(|(i, row)| Some(((*row)?.0, i))).collect();
        places.sort_unstable();
        Self {
            journal,
            queue,
            bridge,
            wake,
            interval,
            group: None,
            checks_age,
            streams,
            places,
            reports: Vec::new(),
            failed: false,
            failures: 0,
        }
    }

    /// Runs on its own thread. Returns when the network thread is gone and all that it put is durable, or cannot be.
    pub(super) fn run(mut self) {
        loop {
            match self.turn() {
                Next::Again => {}
                Next::Wait(at_most) => thread::park_timeout(at_most),
                Next::Rest if self.checks_age => {
                    thread::park_timeout(AGE_CHECK);
                    self.maintain();
                }
                Next::Rest => thread::park(),
                Next::Over => break,
            }
        }
        info!("everything received is stored");
    }

    /// Appends what waits and, when it is time, makes it durable.
    pub(super) fn turn(&mut self) -> Next {
        let took = self.take_all();
        if took > 0 {
            self.bridge.took();
            (self.wake)();
        }
        if self.journal.pending_bytes() == 0 {
            self.group = None;
            return match took {
                0 if self.queue.is_over() => Next::Over,
                0 => Next::Rest,
                _ => Next::Again,
            };
        }
        let began = *self.group.get_or_insert_with(clock::monotonic);
        let left = self.interval.saturating_sub(clock::monotonic().saturating_duration_since(began));
        if left.is_zero() || self.journal.pending_bytes() >= GROUP_BYTES || self.queue.is_over() {
            self.group = None;
            self.commit();
        } else if took == 0 {
            return Next::Wait(left);
        }
        Next::Again
    }

    /// Appends what waits, up to a group. Returns how many items were taken.
    fn take_all(&mut self) -> usize {
        let mut took = 0;
        while self.journal.pending_bytes() < GROUP_BYTES {
            let Self { queue, journal, streams, places, reports, failed, .. } = self;
            let mut sink = Sink { journal, streams, places, reports, failed };
            let Some(result) = queue.take(|stream, item, body| sink.item(stream, item, body)) else { break };
            took += 1;
            if let Err(why) = result {
                self.fail(&why);
            }
        }
        took
    }

    fn commit(&mut self) {
        let Self { journal, streams, places, reports, failed, .. } = self;
        let committed = Sink { journal, streams, places, reports, failed }.commit();
        self.bridge.stored(self.reports.drain(..));
        match committed {
            Ok(()) => (self.wake)(),
            Err(why) => self.fail(&why),
        }
        self.maintain();
    }

    fn maintain(&mut self) {
        match self.journal.maintain(clock::unix_micros()) {
            Ok(done) if done.deleted > 0 => info!("deleted {} old segments", done.deleted),
            Ok(_) => {}
            Err(why) => warn!("journal: {why}; old segments stay until that is mended"),
        }
        self.bridge.set_journal(JournalNow {
            stats: self.journal.stats(),
            segment_bytes: self.journal.segment_bytes(),
            failures: self.failures,
        });
    }

    /// Nothing since the last group is stored, and nothing is appended before the senders know.
    fn fail(&mut self, why: &Error) {
        error!("journal: {why}; nothing is lost: senders keep what is not stored, and it is tried again");
        self.journal.rewind();
        self.streams.iter_mut().flatten().for_each(|(_, begun)| *begun = None);
        self.failed = true;
        self.failures += 1;
        self.bridge.fail();
        (self.wake)();
    }
}

/// What an item is written to.
struct Sink<'w, S: Store> {
    journal: &'w mut Journal<S>,
    streams: &'w mut Vec<Option<(StreamId, Option<Epoch>)>>,
    places: &'w mut Vec<(StreamId, u32)>,
    reports: &'w mut Vec<Report>,
    failed: &'w mut bool,
}

impl<S: Store> Sink<'_, S> {
    #[inline]
    fn item(&mut self, place: u32, item: Item, body: &[u8]) -> Result<(), Error> {
        match item {
            Item::Stream { peer } => self.know(place, peer, body),
            Item::Resume => {
                *self.failed = false;
                Ok(())
            }
            _ if *self.failed => Ok(()),
            Item::Chunk { epoch, from, to, first_start, starts, arrival_us } => {
                let chunk = Chunk {
                    stream: self.turn_to(place, epoch)?,
                    epoch: epoch.0,
                    from: Position { number: from.number, offset: from.offset },
                    to: Position { number: to.number, offset: to.offset },
                    first_record: first_start,
                    records: starts,
                    bytes: body,
                };
                self.journal.append(chunk, arrival_us)
            }
            Item::Gap { epoch, below, reason, arrival_us } => {
                let stream = self.turn_to(place, epoch)?;
                self.journal.gap(stream, epoch.0, below, reason, arrival_us)
            }
        }
    }

    /// Even while everything else is passed over: it is told once.
    fn know(&mut self, place: u32, peer: [u8; 8], name: &[u8]) -> Result<(), Error> {
        let id = self.journal.stream(peer, name)?;
        if self.streams.len() <= place as usize {
            self.streams.resize(place as usize + 1, None);
        }
        self.streams[place as usize] = Some((id, None));
        if let Err(at) = self.places.binary_search_by_key(&id, |(id, _)| *id) {
            self.places.insert(at, (id, place));
        }
        Ok(())
    }

    /// The stream at a place, its epoch begun.
    #[inline]
    fn turn_to(&mut self, place: u32, epoch: Epoch) -> Result<StreamId, Error> {
        let Some(Some((id, begun))) = self.streams.get_mut(place as usize) else {
            return Err(Error::UnknownEpoch);
        };
        if *begun != Some(epoch) {
            match self.journal.begin_epoch(*id, epoch.0, 0, 0) {
                Err(Error::CommitFirst) => {
                    let id = *id;
                    self.commit()?;
                    self.journal.begin_epoch(id, epoch.0, 0, 0)?;
                    self.streams[place as usize] = Some((id, Some(epoch)));
                    return Ok(id);
                }
                begun => begun?,
            }
            *begun = Some(epoch);
        }
        Ok(*id)
    }

    /// Makes the group durable and notes how far each stream is.
    fn commit(&mut self) -> Result<(), Error> {
        for stored in self.journal.commit()? {
            if let Ok(found) = self.places.binary_search_by_key(&stored.stream, |(id, _)| *id) {
                let (stream, epoch) = (self.places[found].1, Epoch(stored.epoch));
                self.reports.push(Report { stream, epoch, below: stored.below });
            }
        }
        Ok(())
    }
}
