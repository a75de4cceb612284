//! The gateway's part on the network thread: what is received goes into the queue, what is stored is confirmed.

use std::sync::Arc;
use std::thread::Thread;

use tallylink_core::{Accept, Batch, Deliver, Epoch, Event, Fault, Full, InIx, Open, PeerId, PeerIx, Refusal};
use tallylink_linux::{Application, Stored};
use tracing::{debug, warn};

use super::bridge::{Bridge, Report};
use super::downlink::{Counts, Feeds, Shared};
use super::queue::{Item, Put};
use super::rollback::BEFORE_FIRST;
use super::streams::Streams;

/// What the network thread delivers to.
#[derive(Debug)]
pub(crate) struct Ingest {
    streams: Streams,
    /// The ids of peers, by their place in the endpoint.
    ids: Vec<PeerId>,
    queue: Put,
    bridge: Arc<Bridge>,
    writer: Thread,
    /// Something was put since the writer was woken.
    put: bool,
    /// `Full` was answered, and room not told yet.
    full: bool,
    /// The journal failed and nothing is taken.
    closed: bool,
    reports: Vec<Report>,
    arrival_us: u64,
    /// How often `Full` was answered.
    refused_full: u64,
    /// Streams under way to devices.
    pub(super) feeds: Feeds,
    downlink: Arc<Shared>,
}

impl Ingest {
    pub(super) fn new(
        streams: Streams,
        queue: Put,
        bridge: Arc<Bridge>,
        writer: Thread,
        downlink: Arc<Shared>,
    ) -> Self {
        Self {
            streams,
            ids: Vec::new(),
            queue,
            bridge,
            writer,
            put: false,
            full: false,
            closed: false,
            reports: Vec::new(),
            arrival_us: 0,
            refused_full: 0,
            feeds: Feeds::default(),
            downlink,
        }
    }

    /// Makes room for so many peers, and a stream of each, at once.
    pub(super) fn reserve_peers(&mut self, more: usize) {
        self.ids.reserve_exact(more);
        self.streams.reserve(more.saturating_sub(self.streams.len() as usize));
    }

    /// A peer has this place in the endpoint from now on.
    pub(super) fn placed(&mut self, at: PeerIx, id: PeerId) {
        if self.ids.len() <= at.at() {
            self.ids.resize(at.at() + 1, PeerId::default());
        }
        self.ids[at.at()] = id;
    }

    /// Before a turn: what arrives in it arrives now.
    pub(super) fn begin_turn(&mut self, now_us: u64) {
        self.arrival_us = now_us;
        self.queue.look();
    }

    /// After a turn: the writer has something to do, if anything came.
    pub(super) fn end_turn(&mut self) {
        if std::mem::take(&mut self.put) {
            self.writer.unpark();
        }
    }

    /// The journal failed: everything that is not stored is forgotten, and nothing is taken until [`Self::reopen`].
    pub(super) fn close(&mut self) {
        self.closed = true;
        // Reports before the failure still hold, all of them.
        let mut late = Vec::new();
        self.bridge.take_reports(&mut late);
        self.apply(&late);
        self.reports.append(&mut late);
        self.streams.rewind();
    }

