//! Credit: windows that shrink, CREDITs that get lost or arrive late, records begun and not finished.
//!
//! Two streams whose records are sent byte by byte. The receiver's window follows a schedule from large to small
//! and rises again as the last of it; CREDITs carry it, numbered, and each may be lost or overtaken. A sender
//! that waits asks (QUERY) and gets an answer. The receiver's queue is emptied by STORED. A new session voids what
//! was begun: those bytes stay in the queue until the next sync, and the records are sent from their beginning.

use crate::explore::Model;
use crate::{Property, Violation, rules};

/// Streams of the model.
pub const STREAMS: usize = 2;

/// A variant of a rule that breaks a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// A record is begun as soon as one byte of it fits.
    BegunNotCovered,
    /// The rest of a begun record waits for a window that may never come back.
    BegunNotFinished,
    /// A CREDIT that was overtaken by a newer one still counts.
    LateCreditCounts,
    /// A sender that waits for CREDIT does not ask.
    NeverAsks,
    /// The receiver stays at a window smaller than the largest record.
    GrantsTooLittle,
    /// The receiver grants its whole limit to a new session although bytes of the last are queued.
    QueuedNotCounted,
}

/// The model, with its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// The sizes of each stream's records, in order.
    pub records: [&'static [u8]; STREAMS],
    /// The windows that the receiver wants, one after the other.
    pub windows: &'static [u8],
    /// The size of the largest record that the receiver takes.
    pub max_record: u8,
    /// What the receiver may hold in all.
    pub limit: u8,
    /// New sessions that may begin.
    pub sessions: u8,
    /// CREDITs that the receiver may send unasked.
    pub credits: u8,
    /// The rule to break, if any.
    pub bug: Option<Bug>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Stream {
    /// The record to send or being sent.
    record: u8,
    /// How many bytes of it are sent.
    begun: u8,
    /// Bytes of whole records sent and not STORED.
    unstored: u8,
    /// Records below this are STORED.
    stored: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Credit {
    number: u8,
    window: u8,
}

/// Both ends and the CREDITs on the way.
#[derive(Clone, Debug, Hash)]
pub struct State {
    streams: [Stream; STREAMS],
    /// The newest CREDIT that the sender goes by.
    known: Credit,
    /// The largest window this session ever granted.
    most_granted: u8,
    /// The step of the receiver's schedule.
    step: u8,
    credits: Vec<Credit>,
    sent_credits: u8,
    /// Bytes of earlier sessions in the receiver's queue.
    queued_earlier: u8,
    sessions_left: u8,
    /// The CREDIT of the highest number that arrived, whatever the sender makes of it.
    newest_received: Credit,
}

/// One thing that may happen.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The sender sends one byte of this stream.
    Send(u8),
    /// Everything whole is synced and STORED arrives.
    Stored,
    /// The receiver's wish changes.
    Resize,
    /// The receiver sends a CREDIT; it may be lost or late.
    Credit,
    /// The CREDIT at this place arrives.
    CreditArrives(u8),
    /// A new session begins.
    NewSession,
}

impl Flow {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    fn window(&self, state: &State) -> u8 {
        let wanted = self.windows[usize::from(state.step)];
        if self.has(Bug::GrantsTooLittle) {
            return wanted;
        }
        let queued = if self.has(Bug::QueuedNotCounted) { 0 } else { state.queued_earlier };
        rules::grant(wanted, self.limit, queued, self.max_record)
    }

    fn size(&self, state: &State, stream: usize) -> Option<u8> {
        self.records[stream].get(usize::from(state.streams[stream].record)).copied()
    }

    fn may_send(&self, state: &State, stream: usize) -> bool {
        let Some(size) = self.size(state, stream) else {
            return false;
        };
        let (used, rest) = (state.used(), self.rest_of_begun(state));
        if state.streams[stream].begun > 0 {
            return !self.has(Bug::BegunNotFinished) || used < state.known.window;
        }
        if self.has(Bug::BegunNotCovered) {
            return used < state.known.window;
        }
        rules::may_begin(state.known.window, used, rest, size)
    }

    fn rest_of_begun(&self, state: &State) -> u8 {
        let rest = |stream: usize| match state.streams[stream].begun {
            0 => 0,
            begun => self.size(state, stream).map_or(0, |size| size - begun),
        };
        (0..STREAMS).map(rest).sum()
    }

    fn grant(&self, state: &mut State) -> Credit {
        state.sent_credits += 1;
        let credit = Credit { number: state.sent_credits, window: self.window(state) };
        state.most_granted = state.most_granted.max(credit.window);
        credit
    }

    fn send(&self, state: &mut State, stream: usize) {
        let size = self.size(state, stream).unwrap_or(0);
        let of = &mut state.streams[stream];
        of.begun += 1;
        if of.begun == size {
            of.unstored += size;
            of.record += 1;
            of.begun = 0;
        }
    }
}

impl Model for Flow {
    type State = State;
    type Event = Event;

    fn initial(&self) -> State {
        let first = Credit { number: 0, window: self.windows[0] };
        State {
            streams: [Stream::default(); STREAMS],
            known: first,
            most_granted: first.window,
            step: 0,
            credits: Vec::new(),
            sent_credits: 0,
            queued_earlier: 0,
            sessions_left: self.sessions,
            newest_received: first,
        }
    }

    fn events(&self, state: &State, into: &mut Vec<Event>) {
        into.extend((0..STREAMS).filter(|stream| self.may_send(state, *stream)).map(|s| Event::Send(s as u8)));
        if state.streams.iter().any(|stream| stream.unstored > 0) || state.queued_earlier > 0 {
            into.push(Event::Stored);
        }
        if usize::from(state.step) + 1 < self.windows.len() {
            into.push(Event::Resize);
        }
        if state.sent_credits < self.credits {
            into.push(Event::Credit);
        }
        into.extend((0..state.credits.len()).map(|place| Event::CreditArrives(place as u8)));
        if state.sessions_left > 0 {
            into.push(Event::NewSession);
        }
    }

    fn apply(&self, state: &State, event: Event) -> Result<State, Violation> {
        let mut s = state.clone();
        match event {
            Event::Send(stream) => {
                let stream = usize::from(stream);
                let begins = s.streams[stream].begun == 0;
                self.send(&mut s, stream);
                let promised = s.used() + self.rest_of_begun(&s);
                if begins && promised > s.newest_received.window {
                    let seen = format!("begun to {promised} bytes under {:?}", s.newest_received);
                    return Err(Violation::new(Property::CreditHonoured, seen));
                }
            }
            Event::Stored => s.store(),
            Event::Resize => s.step += 1,
            Event::Credit => {
                let credit = self.grant(&mut s);
                s.credits.push(credit);
            }
            Event::CreditArrives(place) => {
                let credit = s.credits[usize::from(place)];
                s.take_credit(credit, self.has(Bug::LateCreditCounts));
            }
            Event::NewSession => {
                s.sessions_left -= 1;
                s.new_session();
                s.known = Credit { number: s.sent_credits, window: self.window(&s) };
                s.newest_received = s.known;
                s.most_granted = s.known.window;
            }
        }
        Ok(s)
    }

    fn check(&self, state: &State) -> Result<(), Violation> {
        let used = state.used();
        if used > state.most_granted {
            let seen = format!("{used} bytes sent and unstored, {} granted at most", state.most_granted);
            return Err(Violation::new(Property::CreditHonoured, seen));
        }
        let held = used + state.queued_earlier;
        if held > self.limit {
            let seen = format!("{held} bytes queued, the limit is {}", self.limit);
            return Err(Violation::new(Property::Bounded, seen));
        }
        Ok(())
    }

    fn complete(&self, state: &State) -> bool {
        let done = |(stream, records): (&Stream, &&[u8])| usize::from(stream.stored) == records.len();
        state.streams.iter().zip(&self.records).all(done)
    }

    /// Whatever may be sent is sent, what is whole is stored, the schedule runs to its end, questions are
    /// answered; CREDITs already on the way are lost.
    fn calm(&self, state: &State, into: &mut Vec<State>) -> Result<(), Violation> {
        let mut s = state.clone();
        s.credits.clear();
        s.sessions_left = 0;
        s.step = (self.windows.len() - 1) as u8;
        s.store();
        if !self.has(Bug::NeverAsks) {
            s.sent_credits = s.sent_credits.min(self.credits);
            let credit = self.grant(&mut s);
            s.take_credit(credit, false);
        }
        for stream in (0..STREAMS).filter(|stream| self.may_send(&s, *stream)) {
            let mut next = s.clone();
            self.send(&mut next, stream);
            into.push(next);
        }
        into.push(s);
        Ok(())
    }

    fn describe(&self, state: &State, event: Event) -> String {
        match event {
            Event::CreditArrives(place) => {
                format!("arrives: {:?}", state.credits[usize::from(place)])
            }
            Event::Credit | Event::NewSession => {
                format!("{event:?} (window {})", self.window(state))
            }
            other => format!("{other:?}"),
        }
    }

    fn landmarks(&self, state: &State) -> u32 {
        let both_begun = state.streams.iter().all(|stream| stream.begun > 0);
        u32::from(self.complete(state))
            | u32::from(state.streams.iter().any(|s| s.begun > 0) && state.used() >= state.known.window) << 1
            | u32::from(both_begun) << 2
            | u32::from(state.queued_earlier > 0) << 3
    }

    fn landmark_names(&self) -> &'static [&'static str] {
        &["all stored", "begun beyond a lowered window", "both streams begun", "queued from an earlier session"]
    }
}

impl State {
    /// Ring bytes sent and not STORED.
    fn used(&self) -> u8 {
        self.streams.iter().map(|stream| stream.begun + stream.unstored).sum()
    }

    fn store(&mut self) {
        for stream in &mut self.streams {
            stream.stored = stream.record;
            stream.unstored = 0;
        }
        self.queued_earlier = 0;
    }

    fn take_credit(&mut self, credit: Credit, late_counts: bool) {
        self.newest_received = self.newest_received.max(credit);
        if credit > self.known || late_counts {
            self.known = credit;
        }
    }

    /// Whole records stay known to the receiver and are not queued again; begun ones start anew.
    fn new_session(&mut self) {
        self.credits.clear();
        self.queued_earlier += self.used();
        for stream in &mut self.streams {
            stream.stored = stream.record;
            stream.unstored = 0;
            stream.begun = 0;
        }
    }
}
