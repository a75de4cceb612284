//! The streams that the gateway knows: how far each was given to the writer, and how far it is stored.

mod epochs;

use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use tallylink_core::{Accept, Epoch, InIx, Open, Refusal};
use tallylink_journal::{Journal, Store};

use super::rollback::{Rollbacks, compare};
use epochs::Epochs;
pub(super) use epochs::{Known, REMEMBERED};

/// Streams by peer and name. They outlive sessions and, through the journal, the process.
#[derive(Debug)]
pub(super) struct Streams {
    rows: Vec<Row>,
    /// The names, back to back.
    names: String,
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
    name_at: u32,
    name_len: u8,
    /// How many streams its peer had with this one.
    nth: u16,
    /// The writer knows it.
    pub(super) told: bool,
    epochs: Epochs,
}

const _: () = assert!(size_of::<Row>() <= 48);

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
            names: String::new(),
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
            let place = streams.add(peer, &String::from_utf8_lossy(name), true);
            for (epoch, state) in known {
                let (stored_below, next) = (state.stored_below, state.stored_below);
                streams.rows[place as usize].epochs.push(Known { epoch: Epoch(epoch), stored_below, next });
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
        let place = match self.find(peer, open.name) {
            Some(place) => place,
            None => {
                self.admit(peer)?;
                self.add(peer, open.name, false)
            }
        };
        let epochs = self.rows[place as usize].epochs.as_slice();
        let finding = compare(open, epochs);
        let known = epochs.iter().find(|known| known.epoch == open.epoch);
        if let Some(finding) = &finding {
            self.rollbacks.note(finding, peer, open.name);
        }
        let (stored_below, next) = known.map_or((0, 0), |known| (known.stored_below, known.next));
        let accept = Accept { stream: InIx(place), stored_below, next };
        Ok(Opened { accept, gone: finding.and_then(|finding| finding.gone()) })
    }

    /// A stream, to be put into the queue, and its name.
    pub(super) fn row(&mut self, stream: InIx) -> Option<(&mut Row, &str)> {
        let row = self.rows.get_mut(stream.at())?;
        let name = name_of(&self.names, row);
        Some((row, name))
    }

    /// So much is stored.
    pub(super) fn stored(&mut self, stream: InIx, epoch: Epoch, below: u64) {
        if let Some(known) = self.rows.get_mut(stream.at()).and_then(|row| row.epochs.find(epoch)) {
            known.stored_below = known.stored_below.max(below);
            known.next = known.next.max(below);
        }
    }

    /// The journal failed: what is not stored has to come again.
    pub(super) fn rewind(&mut self) {
        for known in self.rows.iter_mut().flat_map(|row| row.epochs.as_mut_slice()) {
            known.next = known.stored_below;
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
            let unstored = known.map(|known| known.next.saturating_sub(known.stored_below)).sum();
            (unstored > 0).then_some((row.peer, unstored))
        })
    }

    fn find(&self, peer: [u8; 8], name: &str) -> Option<u32> {
        let hash = self.hasher.hash_one((peer, name));
        let same = |place: &u32| {
            let row = &self.rows[*place as usize];
            row.peer == peer && name_of(&self.names, row) == name
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

    fn add(&mut self, peer: [u8; 8], name: &str, told: bool) -> u32 {
        let Self { rows, names, by_name, newest, hasher, .. } = self;
        let place = rows.len() as u32;
        // A name has at most 64 bytes.
        let (name_at, name_len) = (names.len() as u32, name.len() as u8);
        names.push_str(name);
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
        rows.push(Row { peer, name_at, name_len, nth, told, epochs: Epochs::default() });
        let hash_of = |row: &Row| hasher.hash_one((row.peer, name_of(names, row)));
        by_name.insert_unique(hash_of(&rows[place as usize]), place, |place| hash_of(&rows[*place as usize]));
        place
    }
}

fn name_of<'a>(names: &'a str, row: &Row) -> &'a str {
    let at = row.name_at as usize;
    &names[at..at + usize::from(row.name_len)]
}

impl Row {
    /// Everything of the epoch below `next` was given to the writer.
    #[inline]
    pub(super) fn gave(&mut self, epoch: Epoch, next: u64) {
        match self.epochs.find(epoch) {
            Some(known) => known.next = next,
            None => self.epochs.push(Known { epoch, stored_below: 0, next }),
        }
    }
}
