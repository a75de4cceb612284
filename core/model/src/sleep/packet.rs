//! What travels: packets as their two ends understand them once opened.

use std::fmt;

use crate::sessions::Key;

/// A record: its number, and which record of the whole run it is.
pub type Record = (u8, u8);

/// What the device puts into a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// The first record never sent in this session.
    New,
    /// The oldest record that was sent and has not arrived.
    Again,
    /// No record: a PING or a question.
    Nothing,
}

/// A packet of the device: OPEN, a record, and confirmations of what the gateway sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Up {
    /// The session.
    pub key: Key,
    /// The packet number.
    pub number: u8,
    /// Whether the gateway can rebuild the keys from this packet alone.
    pub long: bool,
    /// The epoch that OPEN names.
    pub epoch: Key,
    /// The oldest record that the device holds.
    pub first: u8,
    /// The record.
    pub record: Option<Record>,
    /// Packet numbers received, as bits.
    pub acked: u16,
    /// The first record of the gateway's that the application has not taken.
    pub taken_below: u8,
}

/// A packet of the gateway: confirmations, OPEN and a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Down {
    /// The session.
    pub key: Key,
    /// The packet number.
    pub number: u8,
    /// Packet numbers received, as bits.
    pub acked: u16,
    /// The epoch that is open, and its first record that is not stored.
    pub stored: Option<(Key, u8)>,
    /// The oldest record that the gateway holds.
    pub first: u8,
    /// The record.
    pub record: Option<Record>,
}

/// One packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Packet {
    /// HELLO of the exchange with this nonce.
    Hello(u8),
    /// WELCOME that answers it: the key that both nonces name.
    Welcome(Key),
    /// What the device sends in a session.
    Up(Up),
    /// What the gateway sends in a session.
    Down(Down),
}

impl Packet {
    /// Whether two packets would be sealed under the same key and number with different plaintexts.
    pub fn same_number_other_text(&self, other: &Self) -> bool {
        let same_number = match (self, other) {
            (Self::Up(a), Self::Up(b)) => (a.key, a.number) == (b.key, b.number),
            (Self::Down(a), Self::Down(b)) => (a.key, a.number) == (b.key, b.number),
            _ => false,
        };
        same_number && self != other
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = |record: Option<Record>| match record {
            Some((number, content)) => format!("{number}=c{content}"),
            None => "nothing".to_owned(),
        };
        match self {
            Self::Hello(nonce) => write!(f, "HELLO(nonce {nonce})"),
            Self::Welcome(key) => write!(f, "WELCOME({key})"),
            Self::Up(up) => {
                let form = if up.long { "long UP" } else { "UP" };
                write!(f, "{form}({} #{}, epoch {} from {}: ", up.key, up.number, up.epoch, up.first)?;
                write!(f, "{}, acked {:#b}, taken below {})", record(up.record), up.acked, up.taken_below)
            }
            Self::Down(down) => {
                write!(f, "DOWN({} #{}, acked {:#b}, ", down.key, down.number, down.acked)?;
                write!(f, "stored {:?}, from {}: {})", down.stored, down.first, record(down.record))
            }
        }
    }
}
