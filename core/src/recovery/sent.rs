//! The in-flight table (wire-format §8.1): a ring of [`Sent`] by packet number.
//!
//! Three doubly linked lists run through the entries, so that nothing is ever searched for:
//! - *flight*: packets that are out, in the order they left; loss detection looks at its front only;
//! - *lost*: chunks that must be sent again, the oldest loss first;
//! - one per stream: its chunks that are not yet acknowledged, in stream order. A retransmission takes the place of the
//!   packet that it repeats, so the front is the stream's oldest unacknowledged position, always.
//!
//! An entry's packet number tells whether the slot still belongs to it; a number that took no slot (ACK-only packets) just
//! finds another number there.

use crate::ids::{OutIx, Position};
use crate::time::Instant;

/// A slot of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) u32);

impl Slot {
    pub(crate) const NONE: Self = Self(u32::MAX);

    pub(crate) fn some(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }
}

/// What has become of the packet in a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// The slot is empty.
    #[default]
    Free,
    /// The packet is out.
    Flight,
    /// The packet was declared lost; its chunk waits to be sent again.
    Lost,
    /// The packet was declared lost and its chunk was sent again; kept to recognise a late ACK.
    Repeated,
}

/// What a packet carried besides its chunk, and what kind it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried(u8);

impl Carried {
    /// A chunk of a stream.
    pub(crate) const CHUNK: Self = Self(1);
    /// SKIP of the stream.
    pub(crate) const SKIP: Self = Self(2);
    /// Its loss was taken for a sign of congestion.
    pub(crate) const COUNTED: Self = Self(4);
    /// A probe: its loss does not cut the window.
    pub(crate) const PROBE: Self = Self(8);
    /// It left with a mark that routers may change.
    pub(crate) const MARKED: Self = Self(16);
    /// A probe of the path's size, which carries nothing.
    pub(crate) const SIZE: Self = Self(32);

    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Those that hold.
    #[inline]
    pub(crate) fn of(all: &[(Self, bool)]) -> Self {
        all.iter().filter(|(_, holds)| *holds).fold(Self(0), |carried, (each, _)| carried.with(*each))
    }

    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Links {
    pub(crate) prev: Slot,
    pub(crate) next: Slot,
}

impl Links {
    const NONE: Self = Self { prev: Slot::NONE, next: Slot::NONE };
}

/// One packet that asks for an ACK. The driver lends `links × in_flight` of these; what is inside is the core's.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub(crate) sent_at: Instant,
    pub(crate) start: Position,
    pub(crate) end_offset: u32,
    pub(crate) stream: OutIx,
    /// The low bytes of the packet number.
    pub(crate) number: u32,
    /// Where the chunk begins in the stream's ring.
    pub(crate) ring_at: u32,
    /// How many data packets had left the link when this chunk first did.
    pub(crate) first_sent: u32,
    /// The stream's list, or nothing.
    pub(crate) in_stream: Links,
    /// The flight list or the lost list, by state.
    pub(crate) in_list: Links,
    /// Size of the datagram.
    pub(crate) size: u16,
    /// Length of the chunk in the ring.
    pub(crate) len: u16,
    /// How many records end before the chunk does, counted from `start.number`.
    pub(crate) records: u16,
    pub(crate) state: State,
    pub(crate) carried: Carried,
}

const _: () = assert!(size_of::<Sent>() <= 72);

impl Default for Sent {
    fn default() -> Self {
        Self {
            sent_at: Instant::from_micros(0),
            start: Position::default(),
            end_offset: 0,
            stream: OutIx::NONE,
            number: 0,
            ring_at: 0,
            first_sent: 0,
            in_stream: Links::NONE,
            in_list: Links::NONE,
            size: 0,
            len: 0,
            records: 0,
            state: State::Free,
            carried: Carried::default(),
        }
    }
}

