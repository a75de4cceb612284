//! The rules themselves: small pure functions that the models call and that production code can share.
//!
//! Each is the right rule. A planted bug stands in the model that uses the rule, beside the call.

/// A place in a stream: a record's number and a part of that record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// The record's number within its epoch.
    pub number: u8,
    /// The part of the record; 0 is its beginning.
    pub part: u8,
}

impl Position {
    /// The beginning of record `number`.
    pub const fn start_of(number: u8) -> Self {
        Self { number, part: 0 }
    }
}

/// Whether a session may go live: only a WELCOME counter above the last that went live ever does, so an ended
/// session never returns.
pub fn may_go_live(counter: u8, last_live: Option<u8>) -> bool {
    last_live.is_none_or(|last| counter > last)
}

/// Where delivery begins in a new session: the beginning of the record at which the journal writer stands. What
/// the writer holds of an unfinished record is void.
pub fn resume_at(writer: Position) -> Position {
    Position::start_of(writer.number)
}

/// Whether the journal writer may append a part that starts at `from`: at exactly its own position, or at the
/// beginning of the record whose unfinished part is void.
pub fn writer_accepts(writer: Position, from: Position) -> bool {
    from == writer || from == resume_at(writer)
}

/// The record below which a receiver's gap ends, if `first` (of OPEN or SKIP) lies ahead of `next`.
pub fn gap_below(next: Position, first: u8) -> Option<u8> {
    (first > next.number).then_some(first)
}

/// Whether a record of `size` bytes may be begun: the window covers what is sent and unstored, the rest of every
/// record begun, and this one.
pub fn may_begin(window: u8, sent_unstored: u8, rest_of_begun: u8, size: u8) -> bool {
    sent_unstored + rest_of_begun + size <= window
}

/// The window a receiver grants: what is left beside bytes queued from earlier sessions, and once nothing of
/// those is left, never less than one record of the largest size.
pub fn grant(wanted: u8, limit: u8, queued_earlier: u8, max_record: u8) -> u8 {
    let free = limit.saturating_sub(queued_earlier);
    if queued_earlier == 0 { wanted.clamp(max_record, free) } else { wanted.min(free) }
}

/// What a receiver finds when it compares an OPEN with what it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpenFinding {
    /// Everything fits.
    Expected,
    /// The epoch or its predecessor does not continue what is stored: an outbox was restored or copied, or this
    /// gateway is older than its peer.
    Differs,
}

/// An epoch as OPEN names a predecessor: its id and its end, or none.
pub type Predecessor = Option<(u8, u8)>;

/// Compares the OPEN of an epoch that the receiver does not know with its newest epoch.
pub fn open_unknown(first: u8, previous: Predecessor, newest: Predecessor) -> OpenFinding {
    if first == 0 && previous == newest { OpenFinding::Expected } else { OpenFinding::Differs }
}

/// Compares the OPEN of a known epoch: the sender cannot be behind what is stored, nor ahead of it.
pub fn open_known(first: u8, end: u8, stored_below: u8) -> OpenFinding {
    if first <= stored_below && stored_below <= end { OpenFinding::Expected } else { OpenFinding::Differs }
}

/// What a receiver's window says about a packet number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arrival {
    /// Never accepted, inside the window or ahead of it.
    Fresh,
    /// Accepted before.
    Repeat,
    /// Below the window: refused, and never called received.
    TooOld,
}

/// Judges packet `number` by a window of `width` numbers ending at `top` (the highest accepted, if any).
pub fn judge_arrival(number: u8, top: Option<u8>, width: u8, accepted: impl Fn(u8) -> bool) -> Arrival {
    match top {
        Some(top) if number + width <= top => Arrival::TooOld,
        Some(_) if accepted(number) => Arrival::Repeat,
        _ => Arrival::Fresh,
    }
}

/// Whether new data may take packet `next`: the oldest packet on the way is less than half the window behind.
pub fn may_send_new(next: u8, oldest_outstanding: Option<u8>, width: u8) -> bool {
    oldest_outstanding.is_none_or(|oldest| next - oldest <= width / 2)
}
