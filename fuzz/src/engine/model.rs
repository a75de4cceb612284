//! A stream as a plain list of bytes.

use tallylink_core::wire::varint;
use tallylink_core::{Config, Congestion};

/// The stored bytes of a record: its size and itself.
pub(super) fn stored(record: &[u8]) -> Vec<u8> {
    let size = varint::encode(record.len() as u64).expect("a record's size");
    [size.as_slice(), record].concat()
}

/// All records of a stream, in their stored form.
#[derive(Default)]
pub(super) struct Stream {
    pub(super) bytes: Vec<u8>,
    /// Where each record begins, and where the next one will.
    pub(super) starts: Vec<usize>,
}

impl Stream {
    pub(super) fn new() -> Self {
        Self { bytes: vec![], starts: vec![0] }
    }

    pub(super) fn push(&mut self, record: &[u8]) {
        self.bytes.extend_from_slice(&stored(record));
        self.starts.push(self.bytes.len());
    }

    /// How many records there are.
    pub(super) fn len(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    /// The place of a position among all bytes.
    pub(super) fn place(&self, number: u64, offset: u32) -> Option<usize> {
        let start = *self.starts.get(usize::try_from(number).ok()?)?;
        (start + offset as usize <= self.bytes.len()).then_some(start + offset as usize)
    }

    /// The record in which a place lies, and how far into it.
    pub(super) fn position(&self, place: usize) -> (u64, u32) {
        let number = self.starts.partition_point(|start| *start <= place) - 1;
        (number as u64, (place - self.starts[number]) as u32)
    }

    /// What is left of the record in which a place lies; 0 at its start.
    pub(super) fn rest(&self, place: usize) -> u32 {
        match self.position(place) {
            (_, 0) => 0,
            (number, _) => (self.starts[number as usize + 1] - place) as u32,
        }
    }
}

/// Limits that inputs of a few hundred bytes run into.
pub(super) fn limits() -> Config {
    Config {
        max_record: 1000,
        ack_window: 64,
        congestion: Congestion::NewReno,
        in_flight: 16,
        held: 4,
        first_credit: 2048,
        max_credit: 8192,
        streams: 4,
        max_peers: 2,
        ..Config::default()
    }
}
