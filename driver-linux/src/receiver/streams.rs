//! What a receiver without a disk knows of each stream.

use hashbrown::HashMap;
use std::hash::RandomState;
use tallylink_core::wire::Open;
use tallylink_core::{Accept, Epoch, InIx, Name, PeerIx, Refusal};

/// Streams by peer and name, and how far each was taken. It lasts as long as the process.
#[derive(Debug)]
pub struct Streams {
    names: HashMap<(PeerIx, Name), InIx, RandomState>,
    entries: Vec<Entry>,
    free: Vec<InIx>,
    max: u32,
}

/// One stream.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) peer: PeerIx,
    pub(super) name: Name,
    pub(super) epoch: Epoch,
    /// Number of the first record that was not given to the application.
    pub(super) next: u64,
    /// Number of the first record that the application has not taken.
    pub(super) stored_below: u64,
    /// The epoch before: its records may still be asked about.
    before: Option<(Epoch, u64)>,
}

impl Streams {
    /// Room for `max` streams, all peers together.
    #[must_use]
    pub fn new(max: u32) -> Self {
        Self {
            names: HashMap::default(),
            entries: Vec::new(),
            free: Vec::new(),
            max,
        }
    }

    /// How many indices were given out.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// True when there are no streams.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The peer and the name of a stream.
    #[must_use]
    pub fn whose(&self, stream: InIx) -> Option<(PeerIx, &str)> {
        self.get(stream).map(|e| (e.peer, e.name.as_str()))
    }

    pub(super) fn get(&self, stream: InIx) -> Option<&Entry> {
        self.entries.get(stream.at())
    }

    pub(super) fn get_mut(&mut self, stream: InIx) -> Option<&mut Entry> {
        self.entries.get_mut(stream.at())
    }

    /// A peer opens a stream.
    ///
    /// # Errors
    /// [`Refusal`]
    pub fn open(&mut self, peer: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        let name = Name::new(open.name).ok_or(Refusal::Name)?;
        let key = (peer, name);
        let stream = match self.names.get(&key) {
            Some(known) => *known,
            None => self.add(key, open.epoch)?,
        };
        let entry = self.get_mut(stream).ok_or(Refusal::TooMany)?;
        if entry.epoch != open.epoch {
            let before = entry.before.replace((entry.epoch, entry.stored_below));
            // Back to the epoch before: a sender's outbox was restored. What was taken stays taken.
            let below = before.filter(|(e, _)| *e == open.epoch).map_or(0, |b| b.1);
            (entry.epoch, entry.next, entry.stored_below) = (open.epoch, below, below);
        }
        Ok(Accept {
            stream,
            stored_below: entry.stored_below,
            next: entry.next,
        })
    }

    fn add(&mut self, key: (PeerIx, Name), epoch: Epoch) -> Result<InIx, Refusal> {
        let entry = Entry {
            peer: key.0,
            name: key.1.clone(),
            epoch,
            next: 0,
            stored_below: 0,
            before: None,
        };
        let stream = match self.free.pop() {
            Some(free) => {
                let slot = self.get_mut(free).ok_or(Refusal::TooMany)?;
                *slot = entry;
                free
            }
            None if self.len() < self.max => {
                self.entries.push(entry);
                InIx(self.len() - 1)
            }
            None => return Err(Refusal::TooMany),
        };
        self.names.insert(key, stream);
        Ok(stream)
    }

    /// Forgets the streams of a peer that was removed.
    pub fn forget(&mut self, peer: PeerIx) {
        let free = &mut self.free;
        self.names.retain(|(whose, _), stream| {
            let keep = *whose != peer;
            if !keep {
                free.push(*stream);
            }
            keep
        });
    }
}
