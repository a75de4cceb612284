//! The writer.

mod active;
mod append;
mod commit;
mod freed;
mod maintain;
mod repair;
mod reserve;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use maintain::Maintained;
pub use repair::{Repair, repair};

use crate::chunk::{EpochState, Position, Stored, StreamId};
use crate::entry::MAX_NAME;
use crate::error::{At, Error};
use crate::halt::Halt;
use crate::options::Options;
use crate::recover::{self, Recovered, Recovery, Sealed};
use crate::segment::Before;
use crate::store::Store;
use crate::streams::{ID_LIMIT, Slot, Streams};
use crate::varint;
use active::Active;
use commit::Touched;

/// A journal open for writing. See the crate's documentation for the order of calls.
pub struct Journal<S: Store> {
    store: S,
    /// Held, never read: other writers are kept out while it lives.
    _lock: S::Lock,
    options: Options,
    id: u64,
    streams: Streams,
    /// The segment being written; none until the first append after opening or [`rewind`](Self::rewind).
    active: Option<Active<S::File>>,
    /// Bytes appended and not yet written, kept between segments for its capacity.
    buffer: Vec<u8>,
    /// Finished segments, ascending.
    sealed: VecDeque<Sealed>,
    next_segment: u64,
    /// The latest arrival so far.
    latest_us: u64,
    /// Goes up with every segment and every 4 MiB: a stream defined in an older generation is defined again before
    /// its next entry.
    generation: u32,
    /// Streams and epochs appended to since the last commit.
    dirty: Vec<Touched>,
    /// What the last commit answered.
    stored: Vec<Stored>,
    /// A write or sync failed and [`rewind`](Self::rewind) was not called yet.
    failed: bool,
    /// The published position's file; none after an error, until it is opened anew.
    position: Option<S::File>,
    checkpoints: maintain::Checkpoints,
    stats: Stats,
}

/// What the journal did since it was opened, in bytes and counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of chunks appended.
    pub appended_bytes: u64,
    /// Records that started in them.
    pub appended_records: u64,
    /// Bytes given to the disk in segments and checkpoints.
    pub written_bytes: u64,
    /// Calls that wrote them.
    pub writes: u64,
    /// Groups made durable.
    pub commits: u64,
    /// Segments begun.
    pub segments: u64,
    /// Checkpoints written.
    pub checkpoints: u64,
    /// Segments deleted.
    pub deleted_segments: u64,
    /// Times the published position could not be written; followers fell behind until the next commit.
    pub publish_failures: u64,
}

impl<S: Store> Journal<S> {
    /// Opens the journal in `store`, or makes one, and recovers it. Nothing is told that is not durable.
    ///
    /// # Errors
    /// Another process writes it, its format is unknown, the options do not fit, or the disk fails.
    pub fn open(store: S, options: Options) -> Result<(Self, Recovery), Error> {
        Self::open_until(store, options, &Arc::default())
    }

    /// As [`open`](Self::open), but gives up soon after `stop` is set: recovering a damaged journal may take a while.
    /// What was there stays there; a later opening begins again.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`Stopped`](Error::Stopped).
    pub fn open_until(store: S, options: Options, stop: &Arc<AtomicBool>) -> Result<(Self, Recovery), Error> {
        if options.segment_bytes < Options::MIN_SEGMENT {
            return Err(Error::SegmentTooSmall(options.segment_bytes));
        }
        let lock = store.lock().at(|| store.describe("lock"), "lock")?;
        let Some(lock) = lock else {
            return Err(Error::Locked { lock: store.describe("lock") });
        };
        let recovered = recover::recover(&store, &options, &Halt::when(stop))?;
        let checkpoints = maintain::Checkpoints::new(&recovered);
        let Recovered { journal: id, streams, sealed, next_segment, report, from_checkpoint, .. } = recovered;
        let mut journal = Self {
            store,
            _lock: lock,
            buffer: Vec::with_capacity(options.buffer_bytes),
            options,
            id,
            streams,
            active: None,
            latest_us: sealed.back().map_or(0, |last| last.created_us),
            sealed,
            next_segment,
            generation: 0,
            dirty: Vec::new(),
            stored: Vec::new(),
            failed: false,
            position: None,
            checkpoints,
            stats: Stats::default(),
        };
        if !from_checkpoint || journal.sealed.is_empty() {
            // Without a segment, what stands in a checkpoint may be only in memory: its maker was killed before the sync.
            journal.first_checkpoints()?;
        } else if report.broken_checkpoints > 0 {
            // The other one is enough; if this fails, the next that is due takes its place.
            let _ = journal.checkpoint();
        }
        journal.publish();
        journal.keep_reserve();
        Ok((journal, report))
    }

    /// The stream of that name, new in memory if it is not known; the disk hears of it with its first record.
    ///
    /// # Errors
    /// The name is too long, or there are too many streams.
    pub fn stream(&mut self, peer: [u8; 8], name: &[u8]) -> Result<StreamId, Error> {
        if name.len() > MAX_NAME {
            return Err(Error::NameTooLong(name.len()));
        }
        if let Some(id) = self.streams.find(peer, name) {
            return Ok(StreamId(id));
        }
        self.add(peer, name)
    }

