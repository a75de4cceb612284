//! What a receiver without a disk knows of each stream.

use hashbrown::HashMap;
use std::hash::RandomState;
use tallylink_core::{Accept, Epoch, InIx, Name, Open, PeerIx, Refusal};

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
    /// The epoch that records came of last.
    pub(super) now: Progress,
    /// The one before.
    before: Option<Progress>,
}

/// How far an epoch was taken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub(super) epoch: Epoch,
    /// Number of the first record that was not given to the application.
    pub(super) next: u64,
    /// Number of the first record that the application has not taken.
    pub(super) stored_below: u64,
}

impl Entry {
    /// What is known of an epoch: nothing, for most.
    fn known(&self, epoch: Epoch) -> Progress {
        let known = std::iter::once(self.now).chain(self.before).find(|p| p.epoch == epoch);
        known.unwrap_or(Progress { epoch, ..Progress::default() })
    }

    /// What is kept of an epoch.
    pub(super) fn of(&mut self, epoch: Epoch) -> Option<&mut Progress> {
        std::iter::once(&mut self.now).chain(&mut self.before).find(|p| p.epoch == epoch)
    }

    /// The epoch that records come of now.
    pub(super) fn at(&mut self, epoch: Epoch) -> &mut Progress {
        if self.now.epoch != epoch {
            let now = self.known(epoch);
            self.before = Some(std::mem::replace(&mut self.now, now));
        }
        &mut self.now
    }
}

impl Streams {
    /// Room for `max` streams, all peers together.
    #[must_use]
    pub fn new(max: u32) -> Self {
        Self { names: HashMap::default(), entries: Vec::new(), free: Vec::new(), max }
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
        let known = self.get(stream).ok_or(Refusal::TooMany)?.known(open.epoch);
        Ok(Accept { stream, stored_below: known.stored_below, next: known.next })
    }

    /// The place of a stream that was opened before.
    #[must_use]
    pub fn place(&self, peer: PeerIx, name: &str) -> Option<InIx> {
        self.names.get(&(peer, Name::new(name)?)).copied()
    }

    fn add(&mut self, key: (PeerIx, Name), epoch: Epoch) -> Result<InIx, Refusal> {
        let entry =
            Entry { peer: key.0, name: key.1.clone(), now: Progress { epoch, ..Progress::default() }, before: None };
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

    /// Forgets the streams of a peer that was removed, and returns their indices: they will be given out again.
    pub fn forget(&mut self, peer: PeerIx) -> Vec<InIx> {
        let gone: Vec<InIx> = self.names.extract_if(|(whose, _), _| *whose == peer).map(|(_, stream)| stream).collect();
        self.free.extend_from_slice(&gone);
        gone
    }
}