impl Sent {
    /// Where the chunk ends.
    pub(crate) fn end(&self) -> Position {
        Position { number: self.start.number.saturating_add(u64::from(self.records)), offset: self.end_offset }
    }

    /// True while the packet's content may still have to be sent again.
    pub(crate) fn outstanding(&self) -> bool {
        matches!(self.state, State::Flight | State::Lost)
    }
}

/// Front and back of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    pub(crate) front: Slot,
    pub(crate) back: Slot,
}

impl Default for List {
    fn default() -> Self {
        Self { front: Slot::NONE, back: Slot::NONE }
    }
}

impl List {
    pub(crate) fn is_empty(&self) -> bool {
        self.front == Slot::NONE
    }

    /// Appends a slot, through the links that `of` names.
    pub(crate) fn push_back(&mut self, table: &mut [Sent], slot: Slot, of: fn(&mut Sent) -> &mut Links) {
        let prev = self.back;
        if let Some(sent) = table.get_mut(slot.0 as usize) {
            *of(sent) = Links { prev, next: Slot::NONE };
        }
        match prev.some().and_then(|p| table.get_mut(p.0 as usize)) {
            Some(p) => of(p).next = slot,
            None => self.front = slot,
        }
        self.back = slot;
    }

    /// Takes a slot out.
    pub(crate) fn remove(&mut self, table: &mut [Sent], slot: Slot, of: fn(&mut Sent) -> &mut Links) {
        let Some(sent) = table.get_mut(slot.0 as usize) else {
            return;
        };
        let Links { prev, next } = core::mem::replace(of(sent), Links::NONE);
        match prev.some().and_then(|p| table.get_mut(p.0 as usize)) {
            Some(p) => of(p).next = next,
            None => self.front = next,
        }
        match next.some().and_then(|n| table.get_mut(n.0 as usize)) {
            Some(n) => of(n).prev = prev,
            None => self.back = prev,
        }
    }

    /// Puts `new` in front of `old`.
    pub(crate) fn insert_before(&mut self, table: &mut [Sent], old: Slot, new: Slot, of: fn(&mut Sent) -> &mut Links) {
        let Some(sent) = table.get_mut(old.0 as usize) else {
            return;
        };
        let prev = core::mem::replace(&mut of(sent).prev, new);
        if let Some(sent) = table.get_mut(new.0 as usize) {
            *of(sent) = Links { prev, next: old };
        }
        match prev.some().and_then(|p| table.get_mut(p.0 as usize)) {
            Some(p) => of(p).next = new,
            None => self.front = new,
        }
    }

    /// Puts `new` where `old` is.
    pub(crate) fn replace(&mut self, table: &mut [Sent], old: Slot, new: Slot, of: fn(&mut Sent) -> &mut Links) {
        let Some(sent) = table.get_mut(old.0 as usize) else {
            return;
        };
        let links = core::mem::replace(of(sent), Links::NONE);
        if let Some(sent) = table.get_mut(new.0 as usize) {
            *of(sent) = links;
        }
        match links.prev.some().and_then(|p| table.get_mut(p.0 as usize)) {
            Some(p) => of(p).next = new,
            None => self.front = new,
        }
        match links.next.some().and_then(|n| table.get_mut(n.0 as usize)) {
            Some(n) => of(n).prev = new,
            None => self.back = new,
        }
    }
}

/// The links of an entry in its stream's list.
pub(crate) fn stream_links(sent: &mut Sent) -> &mut Links {
    &mut sent.in_stream
}

/// The links of an entry in the flight or lost list.
pub(crate) fn list_links(sent: &mut Sent) -> &mut Links {
    &mut sent.in_list
}

/// The lists of one link over its part of the table, and the sum that the congestion window is held against.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flight {
    /// Packets that are out, the oldest first.
    pub(crate) out: List,
    /// Lost chunks that wait to be sent again.
    pub(crate) lost: List,
    /// The sum of the sizes of the packets in `out`.
    pub(crate) bytes: u64,
    /// Slots that are held, by packets in either list.
    pub(crate) slots: u32,
    /// Packets were lost: the table remembers them, to recognise late ACKs.
    pub(crate) remembers: bool,
}

