//! The gateway end: no state until a packet of a session opens, delivery by position, a journal behind it.

use super::packet::{Answer, Chunk, Data, Key, Part, parts_of};
use super::{Bug, Sessions};
use crate::rules::{self, Position};
use crate::{Property, Violation};

/// The gateway's memory and its journal.
#[derive(Clone, Debug, Default, Hash)]
pub struct Gateway {
    boot: u8,
    /// The counter of the next WELCOME.
    counter: u8,
    last_live: Option<u8>,
    session: Option<Session>,
    journal: Vec<Entry>,
    /// How many entries a successful sync covers.
    durable: usize,
}

#[derive(Clone, Debug, Hash)]
struct Session {
    key: Key,
    /// The next packet number.
    number: u8,
    /// Packet numbers accepted, as bits.
    window: u16,
    /// The epoch opened and the position delivery expects.
    open: Option<(Key, Position)>,
    /// One packet ahead of a gap.
    held: Option<Chunk>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Entry {
    Part(Key, Part),
    /// Everything of the epoch up to below this number that is not there is a gap.
    Gap(Key, u8),
}

impl Entry {
    fn end_in(&self, epoch: Key) -> Option<Position> {
        match self {
            Self::Part(of, part) => (*of == epoch).then(|| part.end()),
            Self::Gap(of, below) => (*of == epoch).then(|| Position::start_of(*below)),
        }
    }
}

/// Where a journal stands in an epoch.
fn writer_position(journal: &[Entry], epoch: Key) -> Position {
    journal.iter().rev().find_map(|entry| entry.end_in(epoch)).unwrap_or(Position::start_of(0))
}

impl Gateway {
    pub(super) fn is_live(&self) -> bool {
        self.session.is_some()
    }

    pub(super) fn unsynced(&self) -> usize {
        self.journal.len() - self.durable
    }

    pub(super) fn holds_ahead(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.held.is_some())
    }

    /// Whether a packet of this key and number is not refused at once.
    pub(super) fn may_take(&self, key: Key, number: u8) -> bool {
        let accepted = self.session.as_ref().is_some_and(|s| s.key == key && s.window >> number & 1 == 1);
        key.boot == self.boot && !accepted
    }

    pub(super) fn welcome(&mut self, nonce: u8) -> Key {
        let key = Key { nonce, boot: self.boot, counter: self.counter };
        self.counter += 1;
        key
    }

    pub(super) fn end_session(&mut self) {
        self.session = None;
    }

    pub(super) fn crash(&mut self, kept: usize) {
        self.journal.truncate(self.durable + kept);
        let journal = std::mem::take(&mut self.journal);
        *self = Self { boot: self.boot + 1, durable: journal.len(), journal, ..Self::default() };
    }

    pub(super) fn sync(&mut self, model: &Sessions) -> Result<(), Violation> {
        self.durable = self.journal.len();
        self.drain_held(model)
    }

    /// Nothing unsynced counts any more, and every session ends: delivery goes back to what is proven.
    pub(super) fn sync_fails(&mut self, model: &Sessions) {
        self.journal.truncate(self.durable);
        if !model.has(Bug::SessionsSurviveFailedSync) {
            self.session = None;
        }
    }

    /// Takes a packet with data; says whether its session lives here afterwards.
    pub(super) fn take(&mut self, data: &Data, model: &Sessions) -> Result<bool, Violation> {
        let &Data { key, number, long, epoch, first, chunk } = data;
        if key.boot != self.boot || !self.go_live(key, long, model) {
            return Ok(false);
        }
        let open = self.open(epoch, model);
        let Some(session) = self.session.as_mut() else {
            return Ok(false);
        };
        if session.window >> number & 1 == 1 {
            return Ok(true);
        }
        match session.open {
            Some((newer, _)) if newer > epoch => {
                // Of a stream id that a newer OPEN replaced: nothing to store, nothing to ask for again.
                session.window |= 1 << number;
                return Ok(true);
            }
            Some((of, _)) if of != epoch => session.held = None,
            _ => {}
        }
        let mut next = open;
        if let Some(below) = rules::gap_below(next, first) {
            self.journal.push(Entry::Gap(epoch, below));
            next = Position::start_of(below);
        }
        session.open = Some((epoch, next));
        let accepted = match chunk.from() {
            Some(from) if from > next => {
                session.held.is_none() && {
                    session.held = Some(chunk);
                    true
                }
            }
            _ => self.append(epoch, chunk, model)?,
        };
        if let Some(session) = self.session.as_mut()
            && (accepted || model.has(Bug::RefusedIsAcknowledged))
        {
            session.window |= 1 << number;
        }
        self.drain_held(model)?;
        Ok(true)
    }

    fn go_live(&mut self, key: Key, long: bool, model: &Sessions) -> bool {
        if self.session.as_ref().is_some_and(|session| session.key == key) {
            return true;
        }
        let revived =
            model.has(Bug::EqualCounterRevives) && self.session.is_none() && self.last_live == Some(key.counter);
        if !long || !(rules::may_go_live(key.counter, self.last_live) || revived) {
            return false;
        }
        self.last_live = Some(key.counter);
        self.session = Some(Session { key, number: 0, window: 0, open: None, held: None });
        true
    }

