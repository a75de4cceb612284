//! One stream under way to a device.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tallylink_core::{Epoch, Name, OutIx};
use tallylink_journal::Dir;
use tallylink_linux::network::{Gone, OpenError};
use tallylink_linux::outbox::{Outbox, OutboxError, OutboxOptions, Owner};
use tallylink_linux::sender::DurableError;
use tallylink_linux::sender::feed::{self, Feeder};
use tallylink_linux::{Remote, StartError};
use tracing::error;

use super::{Shared, feeds};
use crate::downlink::{Parcel, Unusable};
use crate::send::source::behind;
use crate::serve::ingest::Ingest;
use crate::{Error, PeerId, clock};

/// The unit in which what is delivered is deleted: most streams hold little at a time.
const SEGMENT_BYTES: u64 = 1 << 20;
/// A parcel and a bit more.
const MEMORY_BYTES: usize = 2 << 20;
/// How long the disk may take for a parcel before other devices' go on.
const PATIENCE: Duration = Duration::from_secs(5);

/// An open outbox and its stream.
pub(super) struct Line {
    at: OutIx,
    feeder: Feeder,
    /// The parcel whose records were pushed and are not known to be durable.
    taking: Option<u64>,
    /// Since when nothing waits.
    drained: Option<Instant>,
}

/// A parcel is not taken, and stays.
pub(super) enum NotTaken {
    /// Where it is.
    Disk(io::Error),
    /// Where it goes.
    Outbox(Error),
}

impl Line {
    pub(super) fn open(
        dir: PathBuf,
        peer: PeerId,
        stream: &str,
        remote: &Remote<Ingest>,
        shared: &Arc<Shared>,
        ring: u32,
    ) -> Result<Self, super::Trouble> {
        let peer = tallylink_core::PeerId(peer.0);
        let name = Name::new(stream).ok_or(super::Trouble::Wrong(Error::Stream {
            name: stream.to_owned(),
            why: tallylink_linux::sender::OpenError::Name,
        }))?;
        let outbox = open_outbox(dir, Owner { peer, stream: name })?;
        let (wakes, told) = (remote.clone(), Arc::clone(shared));
        // What a device does not take becomes a gap: the bound is its own.
        let started = feed::start(outbox, u32::MAX >> 3, move || {
            wakes.notify();
            told.call();
        });
        let (feeder, offer) = started.map_err(Error::Network)?;
        let opened = remote.call(move |network| {
            let at = network.find_peer(peer).ok_or(OpenError::Core(tallylink_core::Error::Empty))?;
            let feed = offer.open(network, at, ring)?;
            let stream = feed.stream();
            network.application_mut().feeds.add(feed);
            Ok::<_, OpenError>(stream)
        })?;
        let why = |why| tallylink_linux::sender::OpenError::Network(why);
        let at = opened.map_err(|error| Error::Stream { name: stream.to_owned(), why: why(error) })?;
        Ok(Self { at, feeder, taking: None, drained: None })
    }

    /// Takes a parcel: when this returns, its records are durable in the outbox and it is removed.
    pub(super) fn take(&mut self, mut parcel: Parcel, shared: &Shared) -> Result<(), NotTaken> {
        self.drained = None;
        if self.taking != Some(parcel.number) {
            let (records, packed) = match parcel.read() {
                Ok(read) => read,
                Err(Unusable::Io(error)) => return Err(NotTaken::Disk(error)),
                Err(Unusable::Damaged) => {
                    let aside = parcel.set_aside().map_err(NotTaken::Disk)?;
                    shared.counts.damaged();
                    error!("a parcel was damaged and is not delivered: {}; push its records again", aside.display());
                    return Ok(());
                }
            };
            // All that was pushed before is durable.
            let history = self.feeder.history() + self.feeder.next();
            if parcel.taken_at.is_none() {
                parcel.mark(history).map_err(NotTaken::Disk)?;
            }
            let mut there = history.saturating_sub(parcel.taken_at.unwrap_or(history)).min(records);
            let count = records - there;
            let pushed = self.feeder.push_batch(behind(&packed, &mut there));
            pushed.map_err(outbox_error)?;
            self.taking = Some(parcel.number);
            shared.counts.taken(count);
        }
        self.feeder.flush_durable(PATIENCE).map_err(outbox_error)?;
        parcel.remove().map_err(NotTaken::Disk)?;
        self.taking = None;
        Ok(())
    }

    /// Whether nothing has waited for so long.
    pub(super) fn is_over(&mut self, linger: Duration) -> bool {
        let progress = self.feeder.progress();
        if progress.waiting() > 0 || self.taking.is_some() {
            self.drained = None;
            return false;
        }
        let since = *self.drained.get_or_insert_with(clock::monotonic);
        clock::monotonic().saturating_duration_since(since) >= linger
    }

    /// It is asked again later.
    pub(super) fn linger(&mut self) {
        self.drained = Some(clock::monotonic());
    }

    /// When it is to be asked whether it is over.
    pub(super) fn closes_at(&self, linger: Duration) -> Option<Instant> {
        self.drained?.checked_add(linger)
    }

    /// Ends the stream; the outbox ends when this is dropped. False while something is under way.
    pub(super) fn detach(&self, remote: &Remote<Ingest>) -> Result<bool, Gone> {
        let at = self.at;
        remote.call(move |network| feeds::close(network, at))
    }
}

fn open_outbox(dir: PathBuf, owner: Owner) -> Result<Outbox<Dir>, Error> {
    let (mut salt, mut epoch) = ([0; 8], [0; 8]);
    for bytes in [&mut salt, &mut epoch] {
        getrandom::fill(bytes).map_err(StartError::Entropy)?;
    }
    let wrong = |why: OutboxError| Error::Outbox { why: Arc::new(why) };
    let place = dir.display().to_string();
    let store = Dir::create(dir).map_err(|source| wrong(OutboxError::Directory { place, source }))?;
    let options = OutboxOptions {
        salt: u64::from_le_bytes(salt),
        segment_bytes: SEGMENT_BYTES,
        memory_bytes: MEMORY_BYTES,
        ..OutboxOptions::default()
    };
    Outbox::open(store, &owner, Epoch(epoch), &options).map_err(wrong)
}

fn outbox_error(why: DurableError) -> NotTaken {
    NotTaken::Outbox(match why {
        DurableError::Outbox(why) => Error::Outbox { why },
        why => Error::Network(io::Error::other(why.to_string())),
    })
}
