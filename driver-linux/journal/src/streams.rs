//! What the journal knows of every stream, in memory: identity, epochs, positions.

mod epochs;

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

pub(crate) use epochs::{Epochs, Slot};

use crate::chunk::Position;
use crate::entry::{ChunkHead, Identity};
use crate::names::Names;
use crate::varint;

/// No stream id reaches this, whatever a file says.
pub(crate) const ID_LIMIT: u32 = 1 << 26;

/// One stream. A million idle ones are kept in memory, hence the packed layout.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) peer: [u8; 8],
    /// Its place in the list of names.
    name: u32,
    /// The definition generation in which the stream was last defined on disk; see `Journal::generation`.
    pub(crate) defined: u32,
    /// One above the highest index used, exclusive: a new base is never below.
    pub(crate) index_end: u64,
    pub(crate) epochs: Epochs,
}

const _: () = assert!(size_of::<Option<Stream>>() <= 72);

/// How a chunk fits behind what its stream already has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Exactly at the stream's position.
    Continues,
    /// At the beginning of the record that is unfinished: its part is void.
    Restarts,
    /// Ahead: something between is missing, and a record begun before is void.
    Jumps,
    /// Behind: all of it is there already.
    Repeats,
}

/// How a chunk that begins at `from` fits a stream at `next`.
pub(crate) fn fit(next: Position, from: Position) -> Fit {
    if from == next {
        Fit::Continues
    } else if from == Position::start_of(next.number) {
        Fit::Restarts
    } else if from > next {
        Fit::Jumps
    } else {
        Fit::Repeats
    }
}

/// All streams of a journal.
#[derive(Debug)]
pub(crate) struct Streams {
    /// How many epochs of each are remembered.
    most_epochs: usize,
    list: Vec<Option<Stream>>,
    names: Names,
    /// None where the owner knows its streams by itself.
    by_name: Option<HashTable<u32>>,
    hasher: RandomState,
}

impl Streams {
    pub(crate) fn new(most_epochs: usize) -> Self {
        Self {
            most_epochs,
            list: Vec::new(),
            names: Names::default(),
            by_name: Some(HashTable::new()),
            hasher: RandomState::new(),
        }
    }

    pub(crate) fn most_epochs(&self) -> usize {
        self.most_epochs
    }

