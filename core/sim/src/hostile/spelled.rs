//! Frames field by field, so that any one of them can be spelled wrongly.

use tallylink_core::wire::varint;

/// A part of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    /// Bytes as they are.
    Bytes(&'static [u8]),
    /// A varint.
    Number(u64),
}

use Field::{Bytes, Number};

/// One of each frame; some in two forms.
pub(super) const FRAMES: &[&[Field]] = &[
    &[Bytes(&[0, 0, 0])],
    &[Bytes(&[1])],
    &[Bytes(&[2, 0, 0, 0x77, 0])],
    &[Bytes(&[3]), Number(1), Bytes(b"\x01n\x01\x01\x01\x01\x01\x01\x01\x01"), Number(0), Bytes(&[0])],
    &[
        Bytes(&[3]),
        Number(2),
        Bytes(b"\x01m\x02\x02\x02\x02\x02\x02\x02\x02"),
        Number(70),
        Bytes(&[1, 3, 3, 3, 3, 3, 3, 3, 3]),
        Number(9000),
    ],
    &[Bytes(&[4]), Number(1), Number(0)],
    &[Bytes(&[5]), Number(1), Number(0), Number(0), Number(4), Bytes(&[3, 1, 2, 3])],
    &[Bytes(&[5]), Number(1), Number(3), Number(70), Number(2), Number(2), Bytes(&[1, 2])],
    &[Bytes(&[6]), Number(1), Number(9), Bytes(&[4])],
    &[Bytes(&[7]), Number(0), Number(100), Number(0), Number(0)],
    &[Bytes(&[7]), Number(9), Number(100), Number(2), Number(1), Number(0), Number(0), Number(1), Number(0)],
    &[Bytes(&[8]), Number(1), Number(0)],
    &[Bytes(&[9]), Number(70_000)],
    &[Bytes(&[10, 0]), Number(1)],
    &[Bytes(&[10, 1]), Number(70_000)],
    &[Bytes(&[11])],
    &[Bytes(&[12]), Number(1), Bytes(&[1])],
    &[Bytes(&[13]), Number(0), Number(100), Number(0), Number(0), Number(1), Number(0), Number(0)],
];

/// The frame as it should be.
pub(super) fn spell(frame: &[Field]) -> Vec<u8> {
    spell_with(frame, usize::MAX, 0)
}

/// The frame with field `odd` in `length` bytes, if that is a varint.
pub(super) fn spell_with(frame: &[Field], odd: usize, length: usize) -> Vec<u8> {
    let mut bytes = vec![];
    for (at, field) in frame.iter().enumerate() {
        match *field {
            Bytes(as_they_are) => bytes.extend_from_slice(as_they_are),
            Number(value) if at == odd => bytes.extend_from_slice(&varint_in(value, length)),
            Number(value) => bytes.extend_from_slice(&varint_in(value, varint::len(value))),
        }
    }
    bytes
}

/// A varint of 1, 2, 4 or 8 bytes, whether or not that is the shortest (RFC 9000 §16).
pub(super) fn varint_in(value: u64, length: usize) -> Vec<u8> {
    let prefix = u64::from(length.trailing_zeros()) << (8 * length - 2);
    (value | prefix).to_be_bytes()[8 - length..].to_vec()
}
