//! What the items of the queue do to the journal.

use tallylink_core::Epoch;
use tallylink_journal::{Chunk, Error, Journal, Position, Store, Stored, StreamId};

use super::failure::State;
use super::places::Places;
use crate::serve::bridge::Report;
use crate::serve::queue::Item;

/// What an item is written to.
pub(super) struct Sink<'w, S: Store> {
    pub(super) journal: &'w mut Journal<S>,
    pub(super) places: &'w mut Places,
    pub(super) reports: &'w mut Vec<Report>,
    pub(super) state: &'w mut State,
}

impl<S: Store> Sink<'_, S> {
    #[inline]
    pub(super) fn item(&mut self, place: u32, item: Item, body: &[u8]) -> Result<(), Error> {
        match item {
            Item::Stream { peer } => self.know(place, peer, body),
            Item::Resume => {
                self.state.resume();
                Ok(())
            }
            _ if !self.state.is_taking() => Ok(()),
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

    /// Even while everything else is passed over: it is told once, and was in no list before.
    fn know(&mut self, place: u32, peer: [u8; 8], name: &[u8]) -> Result<(), Error> {
        let id = self.journal.new_stream(peer, name)?;
        self.places.put(place, id);
        Ok(())
    }

    /// The stream at a place, its epoch begun.
    #[inline]
    fn turn_to(&mut self, place: u32, epoch: Epoch) -> Result<StreamId, Error> {
        let id = self.places.id(place);
        match self.journal.begin_epoch(id, epoch.0, 0, 0) {
            Err(Error::CommitFirst) => {
                self.commit()?;
                self.journal.begin_epoch(id, epoch.0, 0, 0)?;
            }
            begun => begun?,
        }
        Ok(id)
    }

    /// Makes the group durable and notes how far each stream is.
    pub(super) fn commit(&mut self) -> Result<(), Error> {
        let Self { journal, places, reports, .. } = self;
        note(reports, places, journal.commit()?);
        Ok(())
    }

    /// Goes back to what is proven and notes how far each stream is.
    pub(super) fn rewind(&mut self) {
        let Self { journal, places, reports, .. } = self;
        note(reports, places, journal.rewind());
    }
}

fn note(reports: &mut Vec<Report>, places: &Places, all: &[Stored]) {
    for stored in all {
        if let Some(stream) = places.place(stored.stream) {
            reports.push(Report { stream, epoch: Epoch(stored.epoch), below: stored.below });
        }
    }
}
