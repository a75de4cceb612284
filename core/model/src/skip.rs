//! SKIP and OPEN.first: a gap covers what its sender no longer holds, and nothing else.
//!
//! One stream. Record [`Skip::too_large`] is above a limit that was lowered after it was pushed; it can only be
//! skipped. The ring may overwrite its oldest record, the receiver may be restored from a backup that knows
//! nothing, and either ends the session. Within a session every packet may be lost, repeated and reordered.

use crate::explore::Model;
use crate::rules::{Position, gap_below};
use crate::{Property, Violation};

/// A variant of a rule that breaks a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// SKIP passes a record that cannot be sent as soon as it is met, although earlier ones are still held.
    SkipsPastHeld,
    /// OPEN.first is the first record not yet sent instead of the oldest held.
    OpensAtNextUnsent,
    /// A record that cannot be sent stays in the ring and is never skipped.
    NeverSkips,
}

/// The model, with its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Skip {
    /// Records in the ring at the start.
    pub records: u8,
    /// The record that can no longer be sent.
    pub too_large: u8,
    /// Records the ring may overwrite.
    pub overwrites: u8,
    /// Times a new session may begin, with a restored receiver or without.
    pub sessions: u8,
    /// The rule to break, if any.
    pub bug: Option<Bug>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Packet {
    Record(u8),
    /// SKIP or OPEN with this bound.
    Below(u8),
}

/// Both ends and the packets of the living session.
#[derive(Clone, Debug, Hash)]
pub struct State {
    /// The oldest record held.
    head: u8,
    /// The first record not sent in this session.
    unsent: u8,
    network: Vec<Packet>,
    /// The receiver's next record.
    next: u8,
    /// Records stored, as bits.
    stored: u16,
    /// Records in a gap, as bits.
    gaps: u16,
    /// Records given up by the sender, as bits.
    given_up: u16,
    restored: bool,
    overwrites_left: u8,
    sessions_left: u8,
}

/// One thing that may happen.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The sender sends a record, for the first time or again.
    Send(u8),
    /// The sender gives up the record at its head because it cannot be sent, and says so.
    Skip,
    /// The sender skips to the record after the one that cannot be sent, whatever it holds.
    SkipAhead,
    /// The ring overwrites its oldest record, and the sender says so.
    Overwrite,
    /// The network delivers its packet at this place.
    Deliver(u8),
    /// STORED arrives: everything below the receiver's next.
    Stored,
    /// A new session begins with an OPEN.
    NewSession,
    /// The receiver is restored from an empty backup, and a new session begins.
    Restore,
}

impl Model for Skip {
    type State = State;
    type Event = Event;

    fn initial(&self) -> State {
        State {
            head: 0,
            unsent: 0,
            network: Vec::new(),
            next: 0,
            stored: 0,
            gaps: 0,
            given_up: 0,
            restored: false,
            overwrites_left: self.overwrites,
            sessions_left: self.sessions,
        }
    }

    fn events(&self, state: &State, into: &mut Vec<Event>) {
        let sendable = |record: &u8| *record != self.too_large;
        into.extend((state.head..self.records.min(state.unsent + 1)).filter(sendable).map(Event::Send));
        if state.head == self.too_large && self.bug != Some(Bug::NeverSkips) {
            into.push(Event::Skip);
        }
        if self.bug == Some(Bug::SkipsPastHeld) && state.head <= self.too_large {
            into.push(Event::SkipAhead);
        }
        if state.overwrites_left > 0 && state.head < self.records {
            into.push(Event::Overwrite);
        }
        into.extend((0..state.network.len()).map(|place| Event::Deliver(place as u8)));
        if state.next > state.head {
            into.push(Event::Stored);
        }
        if state.sessions_left > 0 {
            into.extend([Event::NewSession, Event::Restore]);
        }
    }

    fn apply(&self, state: &State, event: Event) -> Result<State, Violation> {
        let mut s = state.clone();
        match event {
            Event::Send(record) => {
                s.put(Packet::Record(record));
                s.unsent = s.unsent.max(record + 1);
                if s.unsent == self.too_large {
                    s.unsent += 1;
                }
            }
            Event::Skip => s.give_up_head(),
            Event::SkipAhead => s.put(Packet::Below(self.too_large + 1)),
            Event::Overwrite => {
                s.overwrites_left -= 1;
                s.give_up_head();
            }
            Event::Deliver(place) => s.deliver(usize::from(place))?,
            Event::Stored => s.head = s.head.max(s.next),
            Event::NewSession => s.new_session(self),
            Event::Restore => {
                s.restored = true;
                s.stored = 0;
                s.gaps = 0;
                s.next = 0;
                s.new_session(self);
            }
        }
        Ok(s)
    }

    fn check(&self, _: &State) -> Result<(), Violation> {
        Ok(())
    }

    fn complete(&self, state: &State) -> bool {
        state.head == self.records
    }

    fn calm(&self, state: &State, into: &mut Vec<State>) -> Result<(), Violation> {
        let mut s = state.clone();
        s.network.clear();
        s.put(Packet::Below(s.head));
        s.deliver(0)?;
        s.head = s.head.max(s.next);
        if s.head == self.too_large {
            if self.bug != Some(Bug::NeverSkips) {
                s.give_up_head();
                into.push(s);
            }
        } else if s.head < self.records {
            s.network = vec![Packet::Record(s.head)];
            s.deliver(0)?;
            s.head = s.head.max(s.next);
            into.push(s);
        } else {
            into.push(s);
        }
        Ok(())
    }

    fn describe(&self, state: &State, event: Event) -> String {
        match event {
            Event::Deliver(place) => format!("arrives: {:?}", state.network[usize::from(place)]),
            other => format!("{other:?}"),
        }
    }

    fn landmarks(&self, state: &State) -> u32 {
        let done = state.head == self.records;
        u32::from(done && state.gaps == 1 << self.too_large)
            | u32::from(done && state.restored) << 1
            | u32::from(state.gaps.count_ones() > 1) << 2
    }

    fn landmark_names(&self) -> &'static [&'static str] {
        &["all but one stored", "done after a restore", "a wide gap"]
    }
}

impl State {
    fn put(&mut self, packet: Packet) {
        if let Err(place) = self.network.binary_search(&packet) {
            self.network.insert(place, packet);
        }
    }

    fn give_up_head(&mut self) {
        self.given_up |= 1 << self.head;
        self.head += 1;
        self.unsent = self.unsent.max(self.head);
        self.put(Packet::Below(self.head));
    }

    fn new_session(&mut self, model: &Skip) {
        self.sessions_left -= 1;
        self.network.clear();
        let first = if model.bug == Some(Bug::OpensAtNextUnsent) { self.unsent } else { self.head };
        self.unsent = self.head;
        self.put(Packet::Below(first));
    }

    /// Packets stay in the network: each may arrive again.
    fn deliver(&mut self, place: usize) -> Result<(), Violation> {
        match self.network[place] {
            Packet::Record(number) if number == self.next => {
                self.stored |= 1 << number;
                self.next += 1;
            }
            Packet::Record(_) => {}
            Packet::Below(first) => {
                if let Some(below) = gap_below(Position::start_of(self.next), first) {
                    for record in self.next..below {
                        self.gaps |= 1 << record;
                        if record >= self.head {
                            let seen = format!("record {record} skipped, held from {}", self.head);
                            return Err(Violation::new(Property::NothingHeldIsSkipped, seen));
                        }
                    }
                    self.next = below;
                }
            }
        }
        Ok(())
    }
}