    /// Where delivery stands in `epoch`; at its first OPEN in a session, where the journal stands.
    fn open(&self, epoch: Key, model: &Sessions) -> Position {
        let open = self.session.as_ref().and_then(|session| session.open);
        if let Some((of, next)) = open
            && of == epoch
        {
            return next;
        }
        let known = if model.has(Bug::OpenIgnoresWriter) { &self.journal[..self.durable] } else { &self.journal[..] };
        rules::resume_at(writer_position(known, epoch))
    }

    /// Appends what of `chunk` is not below the expected position, all of it or nothing.
    fn append(&mut self, epoch: Key, chunk: Chunk, model: &Sessions) -> Result<bool, Violation> {
        let Some((_, mut next)) = self.session.as_ref().and_then(|session| session.open) else {
            return Ok(false);
        };
        let fresh = chunk.parts().filter(|part| part.at >= next).count();
        if self.unsynced() + fresh > model.queue {
            return Ok(false);
        }
        for part in chunk.parts().filter(|part| part.at >= next).collect::<Vec<_>>() {
            let writer = writer_position(&self.journal, epoch);
            if !rules::writer_accepts(writer, part.at) {
                let seen = format!("asked to append at {:?} while the writer is at {writer:?}", part.at);
                return Err(Violation::new(Property::WriterContinues, seen));
            }
            self.journal.push(Entry::Part(epoch, part));
            next = part.end();
        }
        if let Some(session) = self.session.as_mut() {
            session.open = Some((epoch, next));
        }
        Ok(true)
    }

    fn drain_held(&mut self, model: &Sessions) -> Result<(), Violation> {
        let Some(session) = self.session.as_mut() else {
            return Ok(());
        };
        let (Some(held), Some((epoch, next))) = (session.held, session.open) else {
            return Ok(());
        };
        if held.from().is_some_and(|from| from <= next)
            && self.append(epoch, held, model)?
            && let Some(session) = self.session.as_mut()
        {
            session.held = None;
        }
        Ok(())
    }

    /// ACK, OPENED and STORED in one packet.
    ///
    /// # Panics
    /// Without a live session.
    pub(super) fn answer(&mut self, model: &Sessions) -> Answer {
        let told = if model.has(Bug::StoredBeforeSync) { self.journal.len() } else { self.durable };
        let session = self.session.as_mut().expect("only a live session answers");
        let number = session.number;
        session.number += 1;
        let epoch = session.open.map(|(epoch, _)| epoch);
        let stored_below = epoch.map_or(0, |epoch| writer_position(&self.journal[..told], epoch).number);
        Answer { key: session.key, number, acked: session.window, epoch, stored_below }
    }

    /// The records that a reader joins from these entries: epoch, number, content. Unfinished ones are void.
    fn joined(entries: &[Entry]) -> Vec<(Key, u8, u8)> {
        let mut records = Vec::new();
        let mut begun: Option<(Key, Part)> = None;
        for entry in entries {
            let Entry::Part(epoch, part) = *entry else {
                begun = None;
                continue;
            };
            let continues =
                begun.is_some_and(|(of, last)| of == epoch && last.end() == part.at && last.content == part.content);
            begun = (part.at.part == 0 || continues).then_some((epoch, part));
            if begun.is_some() && part.at.part + 1 == parts_of(part.content) {
                records.push((epoch, part.at.number, part.content));
                begun = None;
            }
        }
        records
    }

    pub(super) fn durable_contents(&self) -> u16 {
        Self::joined(&self.journal[..self.durable]).iter().fold(0, |set, (_, _, content)| set | 1 << content)
    }

    /// How many epochs have a record stored.
    pub(super) fn epochs(&self) -> usize {
        let records = Self::joined(&self.journal[..self.durable]);
        records.iter().map(|(epoch, ..)| epoch).collect::<std::collections::BTreeSet<_>>().len()
    }

    /// Whether the journal holds the beginning of a record that was begun again.
    pub(super) fn voided_part(&self) -> bool {
        self.journal.windows(2).any(|pair| match pair {
            [Entry::Part(a, first), Entry::Part(b, second)] => a == b && first.end() != second.at,
            _ => false,
        })
    }

    pub(super) fn check_journal(&self) -> Result<(), Violation> {
        let records = Self::joined(&self.journal);
        for (place, (epoch, number, content)) in records.iter().enumerate() {
            for (of, earlier, other) in &records[..place] {
                if content == other {
                    let seen = format!("content {content} stored as {earlier} and as {number}");
                    return Err(Violation::new(Property::ExactlyOnce, seen));
                }
                if of == epoch && earlier >= number {
                    let seen = format!("record {number} of an epoch stored after {earlier}");
                    return Err(Violation::new(Property::InOrder, seen));
                }
            }
        }
        Ok(())
    }
}