    /// Tries to go on. False if that must wait.
    pub(super) fn reopen(&mut self) -> bool {
        self.closed = self.queue.put_resume().is_err();
        self.put = true;
        self.end_turn();
        !self.closed
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether nobody stores anything any more.
    pub(super) fn writer_is_gone(&self) -> bool {
        self.queue.is_abandoned()
    }

    pub(super) fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Bytes that wait, that may wait, and how often there was no room.
    pub(super) fn queue(&self) -> (usize, usize, u64) {
        (self.queue.waiting(), self.queue.capacity(), self.refused_full)
    }

    /// What became of what waited for devices.
    pub(super) fn downlink_counts(&self) -> &Counts {
        &self.downlink.counts
    }

    fn take_reports(&mut self) {
        if self.reports.is_empty() && self.bridge.take_news() {
            let mut reports = std::mem::take(&mut self.reports);
            self.bridge.take_reports(&mut reports);
            self.apply(&reports);
            self.reports = reports;
        }
    }

    fn apply(&mut self, reports: &[Report]) {
        for report in reports {
            self.streams.stored(InIx(report.stream), report.epoch, report.below);
        }
    }

    fn put(&mut self, stream: InIx, epoch: Epoch, next: u64, item: &Item, body: &[u8]) -> Result<(), Full> {
        let put = self.try_put(stream, epoch, next, item, body);
        if put.is_err() && !self.closed {
            self.full = true;
            self.refused_full += 1;
            self.bridge.want_room();
        }
        put
    }

    #[inline]
    fn try_put(&mut self, stream: InIx, epoch: Epoch, next: u64, item: &Item, body: &[u8]) -> Result<(), Full> {
        let (row, name) = self.streams.row(stream).ok_or(Full)?;
        if self.closed {
            return Err(Full);
        }
        if !row.told {
            self.queue.put(stream.0, &Item::Stream { peer: row.peer }, name)?;
            row.told = true;
        }
        self.queue.put(stream.0, item, body)?;
        row.gave(epoch, next);
        self.put = true;
        Ok(())
    }

    fn id(&self, peer: PeerIx) -> PeerId {
        self.ids.get(peer.at()).copied().unwrap_or_default()
    }
}

impl Deliver for Ingest {
    fn open(&mut self, peer: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        if self.closed {
            return Err(Refusal::Storage);
        }
        let opened = self.streams.open(self.id(peer).0, open)?;
        if let Some((epoch, below)) = opened.gone {
            // Before anything of the new epoch. Without room it is asked again, and this found again.
            let told = self.gap(opened.accept.stream, epoch, 0, below, BEFORE_FIRST);
            told.map_err(|Full| Refusal::Storage)?;
        }
        Ok(opened.accept)
    }

    fn known(&self, peer: PeerIx, name: &str) -> Option<InIx> {
        self.streams.place(self.id(peer).0, name).map(InIx)
    }

    #[inline]
    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        let Batch { stream, epoch, from, to, first_start, starts, bytes } = batch;
        let item = Item::Chunk { epoch, from, to, first_start, starts, arrival_us: self.arrival_us };
        self.put(stream, epoch, to.number, &item, bytes)
    }

    fn gap(&mut self, stream: InIx, epoch: Epoch, _from: u64, below: u64, reason: u8) -> Result<(), Full> {
        let item = Item::Gap { epoch, below, reason, arrival_us: self.arrival_us };
        self.put(stream, epoch, below, &item, &[])
    }
}

impl Application for Ingest {
    fn streams(&self) -> u32 {
        self.streams.len()
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Connected(peer) => {
                debug!("{}: a session began", self.id(peer));
                self.downlink.heard(self.id(peer).0);
            }
            Event::Ended(peer, why @ (Fault::Local | Fault::NumbersUsedUp)) => {
                debug!("{}: the session ended: {why}", self.id(peer));
            }
            Event::Ended(peer, why) => warn!("{}: the session ended: {why}", self.id(peer)),
            Event::Moved(peer) => debug!("{}: it has another address", self.id(peer)),
            Event::IdUsedTwice(peer) => {
                warn!("{}: two devices use this id; remove the peer and give each its own", self.id(peer));
            }
            Event::Rejected(..) | Event::Received(..) | Event::Stored(..) | Event::Refused(..) | Event::Ahead(..) => {}
        }
    }

    fn peer_removed(&mut self, peer: PeerIx) {
        self.feeds.forget(peer);
        self.downlink.removed(self.id(peer).0);
    }

    fn stored(&mut self) -> Option<Stored> {
        self.take_reports();
        let Report { stream, epoch, below } = self.reports.pop()?;
        Some(Stored { stream: InIx(stream), epoch, below })
    }

    fn room(&mut self) -> bool {
        // Half of it: one refusal and one return of room for each fill, not for each packet.
        if self.full && self.queue.waiting() <= self.queue.capacity() / 2 {
            self.full = false;
            self.bridge.has_room();
            return true;
        }
        false
    }
}