    /// A stream that its owner knows to be new, without a look at those that there are: with one name twice the journal would
    /// contradict itself.
    ///
    /// # Errors
    /// As [`stream`](Self::stream).
    pub fn new_stream(&mut self, peer: [u8; 8], name: &[u8]) -> Result<StreamId, Error> {
        if name.len() > MAX_NAME {
            return Err(Error::NameTooLong(name.len()));
        }
        self.add(peer, name)
    }

    fn add(&mut self, peer: [u8; 8], name: &[u8]) -> Result<StreamId, Error> {
        let limit = self.options.max_streams.min(ID_LIMIT);
        if self.streams.len() >= limit {
            return Err(Error::TooManyStreams(limit));
        }
        Ok(StreamId(self.streams.add(peer, name)))
    }

    /// Gives up the index of names, ten bytes a stream: the owner tells its streams apart by itself. [`stream`](Self::stream)
    /// and [`find_stream`](Self::find_stream) look at each from now on.
    pub fn drop_index(&mut self) {
        self.streams.drop_index();
    }

    /// Makes room for so many more streams at once. What is not used takes none.
    pub fn reserve_streams(&mut self, more: usize) {
        self.streams.reserve(more);
    }

    /// The stream of that name, if it is known.
    #[must_use]
    pub fn find_stream(&self, peer: [u8; 8], name: &[u8]) -> Option<StreamId> {
        self.streams.find(peer, name).map(StreamId)
    }

    /// Every stream with its peer and name.
    pub fn streams(&self) -> impl Iterator<Item = (StreamId, [u8; 8], &[u8])> {
        self.streams.iter().map(|(id, s)| (StreamId(id), s.peer, self.streams.name(s)))
    }

    /// What is known of an epoch: begun since the last start, or one of the newest four with stored records.
    #[must_use]
    pub fn epoch_state(&self, stream: StreamId, epoch: [u8; 8]) -> Option<EpochState> {
        Some(self.streams.get(stream.0)?.epochs.find(epoch)?.state())
    }

    /// The newest epoch of which something is stored.
    #[must_use]
    pub fn newest_epoch(&self, stream: StreamId) -> Option<([u8; 8], EpochState)> {
        let slot = self.streams.get(stream.0)?.epochs.iter().find(|slot| slot.remembered)?;
        Some((slot.epoch, slot.state()))
    }

    /// The epochs of which something is stored, newest first, at most four.
    pub fn epochs(&self, stream: StreamId) -> impl Iterator<Item = ([u8; 8], EpochState)> {
        let slots = self.streams.get(stream.0).into_iter().flat_map(|s| s.epochs.iter());
        slots.filter(|slot| slot.remembered).map(|slot| (slot.epoch, slot.state()))
    }

    /// One above the highest index that the stream has used, uncommitted ones included: where every epoch began at 0,
    /// the next at the first free index, how many records were ever appended.
    #[must_use]
    pub fn index_end(&self, stream: StreamId) -> u64 {
        self.streams.get(stream.0).map_or(0, |s| s.index_end)
    }

    /// Begins an epoch at record `first`; an epoch that is known stays as it is.
    ///
    /// Its base will exceed every index of the stream, and be at least `floor`: one above the cursor of every sink.
    /// One that was begun before and got nothing is forgotten. To have the numbers below `first` journalled as
    /// missing, begin at 0 and call [`gap`](Self::gap).
    ///
    /// # Errors
    /// The stream is not this journal's, `first` or `floor` is out of range, or too many epochs were begun since
    /// the last commit.
    pub fn begin_epoch(&mut self, stream: StreamId, epoch: [u8; 8], first: u64, floor: u64) -> Result<(), Error> {
        if first > varint::MAX || floor > varint::MAX {
            return Err(Error::IndexesExhausted);
        }
        let most = self.streams.most_epochs();
        let stream = self.streams.get_mut(stream.0).ok_or(Error::UnknownEpoch)?;
        if stream.epochs.find(epoch).is_some() {
            return Ok(());
        }
        if !stream.epochs.begin(epoch, Position::start_of(first), most) {
            return Err(Error::CommitFirst);
        }
        stream.index_end = stream.index_end.max(floor);
        Ok(())
    }

    /// Up to where everything is durable: the position that readers go by.
    pub(crate) fn durable_end(&self) -> Before {
        let sealed = self.sealed.back().map(|s| Before { segment: s.segment, counted: s.counted });
        match &self.active {
            Some(active) if active.proven > 0 => Before { segment: active.segment, counted: active.proven },
            _ => sealed.unwrap_or_default(),
        }
    }

    /// The size of segments begun from now on, at least [`Options::MIN_SEGMENT`].
    pub fn set_segment_bytes(&mut self, bytes: u64) {
        self.options.segment_bytes = bytes.max(Options::MIN_SEGMENT);
    }

    /// Bytes that the segments take, as retention counts them.
    #[must_use]
    pub fn segment_bytes(&self) -> u64 {
        let sealed: u64 = self.sealed.iter().map(|s| s.counted).sum();
        sealed + self.active.as_ref().map_or(0, |a| a.written + self.buffer.len() as u64)
    }

    /// Whether followers see everything that is durable. If not, [`maintain`](Self::maintain) tries again.
    #[must_use]
    pub fn is_published(&self) -> bool {
        self.position.is_some()
    }

    /// What was done since opening.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Where the files are, for messages and for followers: the file named
    /// [`POSITION_FILE`](crate::POSITION_FILE) changes at every commit.
    #[must_use]
    pub fn store(&self) -> &S {
        &self.store
    }
}
