//! What the items of the queue do to the journal.

use tallylink_core::Epoch;
use tallylink_journal::{Chunk, Error, Journal, Position, Store, Stored, StreamId};

use super::failure::State;
use crate::serve::bridge::Report;
use crate::serve::queue::Item;

/// What an item is written to.
pub(super) struct Sink<'w, S: Store> {
    pub(super) journal: &'w mut Journal<S>,
    pub(super) streams: &'w mut Vec<Option<(StreamId, Option<Epoch>)>>,
    pub(super) places: &'w mut Vec<(StreamId, u32)>,
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

fn note(reports: &mut Vec<Report>, places: &[(StreamId, u32)], all: &[Stored]) {
    for stored in all {
        if let Ok(found) = places.binary_search_by_key(&stored.stream, |(id, _)| *id) {
            let (stream, epoch) = (places[found].1, Epoch(stored.epoch));
            reports.push(Report { stream, epoch, below: stored.below });
        }
    }
}