impl Flight {
    /// The slot of a packet number. The table's length is a power of two.
    pub(crate) fn slot(table: &[Sent], number: u64) -> Slot {
        Slot(number as u32 & (table.len() as u32).wrapping_sub(1))
    }

    /// The slot that still belongs to `number`.
    pub(crate) fn find(table: &[Sent], number: u64) -> Option<Slot> {
        let slot = Self::slot(table, number);
        let sent = table.get(slot.0 as usize)?;
        (sent.state != State::Free && sent.number == number as u32).then_some(slot)
    }

    /// True when nothing is out and nothing waits to be sent again.
    pub(crate) fn is_empty(&self) -> bool {
        self.out.is_empty() && self.lost.is_empty()
    }

    /// Puts a new packet into its slot, which must not hold an outstanding one.
    #[inline]
    pub(crate) fn insert(&mut self, table: &mut [Sent], slot: Slot, sent: Sent) {
        self.bytes = self.bytes.saturating_add(u64::from(sent.size));
        self.slots = self.slots.saturating_add(1);
        if let Some(entry) = table.get_mut(slot.0 as usize) {
            debug_assert!(!entry.outstanding());
            *entry = Sent { state: State::Flight, ..sent };
        }
        self.out.push_back(table, slot, list_links);
    }

    /// A packet that was out is so no longer.
    fn leave(&mut self, table: &mut [Sent], slot: Slot) {
        let size = table.get(slot.0 as usize).map_or(0, |s| u64::from(s.size));
        debug_assert!(self.bytes >= size);
        self.bytes = self.bytes.saturating_sub(size);
        self.out.remove(table, slot, list_links);
    }

    /// Moves a packet from flight to lost, or frees its slot when it carried nothing to repeat.
    pub(crate) fn lose(&mut self, table: &mut [Sent], slot: Slot) {
        self.leave(table, slot);
        self.remembers = true;
        let Some(sent) = table.get_mut(slot.0 as usize) else {
            return;
        };
        if sent.carried.has(Carried::CHUNK) {
            sent.state = State::Lost;
            self.lost.push_back(table, slot, list_links);
        } else {
            sent.state = State::Repeated;
            self.slots = self.slots.saturating_sub(1);
        }
    }

    /// Frees a slot, whatever its state.
    pub(crate) fn free(&mut self, table: &mut [Sent], slot: Slot) {
        match table.get(slot.0 as usize).map(|s| s.state) {
            Some(State::Flight) => self.leave(table, slot),
            Some(State::Lost) => self.lost.remove(table, slot, list_links),
            _ => {}
        }
        if let Some(sent) = table.get_mut(slot.0 as usize) {
            self.slots = self.slots.saturating_sub(u32::from(sent.outstanding()));
            sent.state = State::Free;
        }
    }

    /// The chunk of a lost packet has left again under another number.
    pub(crate) fn repeated(&mut self, table: &mut [Sent], slot: Slot, by: Slot) {
        self.lost.remove(table, slot, list_links);
        self.slots = self.slots.saturating_sub(1);
        if let Some(sent) = table.get_mut(slot.0 as usize) {
            sent.state = State::Repeated;
            // It is in no list now, and remembers where its chunk went.
            sent.in_list.next = by;
        }
    }

    /// True when [`Flight::bytes`] is the sum of the sizes in the flight list: for assertions.
    pub(crate) fn adds_up(&self, table: &[Sent]) -> bool {
        let mut sum = 0u64;
        let mut at = self.out.front;
        while let Some(sent) = at.some().and_then(|s| table.get(s.0 as usize)) {
            sum = sum.saturating_add(u64::from(sent.size));
            at = sent.in_list.next;
        }
        sum == self.bytes
    }
}
