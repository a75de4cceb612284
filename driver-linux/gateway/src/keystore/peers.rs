//! The peers of a key store in memory.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry as Slot;

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
        self.keys
            .iter_mut()
            .filter(|slot| slot.as_ref().is_some_and(|key| key.id == id))
            .for_each(|slot| *slot = None);
        self.keys.sort_by_key(Option::is_none);
    }
}

/// Peers by id and by name.
#[derive(Debug, Default)]
pub struct Peers {
    by_id: HashMap<PeerId, Peer>,
    by_name: HashMap<PeerName, PeerId>,
}

impl Peers {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// All of them, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Peer> {
        self.by_id.values()
    }

    /// The peer of an id.
    pub fn by_id(&self, id: PeerId) -> Option<&Peer> {
        self.by_id.get(&id)
    }

    /// The peer of a name.
    pub fn by_name(&self, name: &PeerName) -> Option<&Peer> {
        self.by_id(*self.by_name.get(name)?)
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
        let Entry {
            peer: id,
            name,
            key_id,
            secret,
            created,
        } = entry;
        let peer = match self.by_id.entry(id) {
            Slot::Occupied(old) => old.into_mut(),
            Slot::Vacant(new) => new.insert(Peer {
                id,
                name: name.clone(),
                keys: [const { None }; KEYS_PER_PEER],
            }),
        };
        if peer.name != name {
            self.by_name.remove(&peer.name);
            peer.name = name.clone();
        }
        peer.put(Held {
            id: key_id,
            secret,
            created,
            line,
        });
        self.by_name.insert(name, id);
    }

    fn remove(&mut self, id: PeerId, key_id: KeyId) {
        let Slot::Occupied(mut slot) = self.by_id.entry(id) else {
            return;
        };
        slot.get_mut().drop_key(key_id);
        if slot.get().held().next().is_none() {
            let peer = slot.remove();
            if self.by_name.get(&peer.name) == Some(&id) {
                self.by_name.remove(&peer.name);
            }
        }
    }
}
