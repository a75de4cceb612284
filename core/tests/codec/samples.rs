//! Frames and packets of every kind, from whatever the generator draws.

use proptest::prelude::*;
use tallylink_core::wire::frame::{LARGEST_RECORD, LARGEST_STREAM, LARGEST_WINDOW};
use tallylink_core::wire::varint::MAX;
use tallylink_core::wire::{Chunk, Frame, Hello, Limits, Open, Previous, QueryFor};
use tallylink_core::{Boot, Epoch, KeyId, Label, PeerId};

/// What frames borrow from.
#[derive(Clone, Debug)]
pub(crate) struct Lent {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn lent() -> impl Strategy<Value = Lent> {
    let name = "[a-zé/0-9]{1,32}".prop_filter("at most 64 bytes", |n: &String| n.len() <= 64);
    (name, prop::collection::vec(any::<u8>(), 1..300)).prop_map(|(name, bytes)| Lent { name, bytes })
}

/// Numbers from which every field of a frame is made: small ones as often as large ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    kind: u8,
    a: u64,
    b: u64,
    c: u64,
}

pub(crate) fn draw() -> impl Strategy<Value = Draw> {
    let number = (any::<u64>(), 0u32..64).prop_map(|(bits, shift)| bits >> shift);
    (0u8..13, number.clone(), number.clone(), number).prop_map(|(kind, a, b, c)| Draw { kind, a, b, c })
}

/// The frame that `draw` makes of `lent`; every kind but ACK, whose ranges have tests of their own.
pub(crate) fn frame<'a>(draw: Draw, lent: &'a Lent) -> Frame<'a> {
    let Draw { kind, a, b, c } = draw;
    let stream = (a % LARGEST_STREAM) as u32 + 1;
    let number = b & MAX;
    match kind {
        0 => Frame::Padding((a % 1500) as usize + 1),
        1 => Frame::Ping,
        2 => Frame::Label(Label(a as u32)),
        3 => {
            let previous = (c & 1 == 1).then_some(Previous { epoch: Epoch(c.to_le_bytes()), end: c & MAX });
            Frame::Open(Open { stream, name: &lent.name, epoch: Epoch(c.to_be_bytes()), first: number, previous })
        }
        4 => Frame::Opened { stream, stored_below: number },
        5 => {
            let offset = (c % u64::from(LARGEST_RECORD)) as u32;
            let rest = if offset == 0 { 0 } else { (a % u64::from(LARGEST_RECORD - offset)) as u32 + 1 };
            Frame::Chunk(Chunk { stream, number, offset, rest, bytes: &lent.bytes })
        }
        6 => Frame::Skip { stream, below: number, reason: c as u8 },
        7 => Frame::Stored { stream, below: number },
        8 => Frame::Credit(b % (LARGEST_WINDOW + 1)),
        9 => Frame::Query(QueryFor::Stored(stream)),
        10 => Frame::Query(QueryFor::Credit(b % (LARGEST_WINDOW + 1))),
        11 => Frame::Busy,
        _ => Frame::Refused { stream, reason: c as u8 },
    }
}

pub(crate) fn limits() -> impl Strategy<Value = Limits> {
    (0..LARGEST_RECORD, 512u16.., 64u32..=1 << 20, any::<u32>(), any::<u16>()).prop_map(
        |(max_record, max_datagram, ack_window, credit, held)| Limits {
            max_record,
            max_datagram,
            ack_window,
            credit,
            held,
        },
    )
}

/// Extensions that are whole: at most 64 bytes.
pub(crate) fn extensions() -> impl Strategy<Value = Vec<u8>> {
    let one = (0u8..64, prop::collection::vec(any::<u8>(), 0..20));
    prop::collection::vec(one, 0..3).prop_map(|list| {
        list.iter().flat_map(|(kind, value)| [&[*kind, value.len() as u8], &value[..]].concat()).collect()
    })
}

/// A HELLO with these extensions.
pub(crate) fn hello(ids: [u8; 38], label: u32, limits: Limits, tlvs: &[u8]) -> Hello<'_> {
    let [version_min, version_max, key, suites, .., last] = ids;
    let part = |at: usize| -> [u8; 8] { ids[at..at + 8].try_into().unwrap() };
    let mut nonce = [0; 16];
    nonce.copy_from_slice(&ids[12..28]);
    Hello {
        version_min,
        version_max,
        key: KeyId(key),
        peer: PeerId(part(4)),
        nonce,
        boot: Boot(part(28)),
        suites: suites ^ last,
        label: Label(label),
        limits,
        tlvs,
    }
}
