//! One ring of items.
//!
//! Chunks lie in it in their stored form, one fixed head before each: nothing is allocated, and what waits is at most
//! what the ring was made for.

use rtrb::{Consumer, Producer, RingBuffer};
use tallylink_core::{Epoch, Full, Position};

use super::Item;

const HEAD: usize = 64;

/// The network thread's end.
#[derive(Debug)]
pub(super) struct Put {
    ring: Producer<u8>,
    bytes: usize,
    /// Bytes that were ever put.
    put: u64,
}

/// The writer's end.
#[derive(Debug)]
pub(super) struct Take {
    ring: Consumer<u8>,
    /// For what lies across the end of the ring.
    joined: Vec<u8>,
}

/// What the next item says before it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) stamp: u32,
    pub(super) is_resume: bool,
}

/// What an item with this body takes up.
#[inline]
pub(super) fn size(body: &[u8]) -> usize {
    HEAD + body.len()
}

/// A ring of so many bytes.
pub(super) fn ring(bytes: usize) -> (Put, Take) {
    let (put, take) = RingBuffer::new(bytes);
    (Put { ring: put, bytes, put: 0 }, Take { ring: take, joined: Vec::new() })
}

impl Put {
    /// Puts one item of a stream. `stamp` is the caller's.
    ///
    /// # Errors
    /// [`Full`]; nothing was put.
    #[inline]
    pub(super) fn put(&mut self, stream: u32, stamp: u32, item: &Item, body: &[u8]) -> Result<(), Full> {
        let needed = size(body);
        if self.ring.cached_slots() < needed && self.ring.slots() < needed {
            return Err(Full);
        }
        let len = u32::try_from(body.len()).map_err(|_| Full)?;
        self.ring.push_entire_slice(&encode(stream, stamp, item, len)).map_err(|_| Full)?;
        self.ring.push_entire_slice(body).map_err(|_| Full)?;
        self.put += needed as u64;
        Ok(())
    }

    /// Whether the writer is gone.
    pub(super) fn is_abandoned(&self) -> bool {
        self.ring.is_abandoned()
    }

    /// Bytes that were ever put.
    #[inline]
    pub(super) fn put_ever(&self) -> u64 {
        self.put
    }

    /// Bytes that were ever taken.
    pub(super) fn taken_ever(&self) -> u64 {
        self.put - self.waiting() as u64
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
    /// Looks at the next item, if there is one.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Next> {
        let [kind, .., s0, s1, s2, s3] = self.first::<16>()?;
        Some(Next { stamp: u32::from_le_bytes([s0, s1, s2, s3]), is_resume: kind == RESUME })
    }

    /// Takes the next item, if there is one. Back comes also how many bytes it took up.
    #[inline]
    pub(super) fn take<T>(&mut self, with: impl FnOnce(u32, Item, &[u8]) -> T) -> Option<(usize, T)> {
        let (stream, item, len) = decode(&self.first()?);
        let size = HEAD + len as usize;
        let whole = self.ring.read_chunk(size).ok()?;
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
        Some((size, taken))
    }

    /// Whether nothing more will come: the other end is gone, and all it put was taken.
    pub(super) fn is_over(&self) -> bool {
        // In this order: what was put before the other end went is seen.
        self.ring.is_abandoned() && self.ring.is_empty()
    }

    #[inline]
    fn first<const N: usize>(&mut self) -> Option<[u8; N]> {
        let first = self.ring.read_chunk(N).ok()?;
        let mut bytes = [0; N];
        let (one, other) = first.as_slices();
        bytes[..one.len()].copy_from_slice(one);
        bytes[one.len()..].copy_from_slice(other);
        Some(bytes)
    }
}

const RESUME: u8 = 3;

fn encode(stream: u32, stamp: u32, item: &Item, len: u32) -> [u8; HEAD] {
    let (kind, reason, name, numbers, halves) = match *item {
        Item::Stream { peer } => (0, 0, peer, [0; 3], [0; 4]),
        Item::Chunk { epoch, from, to, first_start, starts, arrival_us } => {
            (1, 0, epoch.0, [from.number, to.number, arrival_us], [from.offset, to.offset, first_start, starts])
        }
        Item::Gap { epoch, below, reason, arrival_us } => (2, reason, epoch.0, [0, below, arrival_us], [0; 4]),
        Item::Resume => (RESUME, 0, [0; 8], [0; 3], [0; 4]),
    };
    let mut bytes = [0; HEAD];
    (bytes[0], bytes[1]) = (kind, reason);
    bytes[4..8].copy_from_slice(&stream.to_le_bytes());
    bytes[8..12].copy_from_slice(&len.to_le_bytes());
    bytes[12..16].copy_from_slice(&stamp.to_le_bytes());
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
