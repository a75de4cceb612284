//! Receiving on the network thread itself: a function takes each record where it was decrypted.

use super::join::{Joiner, Piece};
use super::streams::Streams;
use crate::application::{Application, Stored};
use std::fmt;
use tallylink_core::{Accept, Batch, Deliver, Epoch, Full, InIx, Open, PeerIx, Refusal};

/// One record, lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Who sent it.
    pub peer: PeerIx,
    /// In which stream.
    pub stream: InIx,
    /// The stream's name.
    pub name: &'a str,
    /// The epoch that `number` belongs to.
    pub epoch: Epoch,
    /// Its number.
    pub number: u64,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// An [`Application`] that gives every record to a function. A record counts as stored when the function has returned.
pub struct InPlace<F> {
    streams: Streams,
    joiners: Vec<Joiner>,
    /// Streams with something to confirm.
    taken: Vec<InIx>,
    take: F,
}

impl<F: FnMut(Record<'_>)> InPlace<F> {
    /// At most `max_streams` streams, all peers together.
    #[must_use]
    pub fn new(max_streams: u32, take: F) -> Self {
        Self { streams: Streams::new(max_streams), joiners: Vec::new(), taken: Vec::new(), take }
    }

    fn moved(&mut self, stream: InIx, epoch: Epoch, to: u64) {
        if let Some(entry) = self.streams.get_mut(stream) {
            let progress = entry.at(epoch);
            if progress.next < to {
                if progress.next == progress.stored_below {
                    self.taken.push(stream);
                }
                progress.next = to;
            }
        }
    }
}

impl<F: FnMut(Record<'_>)> Deliver for InPlace<F> {
    fn open(&mut self, peer: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        let accept = self.streams.open(peer, open)?;
        let len = self.streams.len() as usize;
        self.joiners.resize_with(len, Joiner::default);
        Ok(accept)
    }

    fn known(&self, peer: PeerIx, name: &str) -> Option<InIx> {
        self.streams.place(peer, name)
    }

    #[inline]
    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        let (Some(joiner), Some(entry)) = (self.joiners.get_mut(batch.stream.at()), self.streams.get(batch.stream))
        else {
            return Err(Full);
        };
        let piece =
            Piece { from: batch.from, to: batch.to, first_start: batch.first_start as usize, bytes: batch.bytes };
        let (name, take) = (entry.name.as_str(), &mut self.take);
        joiner.records(&piece, |number, bytes| {
            take(Record { peer: entry.peer, stream: batch.stream, name, epoch: batch.epoch, number, bytes });
        });
        self.moved(batch.stream, batch.epoch, batch.to.number);
        Ok(())
    }

    fn gap(&mut self, stream: InIx, epoch: Epoch, _from: u64, below: u64, _reason: u8) -> Result<(), Full> {
        self.moved(stream, epoch, below);
        Ok(())
    }
}

impl<F: FnMut(Record<'_>)> Application for InPlace<F> {
    fn streams(&self) -> u32 {
        self.streams.len()
    }

    fn stored(&mut self) -> Option<Stored> {
        let stream = self.taken.pop()?;
        let progress = &mut self.streams.get_mut(stream)?.now;
        progress.stored_below = progress.next;
        Some(Stored { stream, epoch: progress.epoch, below: progress.next })
    }

    fn peer_removed(&mut self, peer: PeerIx) {
        self.streams.forget(peer);
    }
}

impl<F> fmt::Debug for InPlace<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InPlace").field("streams", &self.streams).finish_non_exhaustive()
    }
}
