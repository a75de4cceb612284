//! The gateway end: what it stored, and a spool on disk for the device.

use super::packet::{Down, Up};
use crate::rules::{Position, gap_below, may_go_live};
use crate::sessions::Key;
use crate::{Property, Violation};

/// WELCOMEs made at the most.
const WELCOMES: u8 = 3;

/// The gateway's memory and its disk.
#[derive(Clone, Debug, Default, Hash)]
pub struct Gateway {
    boot: u8,
    /// The counter of the next WELCOME, and how many were made in all boots.
    counter: u8,
    welcomes: u8,
    last_live: Option<u8>,
    session: Option<Session>,
    /// The newest epoch and its next record: nothing is known of earlier ones.
    newest: Option<(Key, u8)>,
    /// Contents stored, in order, of all epochs.
    stored: Vec<u8>,
    /// The spool: number of its oldest record, and contents.
    head: u8,
    spool: Vec<u8>,
    /// Contents that the device confirmed, as bits.
    confirmed: u16,
}

#[derive(Clone, Debug, Hash)]
struct Session {
    key: Key,
    /// The next packet number.
    number: u8,
    /// Packet numbers accepted, as bits.
    window: u16,
    /// The epoch that the device opened.
    epoch: Option<Key>,
    /// The record that each packet carried, by packet number.
    sent: Vec<Option<u8>>,
    /// Records RECEIVED, as bits.
    received: u16,
}

impl Gateway {
    pub(super) fn is_live(&self) -> bool {
        self.session.is_some()
    }

    pub(super) fn may_welcome(&self) -> bool {
        self.welcomes < WELCOMES
    }

    pub(super) fn holds_records(&self) -> bool {
        !self.spool.is_empty()
    }

    pub(super) fn confirmed(&self) -> u16 {
        self.confirmed
    }

    pub(super) fn stored_contents(&self) -> u16 {
        self.stored.iter().fold(0, |set, content| set | 1 << content)
    }

    /// Whether a packet of this key and number is not refused at once.
    pub(super) fn may_take(&self, key: Key, number: u8) -> bool {
        let accepted = self.session.as_ref().is_some_and(|s| s.key == key && s.window >> number & 1 == 1);
        key.boot == self.boot && !accepted
    }

    pub(super) fn push(&mut self, content: u8) {
        self.spool.push(content);
    }

    pub(super) fn welcome(&mut self, nonce: u8) -> Key {
        let key = Key { nonce, boot: self.boot, counter: self.counter };
        self.counter += 1;
        self.welcomes += 1;
        key
    }

    pub(super) fn end_session(&mut self) {
        self.session = None;
    }

    /// Everything stored and the spool are on disk.
    pub(super) fn crash(&mut self) {
        (self.boot, self.counter) = (self.boot + 1, 0);
        (self.last_live, self.session) = (None, None);
    }

    /// Takes a packet; says whether its session lives here afterwards.
    pub(super) fn take(&mut self, up: &Up) -> Result<bool, Violation> {
        if up.key.boot != self.boot || !self.go_live(up.key, up.long) {
            return Ok(false);
        }
        let Some(session) = self.session.as_mut() else {
            return Ok(false);
        };
        if session.window >> up.number & 1 == 1 {
            return Ok(true);
        }
        session.window |= 1 << up.number;
        session.epoch = Some(up.epoch);
        for (sent, record) in session.sent.iter().enumerate() {
            if let Some(record) = record
                && up.acked >> sent & 1 == 1
            {
                session.received |= 1 << record;
            }
        }
        while self.head < up.taken_below && !self.spool.is_empty() {
            self.confirmed |= 1 << self.spool.remove(0);
            self.head += 1;
        }
        let known = self.newest.filter(|(epoch, _)| *epoch == up.epoch).map_or(0, |(_, next)| next);
        let mut next = gap_below(Position::start_of(known), up.first).unwrap_or(known);
        // A record ahead of a gap is not accepted: its packet counts as not received.
        match up.record {
            Some((number, _)) if number > next => session.window &= !(1 << up.number),
            Some((number, content)) if number == next => {
                self.stored.push(content);
                next += 1;
            }
            _ => {}
        }
        self.newest = Some((up.epoch, next));
        Ok(true)
    }

    fn go_live(&mut self, key: Key, long: bool) -> bool {
        if self.session.as_ref().is_some_and(|session| session.key == key) {
            return true;
        }
        if !long || !may_go_live(key.counter, self.last_live) {
            return false;
        }
        self.last_live = Some(key.counter);
        self.session = Some(Session { key, number: 0, window: 0, epoch: None, sent: Vec::new(), received: 0 });
        true
    }

    /// ACK, STORED and the oldest record that has not arrived, in one packet.
    ///
    /// # Panics
    /// Without a live session.
    pub(super) fn answer(&mut self) -> Down {
        let session = self.session.as_mut().expect("only a live session answers");
        let number = session.number;
        session.number += 1;
        let waiting = (self.head..).zip(self.spool.iter().copied());
        let record = waiting.into_iter().find(|(record, _)| session.received >> record & 1 == 0);
        session.sent.push(record.map(|(record, _)| record));
        let stored = self.newest.filter(|(epoch, _)| session.epoch == Some(*epoch));
        Down { key: session.key, number, acked: session.window, stored, first: self.head, record }
    }

    pub(super) fn check_stored(&self) -> Result<(), Violation> {
        for (place, content) in self.stored.iter().enumerate() {
            if self.stored[..place].contains(content) {
                return Err(Violation::new(Property::ExactlyOnce, format!("content {content} stored twice")));
            }
        }
        Ok(())
    }
}
