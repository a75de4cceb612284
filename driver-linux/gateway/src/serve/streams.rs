//! The streams that the gateway knows: how far each was given to the writer, and how far it is stored.

mod epochs;

use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use tallylink_core::{Accept, Epoch, InIx, Open, Refusal};
use tallylink_journal::{Journal, Names, Store};

use super::rollback::{Rollbacks, compare};
use epochs::Epochs;
pub(super) use epochs::{Known, REMEMBERED};

/// Streams by peer and name. They outlive sessions and, through the journal, the process.
#[derive(Debug)]
pub(super) struct Streams {
    rows: Vec<Row>,
    names: Names,
    by_name: HashTable<u32>,
    /// The newest stream of each peer.
    newest: HashTable<u32>,
    hasher: DefaultHashBuilder,
    most: Most,
    refused: Refused,
    rollbacks: Rollbacks,
}

/// How many streams there may be. Without a bound for each peer, one that holds a key could leave the others none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Most {
    pub(super) of_peer: u16,
    pub(super) of_all: u32,
}

/// How often a stream was refused, by which bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) peer_streams: u64,
    pub(super) all_streams: u64,
}

/// One stream. There may be a million, hence the packed layout.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) peer: [u8; 8],
    /// Its place in the list of names.
    name: u32,
    /// How many streams its peer had with this one.
    nth: u16,
    /// The writer knows it.
    pub(super) told: bool,
    epochs: Epochs,
}

const _: () = assert!(size_of::<Row>() <= 40);

/// What a peer opens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub(super) accept: Accept,
    /// What of an earlier epoch is gone: the epoch, and the number below which it is.
    pub(super) gone: Option<(Epoch, u64)>,
}

impl Streams {
    /// The streams of a journal. A stream's place here is its place in the order in which the journal tells them.
    pub(super) fn of<S: Store>(journal: &Journal<S>, most: Most) -> Self {
        let mut streams = Self {
            rows: Vec::new(),
            names: Names::default(),
            by_name: HashTable::new(),
            newest: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            most,
            refused: Refused::default(),
            rollbacks: Rollbacks::default(),
        };
        for (id, peer, name) in journal.streams() {
            let mut known: Vec<_> = journal.epochs(id).collect();
            known.reverse();
            let place = streams.add(peer, name, true);
            for (epoch, state) in known {
                let known = Known::new(Epoch(epoch), state.stored_below, state.stored_below);
                streams.rows[place as usize].epochs.push(known);
            }
        }
        streams
    }

    /// What is known of the epoch that a peer opens. A stream that is new gets a place; the epoch gets one with its
    /// first record.
    ///
    /// # Errors
    /// [`Refusal::TooMany`]
    pub(super) fn open(&mut self, peer: [u8; 8], open: &Open<'_>) -> Result<Opened, Refusal> {
        let place = match self.find(peer, open.name.as_bytes()) {
            Some(place) => place,
            None => {
                self.admit(peer)?;
                self.add(peer, open.name.as_bytes(), false)
            }
        };
        let epochs = self.rows[place as usize].epochs.as_slice();
        let finding = compare(open, epochs);
        let known = epochs.iter().find(|known| known.epoch == open.epoch);
        if let Some(finding) = &finding {
            self.rollbacks.note(finding, peer, open.name);
        }
        let (stored_below, next) = known.map_or((0, 0), |known| (known.stored_below, known.next()));
        let accept = Accept { stream: InIx(place), stored_below, next };
        Ok(Opened { accept, gone: finding.and_then(|finding| finding.gone()) })
    }

    /// A stream, to be put into the queue, and its name.
    pub(super) fn row(&mut self, stream: InIx) -> Option<(&mut Row, &[u8])> {
        let row = self.rows.get_mut(stream.at())?;
        let name = self.names.get(row.name);
        Some((row, name))
    }

    /// So much is stored.
    pub(super) fn stored(&mut self, stream: InIx, epoch: Epoch, below: u64) {
        if let Some(known) = self.rows.get_mut(stream.at()).and_then(|row| row.epochs.find(epoch)) {
            known.stored_below = known.stored_below.max(below);
            known.set_next(known.next().max(below));
        }
    }

    /// The journal failed: what is not stored has to come again.
    pub(super) fn rewind(&mut self) {
        for known in self.rows.iter_mut().flat_map(|row| row.epochs.as_mut_slice()) {
            known.set_next(known.stored_below);
        }
    }

    /// How often a stream was refused.
    pub(super) fn refused(&self) -> Refused {
        self.refused
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
            let known = row.epochs.as_slice().iter();
            let unstored = known.map(|known| known.next().saturating_sub(known.stored_below)).sum();
            (unstored > 0).then_some((row.peer, unstored))
        })
    }

    /// Makes room for so many more at once. What is not used takes none.
    pub(super) fn reserve(&mut self, more: usize) {
        let Self { rows, names, by_name, newest, hasher, .. } = self;
        rows.reserve_exact(more);
        by_name.reserve(more, |place| hash_of(rows, names, hasher, *place));
        newest.reserve(more, |place| hasher.hash_one(rows[*place as usize].peer));
    }

    /// The place of a stream that was opened before.
    pub(super) fn place(&self, peer: [u8; 8], name: &str) -> Option<u32> {
        self.find(peer, name.as_bytes())
    }

    fn find(&self, peer: [u8; 8], name: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one((peer, name));
        let same = |place: &u32| {
            let row = &self.rows[*place as usize];
            row.peer == peer && self.names.get(row.name) == name
        };
        self.by_name.find(hash, same).copied()
    }

    /// Whether a peer may have one more.
    fn admit(&mut self, peer: [u8; 8]) -> Result<(), Refusal> {
        if self.rows.len() >= self.most.of_all as usize {
            self.refused.all_streams += 1;
            return Err(Refusal::TooMany);
        }
        let hash = self.hasher.hash_one(peer);
        let newest = self.newest.find(hash, |place| self.rows[*place as usize].peer == peer);
        if newest.is_some_and(|place| self.rows[*place as usize].nth >= self.most.of_peer) {
            self.refused.peer_streams += 1;
            return Err(Refusal::TooMany);
        }
        Ok(())
    }

    fn add(&mut self, peer: [u8; 8], name: &[u8], told: bool) -> u32 {
        let Self { rows, names, by_name, newest, hasher, .. } = self;
        let place = rows.len() as u32;
        let of_peer = |at: &u32| hasher.hash_one(rows[*at as usize].peer);
        let entry = newest.entry(hasher.hash_one(peer), |at| rows[*at as usize].peer == peer, of_peer);
        let nth = match entry {
            Entry::Occupied(mut newest) => {
                rows[std::mem::replace(newest.get_mut(), place) as usize].nth.saturating_add(1)
            }
            Entry::Vacant(vacant) => {
                vacant.insert(place);
                1
            }
        };
        let name = names.add(name);
        rows.push(Row { peer, name, nth, told, epochs: Epochs::default() });
        let hash = |place: &u32| hash_of(rows, names, hasher, *place);
        by_name.insert_unique(hash(&place), place, hash);
        place
    }
}

fn hash_of(rows: &[Row], names: &Names, hasher: &DefaultHashBuilder, place: u32) -> u64 {
    let row = &rows[place as usize];
    hasher.hash_one((row.peer, names.get(row.name)))
}

impl Row {
    /// Everything of the epoch below `next` was given to the writer.
    #[inline]
    pub(super) fn gave(&mut self, epoch: Epoch, next: u64) {
        match self.epochs.find(epoch) {
            Some(known) => known.set_next(next),
            None => self.epochs.push(Known::new(epoch, 0, next)),
        }
    }
}
