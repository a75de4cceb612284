//! The streams that the gateway knows: how far each was given to the writer, and how far it is stored.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use tallylink_core::{Accept, Epoch, InIx, Open, Refusal};
use tallylink_journal::{Journal, Store};

use super::queue::Trail;
use super::rollback::{Rollbacks, compare};

/// Epochs of a stream that are remembered (storage §7.2).
pub(super) const REMEMBERED: usize = 4;

/// Streams by peer and name. They outlive sessions and, through the journal, the process.
#[derive(Debug)]
pub(super) struct Streams {
    rows: Vec<Row>,
    by_name: HashTable<u32>,
    hasher: DefaultHashBuilder,
    most: u32,
    rollbacks: Rollbacks,
}

/// One stream.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) peer: [u8; 8],
    pub(super) name: Box<str>,
    /// The writer knows it.
    pub(super) told: bool,
    pub(super) trail: Trail,
    /// The newest last.
    epochs: Vec<Known>,
}

/// What is known of an epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) epoch: Epoch,
    pub(super) stored_below: u64,
    /// Number of the first record that the writer was not given, or not all of.
    pub(super) next: u64,
}

/// What a peer opens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub(super) accept: Accept,
    /// What of an earlier epoch is gone: the epoch, and the number below which it is.
    pub(super) gone: Option<(Epoch, u64)>,
}

impl Streams {
    /// The streams of a journal. A stream's place here is its place in the order in which the journal tells them.
    pub(super) fn of<S: Store>(journal: &Journal<S>, most: u32) -> Self {
        let mut streams = Self {
            rows: Vec::new(),
            by_name: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            most,
            rollbacks: Rollbacks::default(),
        };
        for (id, peer, name) in journal.streams() {
            let known = |(epoch, state): ([u8; 8], tallylink_journal::EpochState)| Known {
                epoch: Epoch(epoch),
                stored_below: state.stored_below,
                next: state.stored_below,
            };
            let mut epochs: Vec<Known> = journal.epochs(id).map(known).collect();
            epochs.reverse();
            epochs.shrink_to_fit();
            streams.add(Row {
                peer,
                name: String::from_utf8_lossy(name).into(),
                told: true,
                trail: Trail::default(),
                epochs,
            });
        }
        streams
    }

    /// What is known of the epoch that a peer opens. A stream that is new gets a place; the epoch gets one with its
    /// first record.
    ///
    /// # Errors
    /// [`Refusal::TooMany`]
    pub(super) fn open(&mut self, peer: [u8; 8], open: &Open<'_>) -> Result<Opened, Refusal> {
        let place = match self.find(peer, open.name) {
            Some(place) => place,
            None if self.rows.len() >= self.most as usize => return Err(Refusal::TooMany),
            None => {
                self.add(Row { peer, name: open.name.into(), told: false, trail: Trail::default(), epochs: Vec::new() })
            }
        };
        let row = &self.rows[place as usize];
        let finding = compare(open, &row.epochs);
        if let Some(finding) = &finding {
            self.rollbacks.note(finding, peer, open.name);
        }
        let known = row.epochs.iter().find(|known| known.epoch == open.epoch);
        let (stored_below, next) = known.map_or((0, 0), |known| (known.stored_below, known.next));
        let accept = Accept { stream: InIx(place), stored_below, next };
        Ok(Opened { accept, gone: finding.and_then(|finding| finding.gone()) })
    }

    /// A stream, to be put into the queue.
    pub(super) fn row(&mut self, stream: InIx) -> Option<&mut Row> {
        self.rows.get_mut(stream.at())
    }

    /// So much is stored.
    pub(super) fn stored(&mut self, stream: InIx, epoch: Epoch, below: u64) {
        if let Some(known) = self.rows.get_mut(stream.at()).and_then(|row| row.known(epoch)) {
            known.stored_below = known.stored_below.max(below);
            known.next = known.next.max(below);
        }
    }

    /// The journal failed: what is not stored has to come again.
    pub(super) fn rewind(&mut self) {
        for known in self.rows.iter_mut().flat_map(|row| &mut row.epochs) {
            known.next = known.stored_below;
        }
    }

    /// How often something was not what it was.
    pub(super) fn rollbacks(&self) -> Rollbacks {
        self.rollbacks
    }

    /// How many places were given out.
    pub(super) fn len(&self) -> u32 {
        self.rows.len() as u32
    }

    /// The peers that have records on the way to the disk, a stream at a time, and how many.
    pub(super) fn unstored(&self) -> impl Iterator<Item = ([u8; 8], u64)> {
        self.rows.iter().filter_map(|row| {
            let unstored = row.epochs.iter().map(|known| known.next.saturating_sub(known.stored_below)).sum();
            (unstored > 0).then_some((row.peer, unstored))
        })
    }

    fn find(&self, peer: [u8; 8], name: &str) -> Option<u32> {
        let hash = self.hasher.hash_one((peer, name));
        let same = |place: &u32| {
            let row = &self.rows[*place as usize];
            row.peer == peer && *row.name == *name
        };
        self.by_name.find(hash, same).copied()
    }

    fn add(&mut self, row: Row) -> u32 {
        let Self { rows, by_name, hasher, .. } = self;
        let hash_of = |row: &Row| hasher.hash_one((row.peer, &*row.name));
        let place = rows.len() as u32;
        rows.push(row);
        by_name.insert_unique(hash_of(&rows[place as usize]), place, |place| hash_of(&rows[*place as usize]));
        place
    }
}

impl Row {
    /// Everything of the epoch below `next` was given to the writer.
    #[inline]
    pub(super) fn gave(&mut self, epoch: Epoch, next: u64) {
        if let Some(known) = self.known(epoch) {
            known.next = next;
            return;
        }
        if self.epochs.len() == REMEMBERED {
            self.epochs.remove(0);
        }
        self.epochs.push(Known { epoch, stored_below: 0, next });
    }

    #[inline]
    fn known(&mut self, epoch: Epoch) -> Option<&mut Known> {
        self.epochs.iter_mut().rev().find(|known| known.epoch == epoch)
    }
}
