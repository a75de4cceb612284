//! The window of packet numbers that is both replay protection and the source of ACKs.
//!
//! A sender has items to deliver, one a packet. Every packet ever sent may arrive at any moment and again; every
//! ACK may be late, repeated or lost. The span of numbers on the way is bounded by half the window for new data
//! only: probes and ACK-only packets are exempt, so the proof allows fewer of those than the other half.

use crate::explore::Model;
use crate::rules::{Arrival, judge_arrival, may_send_new};
use crate::{Property, Violation};

/// A variant of a rule that breaks a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// A number below the window is taken for one never seen.
    TooOldIsFresh,
    /// An ACK calls everything below the window received.
    BelowIsReceived,
    /// An ACK lists the newest ranges only, changed or not.
    NewestOnly,
    /// Changed ranges that an ACK had no room for are not listed first by the next.
    CutRangesForgotten,
    /// New data takes any number.
    NoSpanLimit,
    /// A probe waits like new data, and leaves what is lost on the way.
    ProbesWait,
}

/// The model, with its bounds.
#[derive(Clone, Copy, Debug)]
pub struct AckWindow {
    /// Width of the receiver's window.
    pub width: u8,
    /// Ranges that fit into an ACK.
    pub ranges: usize,
    /// Items to deliver.
    pub items: u8,
    /// Probes that may be sent.
    pub probes: u8,
    /// ACK-only packets that the sender of items may send in between.
    pub ack_only: u8,
    /// ACKs that the receiver may send.
    pub acks: u8,
    /// The rule to break, if any.
    pub bug: Option<Bug>,
}

/// Sets of packet numbers or items are bits.
type Set = u32;

/// Both ends and what is on the way.
#[derive(Clone, Debug, Hash)]
pub struct State {
    /// The item in each packet sent; ACK-only packets have none.
    sent: Vec<Option<u8>>,
    /// Packets that the sender counts as on the way.
    outstanding: Set,
    /// Items sent at least once.
    begun: u8,
    /// Items that the sender takes for delivered.
    acknowledged: Set,
    /// The highest number accepted.
    top: Option<u8>,
    accepted: Set,
    /// Accepted and not yet listed by an ACK.
    changed: Set,
    /// Accepted and listed by some ACK.
    listed: Set,
    delivered: Set,
    /// ACKs ever sent, sorted.
    acks: Vec<Set>,
    probes_left: u8,
    ack_only_left: u8,
    acks_left: u8,
}

/// One thing that may happen.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The next item is sent.
    SendNew,
    /// The oldest packet on the way is taken for lost; its item goes out again.
    Probe,
    /// A packet without data is sent.
    SendAckOnly,
    /// The packet of this number arrives.
    Arrives(u8),
    /// The receiver sends an ACK.
    Ack,
    /// The ACK at this place arrives.
    AckArrives(u8),
}

impl Model for AckWindow {
    type State = State;
    type Event = Event;

    fn initial(&self) -> State {
        State {
            sent: Vec::new(),
            outstanding: 0,
            begun: 0,
            acknowledged: 0,
            top: None,
            accepted: 0,
            changed: 0,
            listed: 0,
            delivered: 0,
            acks: Vec::new(),
            probes_left: self.probes,
            ack_only_left: self.ack_only,
            acks_left: self.acks,
        }
    }

    fn events(&self, state: &State, into: &mut Vec<Event>) {
        if state.begun < self.items && self.may_send_new(state) {
            into.push(Event::SendNew);
        }
        if state.probes_left > 0 && self.may_probe(state) {
            into.push(Event::Probe);
        }
        if state.ack_only_left > 0 {
            into.push(Event::SendAckOnly);
        }
        let arriving = (0..state.sent.len() as u8).filter(|number| self.judge(state, *number) == Arrival::Fresh);
        into.extend(arriving.map(Event::Arrives));
        if state.acks_left > 0 && state.top.is_some() {
            into.push(Event::Ack);
        }
        into.extend((0..state.acks.len()).map(|place| Event::AckArrives(place as u8)));
    }

    fn apply(&self, state: &State, event: Event) -> Result<State, Violation> {
        let mut s = state.clone();
        match event {
            Event::SendNew => s.send_new(),
            Event::Probe => {
                s.probes_left -= 1;
                s.probe(self);
            }
            Event::SendAckOnly => {
                s.ack_only_left -= 1;
                s.sent.push(None);
            }
            Event::Arrives(number) => s.accept(number)?,
            Event::Ack => {
                s.acks_left -= 1;
                let ack = s.ack(self);
                if let Err(place) = s.acks.binary_search(&ack) {
                    s.acks.insert(place, ack);
                }
            }
            Event::AckArrives(place) => s.take_ack(state.acks[usize::from(place)]),
        }
        Ok(s)
    }

    fn check(&self, state: &State) -> Result<(), Violation> {
        let untrue = state.acknowledged & !state.delivered;
        if untrue != 0 {
            let seen = format!("items {untrue:#b} acknowledged and not delivered");
            return Err(Violation::new(Property::AckIsTrue, seen));
        }
        let silent = state.accepted & !state.changed & !state.listed;
        if silent != 0 {
            let seen = format!("packets {silent:#b} accepted, passed over by an ACK, and due in none");
            return Err(Violation::new(Property::AckIsComplete, seen));
        }
        let oldest = lowest(state.outstanding & !state.accepted);
        if let Some(oldest) = oldest
            && judge_arrival(oldest, state.top, self.width, |_| false) == Arrival::TooOld
        {
            let seen = format!("packet {oldest} is on the way, the window ends at {:?}", state.top);
            return Err(Violation::new(Property::WindowCoversFlight, seen));
        }
        Ok(())
    }

