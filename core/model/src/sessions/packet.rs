//! What travels: packets as their two ends understand them once opened.

use std::fmt;

use crate::rules::Position;

/// A session's keys, named by the nonces of both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The device's nonce of the exchange.
    pub nonce: u8,
    /// The gateway's boot.
    pub boot: u8,
    /// The gateway's WELCOME counter within that boot.
    pub counter: u8,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "k{}.{}.{}", self.nonce, self.boot, self.counter)
    }
}

/// A part of a record, with the record's content: even contents have two parts, odd ones a single part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Part {
    /// Where it belongs.
    pub at: Position,
    /// Which record of the whole run this is.
    pub content: u8,
}

impl Part {
    /// The position after this part.
    pub fn end(self) -> Position {
        if self.at.part + 1 == parts_of(self.content) {
            Position::start_of(self.at.number + 1)
        } else {
            Position { part: self.at.part + 1, ..self.at }
        }
    }
}

/// How many parts a record of this content has.
pub(super) fn parts_of(content: u8) -> u8 {
    2 - content % 2
}

/// Up to two consecutive parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Chunk(pub [Option<Part>; 2]);

impl Chunk {
    /// The parts, in order.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        self.0.into_iter().flatten()
    }

    /// The first part's position; a packet without data has none.
    pub fn from(&self) -> Option<Position> {
        self.0[0].map(|part| part.at)
    }

    /// The parts as bits.
    pub fn mask(&self) -> u16 {
        self.parts().fold(0, |mask, part| mask | bit(part.at))
    }
}

/// A part's bit in a set of parts of one epoch.
pub(super) fn bit(at: Position) -> u16 {
    1 << (at.number * 2 + at.part)
}

/// DATA or long DATA with OPEN (epoch and first) and a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Data {
    /// The session.
    pub key: Key,
    /// The packet number.
    pub number: u8,
    /// Whether the gateway can rebuild the keys from this packet alone.
    pub long: bool,
    /// The epoch that OPEN names.
    pub epoch: Key,
    /// OPEN's first and SKIP's bound: the head of the sender's ring.
    pub first: u8,
    /// The data.
    pub chunk: Chunk,
}

/// The gateway's ACK, OPENED and STORED in one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Answer {
    /// The session.
    pub key: Key,
    /// The packet number.
    pub number: u8,
    /// Packet numbers received, as bits.
    pub acked: u16,
    /// The epoch that is open.
    pub epoch: Option<Key>,
    /// Its first record not STORED.
    pub stored_below: u8,
}

/// One packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Packet {
    /// HELLO of the exchange with this nonce.
    Hello(u8),
    /// WELCOME that answers it: the key that both nonces name.
    Welcome(Key),
    /// What the device sends in a session.
    Data(Data),
    /// What the gateway sends in a session.
    Answer(Answer),
}

impl Packet {
    /// Whether two packets would be sealed under the same key and number with different plaintexts.
    pub fn same_number_other_text(&self, other: &Self) -> bool {
        let same_number = match (self, other) {
            (Self::Data(a), Self::Data(b)) => (a.key, a.number) == (b.key, b.number),
            (Self::Answer(a), Self::Answer(b)) => (a.key, a.number) == (b.key, b.number),
            _ => false,
        };
        same_number && self != other
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hello(nonce) => write!(f, "HELLO(nonce {nonce})"),
            Self::Welcome(key) => write!(f, "WELCOME({key})"),
            Self::Data(Data { key, number, long, epoch, first, chunk }) => {
                let form = if *long { "long DATA" } else { "DATA" };
                write!(f, "{form}({key} #{number}, epoch {epoch} from {first}:")?;
                for part in chunk.parts() {
                    write!(f, " {}/{}=c{}", part.at.number, part.at.part, part.content)?;
                }
                write!(f, ")")
            }
            Self::Answer(Answer { key, number, acked, stored_below, .. }) => {
                write!(f, "ANSWER({key} #{number}, acked {acked:#b}, stored below {stored_below})")
            }
        }
    }
}
