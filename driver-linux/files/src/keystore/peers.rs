//! The peers of a key store in memory.

use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

use super::line::{Entry, KeyId, Line};
use super::scan::Extent;
use crate::{PeerId, PeerName, Secret};

/// Keys a peer may have at once: during a change of keys, the old and the new one.
pub const KEYS_PER_PEER: usize = 2;

/// A peer and its keys.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its id.
    pub id: PeerId,
    /// Its name.
    pub name: PeerName,
    keys: [Option<Held>; KEYS_PER_PEER],
}

/// A key and where its line lies.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) id: KeyId,
    pub(super) secret: Secret,
    pub(super) created: u64,
    pub(super) line: Extent,
}

impl Peer {
    /// The ids of its keys, the oldest first, each with when it was made.
    pub fn keys(&self) -> impl Iterator<Item = (KeyId, u64)> {
        self.held().map(|key| (key.id, key.created))
    }

    /// Its keys as they are stored, the oldest first.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.held().map(|key| Entry {
            peer: self.id,
            name: self.name.clone(),
            key_id: key.id,
            secret: key.secret.clone(),
            created: key.created,
        })
    }

    pub(super) fn held(&self) -> impl Iterator<Item = &Held> {
        self.keys.iter().flatten()
    }

    fn put(&mut self, key: Held) {
        self.drop_key(key.id);
        if self.keys.iter().all(Option::is_some) {
            self.keys.rotate_left(1);
            self.keys[KEYS_PER_PEER - 1] = None;
        }
        if let Some(free) = self.keys.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(key);
        }
    }

    fn drop_key(&mut self, id: KeyId) {
        self.keys.iter_mut().filter(|slot| slot.as_ref().is_some_and(|key| key.id == id)).for_each(|slot| *slot = None);
        self.keys.sort_by_key(Option::is_none);
    }
}

/// Peers by id and by name. The tables hold places in the list, so that a million peers are held once.
#[derive(Debug, Default)]
pub struct Peers {
    /// A peer without keys is no peer; its place is not used again.
    list: Vec<Peer>,
    live: usize,
    by_id: HashTable<u32>,
    by_name: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Peers {
    /// Room for about as many peers without moving their keys about in memory.
    pub(super) fn with_capacity(peers: usize) -> Self {
        Self { list: Vec::with_capacity(peers), ..Self::default() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// All of them, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Peer> {
        self.list.iter().filter(|peer| peer.held().next().is_some())
    }

    /// The peer of an id.
    pub fn by_id(&self, id: PeerId) -> Option<&Peer> {
        self.place(id).map(|place| &self.list[place])
    }

    /// The peer of a name.
    pub fn by_name(&self, name: &PeerName) -> Option<&Peer> {
        let hash = self.hash(name);
        let place = self.by_name.find(hash, |place| self.list[*place as usize].name == *name)?;
        Some(&self.list[*place as usize])
    }

    /// The peer that a person means by a name or an id.
    pub fn find(&self, name_or_id: &str) -> Option<&Peer> {
        match name_or_id.parse() {
            Ok(id) => self.by_id(id),
            Err(_) => self.by_name(&name_or_id.parse().ok()?),
        }
    }

    pub(super) fn apply(&mut self, line: Line, place: Extent) {
        match line {
            Line::Key(entry) => self.insert(entry, place),
            Line::Gone { peer, key_id } => self.remove(peer, key_id),
            Line::Comment => {}
        }
    }

    pub(super) fn insert(&mut self, entry: Entry, line: Extent) {
        let Entry { peer: id, name, key_id, secret, created } = entry;
        let place = match self.place(id) {
            Some(place) if self.list[place].name == name => place,
            Some(place) => {
                self.forget_name(place);
                self.list[place].name = name;
                self.learn_name(place);
                place
            }
            None => {
                let place = self.list.len();
                self.list.push(Peer { id, name, keys: [const { None }; KEYS_PER_PEER] });
                self.live += 1;
                let Self { list, hasher, by_id, .. } = self;
                let hash_of = |place: &u32| hasher.hash_one(list[*place as usize].id);
                by_id.insert_unique(hasher.hash_one(id), place as u32, hash_of);
                self.learn_name(place);
                place
            }
        };
        self.list[place].put(Held { id: key_id, secret, created, line });
    }

    fn remove(&mut self, id: PeerId, key_id: KeyId) {
        let Some(place) = self.place(id) else { return };
        self.list[place].drop_key(key_id);
        if self.list[place].held().next().is_none() {
            self.forget_name(place);
            let hash = self.hash(id);
            if let Ok(found) = self.by_id.find_entry(hash, |found| *found as usize == place) {
                found.remove();
            }
            self.live -= 1;
        }
    }

    fn place(&self, id: PeerId) -> Option<usize> {
        let found = self.by_id.find(self.hash(id), |place| self.list[*place as usize].id == id);
        found.map(|place| *place as usize)
    }

    fn learn_name(&mut self, place: usize) {
        let Self { list, hasher, by_name, .. } = self;
        let hash_of = |place: &u32| hasher.hash_one(&list[*place as usize].name);
        by_name.insert_unique(hasher.hash_one(&list[place].name), place as u32, hash_of);
    }

    fn forget_name(&mut self, place: usize) {
        let hash = self.hash(&self.list[place].name);
        if let Ok(found) = self.by_name.find_entry(hash, |found| *found as usize == place) {
            found.remove();
        }
    }

    fn hash(&self, of: impl Hash) -> u64 {
        self.hasher.hash_one(of)
    }
}
