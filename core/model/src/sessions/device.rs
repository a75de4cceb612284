//! The device end: a ring of records. In memory its epoch is fixed at the boot's first session; with an outbox on
//! disk an epoch is made at the first push after a start, once everything recovered is drained.

use super::packet::{Answer, Chunk, Data, Key, Part, bit, parts_of};
use super::{Bug, Sessions};
use crate::rules::Position;

/// The device's memory, and which contents it was told are STORED.
#[derive(Clone, Debug, Default, Hash)]
pub struct Device {
    boot: u8,
    nonces: u8,
    exchange: Option<u8>,
    session: Option<Session>,
    epoch: Option<Key>,
    /// Number of the oldest record in the ring.
    head: u8,
    /// Contents of the ring.
    ring: Vec<u8>,
    /// Contents told STORED, as bits; outlives the device.
    confirmed: u16,
}

#[derive(Clone, Debug, Hash)]
struct Session {
    key: Key,
    /// The next packet number.
    number: u8,
    /// Packets of the gateway seen, as bits. Any seen means that DATA may be short.
    seen: u16,
    /// The parts each packet carried, by packet number.
    sent: Vec<u16>,
    /// Parts RECEIVED.
    received: u16,
    /// The first part never sent in this session.
    next: Position,
}

impl Device {
    pub(super) fn holds_records(&self) -> bool {
        !self.ring.is_empty()
    }

    pub(super) fn packets_sent(&self) -> u8 {
        self.session.as_ref().map_or(0, |session| session.number)
    }

    pub(super) fn confirmed(&self) -> u16 {
        self.confirmed
    }

    pub(super) fn awaits(&self, nonce: u8) -> bool {
        self.exchange == Some(nonce)
    }

    pub(super) fn may_take(&self, key: Key, number: u8) -> bool {
        self.session.as_ref().is_some_and(|session| session.key == key && session.seen >> number & 1 == 0)
    }

    /// Whether a push needs no epoch of its own, or may begin one.
    pub(super) fn may_push(&self, outbox: bool) -> bool {
        !outbox || self.ring.is_empty() || self.epoch == Some(self.saved_epoch())
    }

    /// The epoch that this start's pushes go to, with an outbox on disk.
    fn saved_epoch(&self) -> Key {
        Key { nonce: 200 + self.boot, boot: 0, counter: 0 }
    }

    pub(super) fn push(&mut self, content: u8, outbox: bool) {
        let epoch = self.saved_epoch();
        if outbox && self.epoch != Some(epoch) {
            self.epoch = Some(epoch);
            self.head = 0;
            if let Some(session) = &mut self.session {
                session.received = 0;
                session.next = Position::start_of(0);
                session.sent.fill(0);
            }
        }
        self.ring.push(content);
    }

    pub(super) fn overwrite_oldest(&mut self) {
        self.ring.remove(0);
        self.head += 1;
    }

    pub(super) fn reboot(&mut self, outbox: bool) {
        let saved = std::mem::take(self);
        *self = Self { boot: saved.boot + 1, confirmed: saved.confirmed, ..Self::default() };
        if outbox {
            self.ring = saved.ring;
            self.head = saved.head;
            self.epoch = saved.epoch;
        }
    }

    pub(super) fn begin_exchange(&mut self, weak: bool) -> u8 {
        self.nonces += 1;
        let nonce = if weak { self.nonces } else { self.boot * 16 + self.nonces };
        self.exchange = Some(nonce);
        nonce
    }

    /// Moves to the session of a WELCOME. Everything not below OPENED is unsent then.
    pub(super) fn enter(&mut self, key: Key, model: &Sessions) {
        self.exchange = None;
        if !model.outbox {
            self.epoch.get_or_insert(key);
        }
        let mut session =
            Session { key, number: 0, seen: 0, sent: Vec::new(), received: 0, next: Position::start_of(self.head) };
        if let Some(old) = self.session.take()
            && model.has(Bug::UnfinishedContinues)
        {
            session.received = old.received;
        }
        self.session = Some(session);
    }

    fn parts(&self) -> impl Iterator<Item = Part> {
        let numbered = (self.head..).zip(self.ring.iter().copied());
        numbered.flat_map(|(number, content)| {
            (0..parts_of(content)).map(move |part| Part { at: Position { number, part }, content })
        })
    }

    fn unsent(&self) -> impl Iterator<Item = Part> {
        let session = self.session.as_ref();
        self.parts().filter(move |part| session.is_some_and(|s| part.at >= s.next && s.received & bit(part.at) == 0))
    }

    fn unacknowledged(&self) -> impl Iterator<Item = Part> {
        let session = self.session.as_ref();
        self.parts().filter(move |part| session.is_some_and(|s| part.at < s.next && s.received & bit(part.at) == 0))
    }

    pub(super) fn unsent_parts(&self) -> usize {
        self.unsent().count()
    }

    pub(super) fn has_unacknowledged(&self) -> bool {
        self.unacknowledged().next().is_some()
    }

    /// The next packet with `count` parts never sent in this session.
    ///
    /// # Panics
    /// If there is no session.
    pub(super) fn send_new(&mut self, count: usize) -> Data {
        let chunk = consecutive(self.unsent().take(count));
        self.seal(chunk).expect("only a device with a session has unsent parts")
    }

    /// The next packet with the oldest parts that were sent and not acknowledged.
    ///
    /// # Panics
    /// If there is no session.
    pub(super) fn send_again(&mut self) -> Data {
        let chunk = consecutive(self.unacknowledged());
        self.seal(chunk).expect("only a device with a session has unacknowledged parts")
    }

    /// What a device sends when its timers run: what is unacknowledged, else what is new, else a question about
    /// what is not STORED. `None` without a session.
    pub(super) fn send_anything(&mut self) -> Option<Data> {
        let chunk =
            if self.has_unacknowledged() { consecutive(self.unacknowledged()) } else { consecutive(self.unsent()) };
        self.seal(chunk)
    }

    fn seal(&mut self, chunk: Chunk) -> Option<Data> {
        let (epoch, first) = (self.epoch?, self.head);
        let session = self.session.as_mut()?;
        let number = session.number;
        session.number += 1;
        session.sent.push(chunk.mask());
        if let Some(last) = chunk.parts().last() {
            session.next = session.next.max(last.end());
        }
        Some(Data { key: session.key, number, long: session.seen == 0, epoch, first, chunk })
    }

    pub(super) fn take(&mut self, answer: &Answer, model: &Sessions) {
        let Answer { key, number, acked, epoch, stored_below } = *answer;
        let Some(session) = self.session.as_mut().filter(|session| session.key == key) else {
            return;
        };
        session.seen |= 1 << number;
        for (sent, mask) in session.sent.iter().enumerate() {
            if acked >> sent & 1 == 1 {
                session.received |= mask;
            }
        }
        let names_ours = epoch == self.epoch || model.has(Bug::StoredNamesNoEpoch);
        while names_ours && self.head < stored_below && !self.ring.is_empty() {
            self.confirmed |= 1 << self.ring.remove(0);
            self.head += 1;
        }
        session.next = session.next.max(Position::start_of(self.head));
    }
}

/// A chunk of up to two parts that follow each other.
fn consecutive(mut parts: impl Iterator<Item = Part>) -> Chunk {
    let first = parts.next();
    let second = parts.next().filter(|second| first.is_some_and(|first| first.end() == second.at));
    Chunk([first, second])
}
