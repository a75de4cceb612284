//! The bounded byte queue from the network thread to the journal's writer.
//!
//! Chunks lie in it in their stored form, one fixed head before each: nothing is allocated, and what waits is at most
//! what the queue was made for.

use rtrb::{Consumer, Producer, RingBuffer};
use tallylink_core::{Epoch, Full, Position};

/// What waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A stream of which nothing was put before; its name follows.
    Stream { peer: [u8; 8] },
    /// Records; their bytes follow.
    Chunk { epoch: Epoch, from: Position, to: Position, first_start: u32, starts: u32, arrival_us: u64 },
    /// Records that will never come.
    Gap { epoch: Epoch, below: u64, reason: u8, arrival_us: u64 },
    /// What was put before this, since the journal failed, is void.
    Resume,
}

const HEAD: usize = 64;

/// The network thread's end.
#[derive(Debug)]
pub(super) struct Put {
    ring: Producer<u8>,
    bytes: usize,
}

/// The writer's end.
#[derive(Debug)]
pub(super) struct Take {
    ring: Consumer<u8>,
    /// For what lies across the end of the ring.
    joined: Vec<u8>,
}

/// A queue of so many bytes.
pub(super) fn queue(bytes: usize) -> (Put, Take) {
    let (put, take) = RingBuffer::new(bytes);
    (Put { ring: put, bytes }, Take { ring: take, joined: Vec::new() })
}

impl Put {
    /// Puts one item of a stream.
    ///
    /// # Errors
    /// [`Full`]; nothing was put.
    #[inline]
    pub(super) fn put(&mut self, stream: u32, item: &Item, body: &[u8]) -> Result<(), Full> {
        let needed = HEAD + body.len();
        if self.ring.cached_slots() < needed && self.ring.slots() < needed {
            return Err(Full);
        }
        let len = u32::try_from(body.len()).map_err(|_| Full)?;
        self.ring.push_entire_slice(&encode(stream, item, len)).map_err(|_| Full)?;
        self.ring.push_entire_slice(body).map_err(|_| Full)
    }

    /// Whether both of these bodies fit, each behind its head.
    #[inline]
    pub(super) fn fits(&self, one: usize, other: usize) -> bool {
        self.ring.slots() >= 2 * HEAD + one + other
    }

    /// Whether the writer is gone.
    pub(super) fn is_abandoned(&self) -> bool {
        self.ring.is_abandoned()
    }

    /// Bytes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.bytes - self.ring.slots()
    }

    /// Bytes that may wait.
    pub(super) fn capacity(&self) -> usize {
        self.bytes
    }
}

impl Take {
    /// Takes the next item, if there is one.
    #[inline]
    pub(super) fn take<T>(&mut self, with: impl FnOnce(u32, Item, &[u8]) -> T) -> Option<T> {
        let head = self.ring.read_chunk(HEAD).ok()?;
        let mut bytes = [0; HEAD];
        let (one, other) = head.as_slices();
        bytes[..one.len()].copy_from_slice(one);
        bytes[one.len()..].copy_from_slice(other);
        let (stream, item, len) = decode(&bytes);
        let whole = self.ring.read_chunk(HEAD + len as usize).ok()?;
        let (one, other) = whole.as_slices();
        let taken = match one.get(HEAD..) {
            Some(body) if other.is_empty() => with(stream, item, body),
            Some(begin) => {
                self.joined.clear();
                self.joined.extend_from_slice(begin);
                self.joined.extend_from_slice(other);
                with(stream, item, &self.joined)
            }
            None => with(stream, item, &other[HEAD - one.len()..]),
        };
        whole.commit_all();
        Some(taken)
    }

    /// Whether nothing more will come: the other end is gone, and all it put was taken.
    pub(super) fn is_over(&self) -> bool {
        // In this order: what was put before the other end went is seen.
        self.ring.is_abandoned() && self.ring.is_empty()
    }
}

fn encode(stream: u32, item: &Item, len: u32) -> [u8; HEAD] {
    let (kind, reason, name, numbers, halves) = match *item {
        Item::Stream { peer } => (0, 0, peer, [0; 3], [0; 4]),
        Item::Chunk { epoch, from, to, first_start, starts, arrival_us } => {
            (1, 0, epoch.0, [from.number, to.number, arrival_us], [from.offset, to.offset, first_start, starts])
        }
        Item::Gap { epoch, below, reason, arrival_us } => (2, reason, epoch.0, [0, below, arrival_us], [0; 4]),
        Item::Resume => (3, 0, [0; 8], [0; 3], [0; 4]),
    };
    let mut bytes = [0; HEAD];
    (bytes[0], bytes[1]) = (kind, reason);
    bytes[4..8].copy_from_slice(&stream.to_le_bytes());
    bytes[8..12].copy_from_slice(&len.to_le_bytes());
    bytes[16..24].copy_from_slice(&name);
    for (field, number) in bytes[24..48].chunks_exact_mut(8).zip(numbers) {
        field.copy_from_slice(&u64::to_le_bytes(number));
    }
    for (field, half) in bytes[48..].chunks_exact_mut(4).zip(halves) {
        field.copy_from_slice(&u32::to_le_bytes(half));
    }
    bytes
}

fn decode(bytes: &[u8; HEAD]) -> (u32, Item, u32) {
    let (halves, _) = bytes.as_chunks::<4>();
    let (words, _) = bytes.as_chunks::<8>();
    let half = |at: usize| u32::from_le_bytes(halves[at / 4]);
    let word = |at: usize| u64::from_le_bytes(words[at / 8]);
    let epoch = Epoch(words[2]);
    let arrival_us = word(40);
    let item = match bytes[0] {
        0 => Item::Stream { peer: words[2] },
        1 => Item::Chunk {
            epoch,
            from: Position { number: word(24), offset: half(48) },
            to: Position { number: word(32), offset: half(52) },
            first_start: half(56),
            starts: half(60),
            arrival_us,
        },
        2 => Item::Gap { epoch, below: word(32), reason: bytes[1], arrival_us },
        _ => Item::Resume,
    };
    (half(4), item, half(8))
}

#[cfg(test)]
mod tests;
