//! What a reader knows of the streams it met.

use std::ops::Range;

use crate::chunk::Position;
use crate::entry::Identity;
use crate::streams::ID_LIMIT;

/// Where a record's bytes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// In the body of the entry just read.
    Body { from: usize, to: usize },
    /// In the stream's joined parts, from there to their end.
    Joined { from: usize },
}

/// So many epochs of a stream that went before are remembered: more than a gateway does.
const EARLIER: usize = 8;

/// One stream as the definition in force has it.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) peer: [u8; 8],
    pub(super) name: Box<[u8]>,
    pub(super) epoch: [u8; 8],
    pub(super) base: u64,
    /// Where the next chunk should begin.
    pub(super) next: Position,
    /// The stored bytes of the record begun, if its beginning was met: then as many as `next.offset` says.
    pub(super) partial: Vec<u8>,
    /// Where epochs ended that went before, the newest last: a definition may tell that one went further.
    earlier: Vec<([u8; 8], u64)>,
}

impl Track {
    fn new(who: Identity<'_>, base: u64, next: Position) -> Self {
        let Identity { peer, epoch, name } = who;
        Self { peer, name: name.into(), epoch, base, next, partial: Vec::new(), earlier: Vec::new() }
    }

    /// Turns to another epoch, or back to one. Its numbers below `next` that were not met come back.
    fn turn_to(&mut self, epoch: [u8; 8], next: Position) -> Option<Range<u64>> {
        let known = self.earlier.iter().position(|(earlier, _)| *earlier == epoch);
        let met = known.map(|at| self.earlier.remove(at).1);
        if self.earlier.len() == EARLIER {
            self.earlier.remove(0);
        }
        self.earlier.push((self.epoch, self.next.number));
        self.epoch = epoch;
        self.go_to(next);
        met.map(|met| met..next.number)
    }

    /// Moves to `to`; what was begun is void.
    pub(super) fn go_to(&mut self, to: Position) {
        self.next = to;
        self.partial.clear();
    }

    /// Whether the beginning of the record at `next` is at hand.
    pub(super) fn has_beginning(&self) -> bool {
        self.partial.len() == self.next.offset as usize
    }
}

/// The streams, by their id in the journal.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    list: Vec<Option<Track>>,
}

impl Tracks {
    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<&Track> {
        self.list.get(id as usize)?.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Track> {
        self.list.get_mut(id as usize)?.as_mut()
    }

    /// Takes a definition. Back come the numbers of its epoch that were stored and not met.
    pub(super) fn define(&mut self, id: u32, who: Identity<'_>, base: u64, next: Position) -> Option<Range<u64>> {
        if id >= ID_LIMIT {
            return None;
        }
        if self.list.len() <= id as usize {
            self.list.resize_with(id as usize + 1, || None);
        }
        let Identity { peer, epoch, name } = who;
        let place = &mut self.list[id as usize];
        let Some(track) = place.as_mut().filter(|t| t.peer == peer && &*t.name == name) else {
            *place = Some(Track::new(who, base, next));
            return None;
        };
        track.base = base;
        let lost = if track.epoch != epoch {
            track.turn_to(epoch, next)?
        } else if next > track.next {
            let met = track.next.number;
            track.go_to(next);
            met..next.number
        } else {
            return None;
        };
        (!lost.is_empty()).then_some(lost)
    }
}
