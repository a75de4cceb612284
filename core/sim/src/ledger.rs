//! The truth that the world is held against: what was pushed, what was given up, what was confirmed.

use crate::plan::StreamPlan;
use crate::rng::{Rng, mix};
use std::collections::HashMap;
use tallylink_core::wire::varint;
use tallylink_core::{Epoch, Position};

/// One numbering of a stream: everything that was pushed under it.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The stream.
    pub(crate) stream: usize,
    /// Sizes of its records, by number.
    pub(crate) sizes: Vec<u32>,
    /// Records below this number were given up by the sender.
    pub(crate) given_up: u64,
    /// Records below this number have been on the receiver's disk.
    pub(crate) durable: u64,
    /// The sender was told STORED below this number.
    pub(crate) told: u64,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Ledger {
    seed: u64,
    /// The streams of the world.
    pub(crate) streams: Vec<StreamPlan>,
    /// The largest record that each stream's receiver takes.
    limits: Vec<u32>,
    /// Whether each stream's receiver keeps its journal over a crash.
    pub(crate) receiver_keeps: Vec<bool>,
    sources: Vec<Source>,
    named: HashMap<(usize, Epoch), usize>,
}

impl Ledger {
    /// Nothing was pushed yet.
    #[must_use]
    pub(crate) fn new(seed: u64, streams: Vec<StreamPlan>, limits: Vec<u32>, receiver_keeps: Vec<bool>) -> Self {
        Self { seed, streams, limits, receiver_keeps, sources: Vec::new(), named: HashMap::new() }
    }

    /// A new numbering of a stream; its epoch may become known later.
    pub(crate) fn begin(&mut self, stream: usize) -> usize {
        self.sources.push(Source { stream, sizes: Vec::new(), given_up: 0, durable: 0, told: 0 });
        self.sources.len() - 1
    }

    /// The epoch of a numbering is known.
    ///
    /// # Errors
    /// When it names another numbering of the stream already.
    pub(crate) fn name(&mut self, source: usize, epoch: Epoch) -> Result<(), String> {
        let stream = self.sources[source].stream;
        match self.named.insert((stream, epoch), source) {
            Some(other) if other != source => Err(format!("epoch {epoch:?} of stream {stream} names two numberings")),
            _ => Ok(()),
        }
    }

    /// The numbering that an epoch names.
    #[must_use]
    pub(crate) fn named(&self, stream: usize, epoch: Epoch) -> Option<usize> {
        self.named.get(&(stream, epoch)).copied()
    }

    /// A numbering.
    #[must_use]
    pub(crate) fn source(&self, source: usize) -> &Source {
        &self.sources[source]
    }

    /// A numbering, to write to.
    pub(crate) fn source_mut(&mut self, source: usize) -> &mut Source {
        &mut self.sources[source]
    }

    /// Every numbering of a stream.
    pub(crate) fn of_stream(&self, stream: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.sources.len()).filter(move |s| self.sources[*s].stream == stream)
    }

    /// The bytes of a record.
    #[must_use]
    pub(crate) fn record(&self, source: usize, number: u64) -> Vec<u8> {
        let size = self.sources[source].sizes[number as usize] as usize;
        let mut rng = Rng::new(mix(self.seed ^ mix(source as u64)) ^ number);
        let mut bytes = vec![0; size];
        for piece in bytes.chunks_mut(8) {
            piece.copy_from_slice(&rng.next().to_le_bytes()[..piece.len()]);
        }
        bytes
    }

    /// A record as it is stored: its size, then its bytes.
    #[must_use]
    pub(crate) fn packed(&self, source: usize, number: u64) -> Vec<u8> {
        let record = self.record(source, number);
        let size = varint::encode(record.len() as u64).expect("a record's size has a varint");
        [size.as_slice(), &record].concat()
    }

    /// Compares what was delivered from one position to another with what was pushed.
    ///
    /// # Errors
    /// What differs.
    pub(crate) fn compare(&self, source: usize, from: Position, to: Position, bytes: &[u8]) -> Result<(), String> {
        let (mut number, mut offset, mut rest) = (from.number, from.offset as usize, bytes);
        while !rest.is_empty() {
            if number >= self.sources[source].sizes.len() as u64 {
                return Err(format!("record {number} was never pushed"));
            }
            let packed = self.packed(source, number);
            let expected = packed.get(offset..).unwrap_or(&[]);
            let len = expected.len().min(rest.len());
            let (here, after) = rest.split_at(len);
            if len == 0 || here != &expected[..len] {
                return Err(format!("record {number} differs from byte {offset} on"));
            }
            rest = after;
            (number, offset) = if offset + len == packed.len() { (number + 1, 0) } else { (number, offset + len) };
        }
        let end = Position { number, offset: offset as u32 };
        if end == to { Ok(()) } else { Err(format!("it ends at {end:?}, not at {to:?}")) }
    }

    /// Whether a record may be missing: it was given up, or is above the receiver's limit.
    #[must_use]
    pub(crate) fn may_miss(&self, source: usize, number: u64) -> bool {
        let of = &self.sources[source];
        number < of.given_up || of.sizes.get(number as usize).is_some_and(|s| *s > self.limits[of.stream])
    }

    /// The receiver has these on disk.
    pub(crate) fn durable(&mut self, source: usize, below: u64) {
        let of = &mut self.sources[source];
        of.durable = of.durable.max(below);
    }

    /// The sender was told that these are STORED.
    ///
    /// # Errors
    /// When they are not.
    pub(crate) fn told(&mut self, source: usize, below: u64) -> Result<(), String> {
        let from = self.sources[source].durable;
        if let Some(number) = (from..below).find(|n| !self.may_miss(source, *n)) {
            return Err(format!("STORED below {below} was told before record {number} was synced"));
        }
        let of = &mut self.sources[source];
        of.told = of.told.max(below);
        Ok(())
    }
}