    /// One above the highest id in use.
    pub(crate) fn len(&self) -> u32 {
        self.list.len() as u32
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Stream> {
        self.list.get(id as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Stream> {
        self.list.get_mut(id as usize)?.as_mut()
    }

    /// Every stream with its id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Stream)> {
        self.list.iter().enumerate().filter_map(|(id, s)| Some((id as u32, s.as_ref()?)))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.list.iter_mut().flatten()
    }

    pub(crate) fn name(&self, stream: &Stream) -> &[u8] {
        self.names.get(stream.name)
    }

    /// Makes room for so many more at once.
    pub(crate) fn reserve(&mut self, more: usize) {
        let Self { list, names, by_name, hasher, .. } = self;
        list.reserve_exact(more);
        if let Some(by_name) = by_name {
            by_name.reserve(more, |&id| hash_of(list, names, hasher, id));
        }
    }

    /// From now on streams are added without being looked for, and finding one takes a look at each.
    pub(crate) fn drop_index(&mut self) {
        self.by_name = None;
    }

    pub(crate) fn find(&self, peer: [u8; 8], name: &[u8]) -> Option<u32> {
        let Some(by_name) = &self.by_name else {
            return (0..self.len()).find(|&id| is(&self.list, &self.names, id, peer, name));
        };
        let hash = self.hasher.hash_one((peer, name));
        by_name.find(hash, |&id| is(&self.list, &self.names, id, peer, name)).copied()
    }

    /// Adds a stream under the next free id.
    pub(crate) fn add(&mut self, peer: [u8; 8], name: &[u8]) -> u32 {
        let id = self.len();
        self.insert(id, peer, name);
        id
    }

    /// Puts a stream where a file says it was. `false` if that id is another's, or the name has another id.
    pub(crate) fn place(&mut self, id: u32, peer: [u8; 8], name: &[u8]) -> bool {
        match (self.get(id), self.find(peer, name)) {
            (_, Some(known)) => known == id,
            (Some(_), None) => false,
            (None, None) => {
                let fits = id < ID_LIMIT;
                if fits {
                    self.insert(id, peer, name);
                }
                fits
            }
        }
    }

    fn insert(&mut self, id: u32, peer: [u8; 8], name: &[u8]) {
        let name = self.names.add(name);
        let stream = Stream { peer, name, defined: 0, index_end: 0, epochs: Epochs::default() };
        if self.list.len() <= id as usize {
            self.list.resize_with(id as usize + 1, || None);
        }
        self.list[id as usize] = Some(stream);
        let Self { list, names, by_name, hasher, .. } = self;
        if let Some(by_name) = by_name {
            by_name.insert_unique(hash_of(list, names, hasher, id), id, |&id| hash_of(list, names, hasher, id));
        }
    }

    /// Takes over a definition found on disk. `false` if it contradicts what is known.
    pub(crate) fn replay_define(&mut self, id: u32, who: Identity<'_>, base: u64, next: Position) -> bool {
        if !self.place(id, who.peer, who.name) {
            return false;
        }
        let most = self.most_epochs;
        let Some(stream) = self.get_mut(id) else {
            return false;
        };
        let known = stream.epochs.find(who.epoch).is_some();
        if !known {
            stream.epochs.forget_old(most);
            stream.epochs.begin(who.epoch, next, most);
        }
        stream.epochs.make_current(who.epoch, base);
        true
    }

    /// Takes over a chunk found on disk; how it fitted, or `None` if its stream is not defined.
    pub(crate) fn replay_chunk(&mut self, chunk: &ChunkHead) -> Option<Fit> {
        let stream = self.get_mut(chunk.stream)?;
        let slot = stream.epochs.current()?;
        let fit = fit(slot.next(), chunk.from);
        if fit != Fit::Repeats {
            slot.advance(chunk.to);
            slot.prove();
            stream.note_index();
        }
        Some(fit)
    }

    /// Takes over a gap found on disk, as [`replay_chunk`](Self::replay_chunk).
    pub(crate) fn replay_gap(&mut self, id: u32, below: u64) -> Option<()> {
        let stream = self.get_mut(id)?;
        let slot = stream.epochs.current()?;
        if below > slot.next().number {
            slot.advance(Position::start_of(below));
            slot.prove();
            stream.note_index();
        }
        Some(())
    }

    /// Takes over a mark of the owner, as [`replay_chunk`](Self::replay_chunk).
    pub(crate) fn replay_freed(&mut self, id: u32, below: u64) -> Option<()> {
        let slot = self.get_mut(id)?.epochs.current()?;
        slot.freed = slot.freed.max(below);
        Some(())
    }

    /// Ends recovery: unfinished records are void, epochs without a stored record forgotten.
    pub(crate) fn settle(&mut self) {
        let most = self.most_epochs;
        for stream in self.iter_mut() {
            stream.epochs.settle(most);
        }
    }
}

impl Stream {
    /// Keeps `index_end` above everything the current epoch has used.
    #[inline]
    pub(crate) fn note_index(&mut self) {
        if let Some(slot) = self.epochs.current() {
            let end = slot.base.saturating_add(slot.next().number).min(varint::MAX);
            self.index_end = self.index_end.max(end);
        }
    }
}

fn hash_of(list: &[Option<Stream>], names: &Names, hasher: &RandomState, id: u32) -> u64 {
    list[id as usize].as_ref().map_or(0, |s| hasher.hash_one((s.peer, names.get(s.name))))
}

fn is(list: &[Option<Stream>], names: &Names, id: u32, peer: [u8; 8], name: &[u8]) -> bool {
    list[id as usize].as_ref().is_some_and(|s| s.peer == peer && names.get(s.name) == name)
}

#[cfg(test)]
mod tests;