    fn complete(&self, state: &State) -> bool {
        state.acknowledged.count_ones() == u32::from(self.items)
    }

    /// All on the way was lost. The sender sends what it may; it arrives, and so does the ACK.
    fn calm(&self, state: &State, into: &mut Vec<State>) -> Result<(), Violation> {
        let mut s = state.clone();
        s.acks.clear();
        if self.may_probe(&s) {
            s.probe(self);
        } else if s.begun < self.items && self.may_send_new(&s) {
            s.send_new();
        } else {
            return Ok(());
        }
        s.accept(s.sent.len() as u8 - 1)?;
        let ack = s.ack(self);
        s.take_ack(ack);
        if s.sent.len() < 24 {
            into.push(s);
        }
        Ok(())
    }

    fn describe(&self, state: &State, event: Event) -> String {
        match event {
            Event::AckArrives(place) => {
                format!("ACK arrives: {:#b}", state.acks[usize::from(place)])
            }
            other => format!("{other:?}"),
        }
    }

    fn landmarks(&self, state: &State) -> u32 {
        let too_old = (0..state.sent.len() as u8).any(|number| self.judge(state, number) == Arrival::TooOld);
        u32::from(self.complete(state))
            | u32::from(too_old) << 1
            | u32::from(state.begun < self.items && !self.may_send_new(state)) << 2
            | u32::from(state.changed & !(state.changed >> 1) & (state.changed >> 2) != 0) << 3
    }

    fn landmark_names(&self) -> &'static [&'static str] {
        &["all acknowledged", "packet below the window", "new data waits for the span", "two ranges changed"]
    }
}

impl AckWindow {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    fn may_send_new(&self, state: &State) -> bool {
        let next = state.sent.len() as u8;
        self.has(Bug::NoSpanLimit) || may_send_new(next, lowest(state.outstanding), self.width)
    }

    fn may_probe(&self, state: &State) -> bool {
        state.outstanding != 0 && (!self.has(Bug::ProbesWait) || self.may_send_new(state))
    }

    fn judge(&self, state: &State, number: u8) -> Arrival {
        match judge_arrival(number, state.top, self.width, |number| state.accepted >> number & 1 == 1) {
            Arrival::TooOld if self.has(Bug::TooOldIsFresh) => Arrival::Fresh,
            verdict => verdict,
        }
    }

    fn floor(&self, state: &State) -> u8 {
        state.top.map_or(0, |top| (top + 1).saturating_sub(self.width))
    }
}

impl State {
    fn send_new(&mut self) {
        self.outstanding |= 1 << self.sent.len();
        self.sent.push(Some(self.begun));
        self.begun += 1;
    }

    fn probe(&mut self, model: &AckWindow) {
        let Some(oldest) = lowest(self.outstanding) else {
            return;
        };
        if !model.has(Bug::ProbesWait) {
            self.outstanding &= !(1 << oldest);
        }
        self.outstanding |= 1 << self.sent.len();
        self.sent.push(self.sent[usize::from(oldest)]);
    }

    fn accept(&mut self, number: u8) -> Result<(), Violation> {
        if self.accepted >> number & 1 == 1 {
            return Err(Violation::new(Property::AcceptedOnce, format!("packet {number} accepted again")));
        }
        self.top = self.top.max(Some(number));
        self.accepted |= 1 << number;
        self.changed |= 1 << number;
        if let Some(item) = self.sent[usize::from(number)] {
            self.delivered |= 1 << item;
        }
        Ok(())
    }

    /// Changed ranges first, then the newest, cut to the room.
    fn ack(&mut self, model: &AckWindow) -> Set {
        let floor = model.floor(self);
        let seen = self.accepted >> floor << floor;
        let changed_first = if model.has(Bug::NewestOnly) { 0 } else { self.changed };
        let mut ranges = ranges(seen);
        ranges.sort_by_key(|range| range & changed_first == 0);
        let mut ack = ranges.into_iter().take(model.ranges).fold(0, |ack, range| ack | range);
        if model.has(Bug::BelowIsReceived) {
            ack |= (1 << floor) - 1;
        }
        self.listed |= ack & self.accepted;
        // What fell below the window unlisted is for the sender to send again.
        self.listed |= self.changed & ((1 << floor) - 1);
        self.changed &= !self.listed;
        if model.has(Bug::CutRangesForgotten) || model.has(Bug::NewestOnly) {
            self.changed = 0;
        }
        ack
    }

    fn take_ack(&mut self, ack: Set) {
        self.outstanding &= !ack;
        for (number, item) in self.sent.iter().enumerate() {
            if let Some(item) = item
                && ack >> number & 1 == 1
            {
                self.acknowledged |= 1 << item;
            }
        }
    }
}

fn lowest(set: Set) -> Option<u8> {
    (set != 0).then(|| set.trailing_zeros() as u8)
}

/// The runs of consecutive numbers in a set, newest first.
fn ranges(mut set: Set) -> Vec<Set> {
    let mut ranges = Vec::new();
    while set != 0 {
        let top = Set::BITS - set.leading_zeros();
        let below_top = set << (Set::BITS - top);
        let length = below_top.leading_ones();
        let range = (Set::MAX >> (Set::BITS - length)) << (top - length);
        ranges.push(range);
        set &= !range;
    }
    ranges
}
