//! The network thread's part of a receiver: what comes goes to the program's queue.

use super::doors::Doors;
use super::inbox::{Head, Writer};
use super::streams::Streams;
use crate::application::{Application, Stored};
use std::sync::Arc;
use tallylink_core::{Accept, Batch, Deliver, Epoch, Full, InIx, Open, PeerIx, Position, Refusal};

/// The application of a receiver.
#[derive(Debug)]
pub(crate) struct Inflow {
    streams: Streams,
    /// Streams whose name the program knows.
    announced: Vec<bool>,
    writer: Writer,
    doors: Arc<Doors>,
}

impl Inflow {
    pub(super) fn new(max_streams: u32, writer: Writer, doors: Arc<Doors>) -> Self {
        Self { streams: Streams::new(max_streams), announced: Vec::new(), writer, doors }
    }

    fn put(&mut self, head: Head, bytes: &[u8]) -> Result<(), Full> {
        self.doors.put(|| self.writer.put(head.clone(), bytes))
    }

    fn moved(&mut self, stream: InIx, epoch: Epoch, to: u64) {
        if let Some(entry) = self.streams.get_mut(stream) {
            let progress = entry.at(epoch);
            progress.next = progress.next.max(to);
        }
    }
}

impl Deliver for Inflow {
    fn open(&mut self, peer: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        let accept = self.streams.open(peer, open)?;
        let at = accept.stream.at();
        self.announced.resize(self.streams.len() as usize, false);
        if self.announced.get(at) == Some(&false)
            && let Some(entry) = self.streams.get(accept.stream)
        {
            let head = Head::Opened { stream: accept.stream, peer, name: entry.name.clone() };
            self.put(head, &[]).map_err(|Full| Refusal::Storage)?;
            self.announced[at] = true;
        }
        Ok(accept)
    }

    fn known(&self, peer: PeerIx, name: &str) -> Option<InIx> {
        self.streams.place(peer, name)
    }

    #[inline]
    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        let Batch { stream, epoch, from, to, first_start, bytes, .. } = batch;
        self.put(Head::Records { stream, epoch, from, to, first_start }, bytes)?;
        self.moved(stream, epoch, to.number);
        Ok(())
    }

    fn gap(&mut self, stream: InIx, epoch: Epoch, _from: u64, below: u64, _reason: u8) -> Result<(), Full> {
        self.put(Head::Gap { stream, epoch, below }, &[])?;
        self.moved(stream, epoch, Position::start_of(below).number);
        Ok(())
    }
}

impl Application for Inflow {
    fn streams(&self) -> u32 {
        self.streams.len()
    }

    fn confirmed(&mut self, stored: Stored) {
        if let Some(entry) = self.streams.get_mut(stored.stream)
            && let Some(progress) = entry.of(stored.epoch)
        {
            progress.stored_below = progress.stored_below.max(stored.below);
        }
    }

    fn peer_removed(&mut self, peer: PeerIx) {
        for stream in self.streams.forget(peer) {
            if let Some(announced) = self.announced.get_mut(stream.at()) {
                *announced = false;
            }
        }
    }
}
