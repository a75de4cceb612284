//! Taking chunks apart into records, joining those that several chunks carry, and finding the segments to read.

use std::io;

use super::Stop;
use super::track::{Part, Tracks};
use crate::chain;
use crate::chunk::Position;
use crate::entry::ChunkHead;
use crate::error::{At, Error};
use crate::halt::Halt;
use crate::position::Published;
use crate::recover::Damage;
use crate::segment::{self, Found};
use crate::store::Store;
use crate::streams::{Fit, fit};
use crate::varint;

/// A chunk on its way through the reader.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    chunk: ChunkHead,
    /// Where in the body the next record begins.
    at: usize,
    /// Its number.
    number: u64,
    stage: Stage,
    /// What to report if the body is no chunk after all.
    place: Damage,
}

/// How much is told at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// One record, without its size.
    Records,
    /// All whole records at hand, as they are stored.
    Batches,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing is done yet.
    Begin,
    /// What belongs to a record begun earlier is next.
    Tail,
    /// Records that start in the chunk are next.
    Records,
    Done,
}

impl Walk {
    /// `None` if the chunk's stream is not defined.
    pub(super) fn new(tracks: &Tracks, chunk: ChunkHead, place: Damage) -> Option<Self> {
        tracks.get(chunk.stream)?;
        Some(Self { chunk, at: 0, number: chunk.from.number, stage: Stage::Begin, place })
    }

    /// The next thing to tell; `None` when the chunk is used up.
    #[inline]
    pub(super) fn next(&mut self, tracks: &mut Tracks, body: &[u8], cut: Cut) -> Option<Stop> {
        loop {
            match self.stage {
                Stage::Records if self.number == self.chunk.to.number => return self.finish(tracks, body),
                Stage::Records => return self.records(body, cut),
                Stage::Begin => {
                    if let Some(stop) = self.begin(tracks) {
                        return Some(stop);
                    }
                }
                Stage::Tail => {
                    if let Some(stop) = self.tail(tracks, body, cut) {
                        return Some(stop);
                    }
                }
                Stage::Done => return None,
            }
        }
    }

    /// Fits the chunk to its stream.
    fn begin(&mut self, tracks: &mut Tracks) -> Option<Stop> {
        let track = tracks.get_mut(self.chunk.stream)?;
        let next = track.next;
        self.stage = Stage::Tail;
        match fit(next, self.chunk.from) {
            Fit::Continues => None,
            Fit::Restarts => {
                track.go_to(self.chunk.from);
                None
            }
            Fit::Repeats => {
                self.stage = Stage::Done;
                None
            }
            Fit::Jumps => {
                track.go_to(self.chunk.from);
                self.lost(next.number, self.chunk.from.number)
            }
        }
    }

    /// Takes the end, or the middle, of a record begun in an earlier chunk.
    fn tail(&mut self, tracks: &mut Tracks, body: &[u8], cut: Cut) -> Option<Stop> {
        self.stage = Stage::Records;
        if self.chunk.from.offset == 0 {
            return None;
        }
        let track = tracks.get_mut(self.chunk.stream)?;
        let whole_until_now = track.has_beginning();
        self.at = self.chunk.first_record as usize;
        if whole_until_now {
            track.partial.extend_from_slice(body.get(..self.at)?);
        }
        if !self.ends_record_begun_earlier() {
            track.next = self.chunk.to;
            self.stage = Stage::Done;
            return None;
        }
        let number = self.number;
        self.number += 1;
        track.next = Position::start_of(self.number);
        if !whole_until_now {
            return self.lost(number, self.number);
        }
        match varint::read(&track.partial) {
            Some((size, prefix)) if size == (track.partial.len() - prefix) as u64 => {
                let from = if cut == Cut::Records { prefix } else { 0 };
                Some(self.tell(number, Part::Joined { from }))
            }
            _ => self.malformed(),
        }
    }

    /// Takes the next record that starts in the chunk, or all whole ones that are left.
    #[inline]
    fn records(&mut self, body: &[u8], cut: Cut) -> Option<Stop> {
        let number = self.number;
        let rest = body.get(self.at..).unwrap_or_default();
        let part = if cut == Cut::Batches {
            let Some(whole) = rest.len().checked_sub(self.chunk.to.offset as usize) else {
                return self.malformed();
            };
            let from = self.at;
            self.at += whole;
            self.number = self.chunk.to.number;
            Part::Body { from, to: self.at }
        } else {
            let Some((size, prefix)) = varint::read(rest) else {
                return self.malformed();
            };
            if size > (rest.len() - prefix) as u64 {
                return self.malformed();
            }
            let from = self.at + prefix;
            self.at = from + size as usize;
            self.number += 1;
            Part::Body { from, to: self.at }
        };
        Some(self.tell(number, part))
    }

    /// Keeps the beginning of a record whose end is in a later chunk.
    fn finish(&mut self, tracks: &mut Tracks, body: &[u8]) -> Option<Stop> {
        self.stage = Stage::Done;
        let track = tracks.get_mut(self.chunk.stream)?;
        track.go_to(self.chunk.to);
        let begun = body.get(self.at..).unwrap_or_default();
        if begun.len() != self.chunk.to.offset as usize {
            return self.malformed();
        }
        track.partial.extend_from_slice(begun);
        None
    }

    /// The records from `number` to the walk's place.
    fn tell(&self, number: u64, part: Part) -> Stop {
        let (stream, arrival_us) = (self.chunk.stream, self.chunk.arrival_us);
        Stop::Records { stream, number, count: self.number - number, arrival_us, part }
    }

    fn ends_record_begun_earlier(&self) -> bool {
        self.chunk.from.offset > 0 && self.chunk.to.number > self.chunk.from.number
    }

    fn lost(&self, next: u64, below: u64) -> Option<Stop> {
        let stream = self.chunk.stream;
        (below > next).then_some(Stop::Gap { stream, next, below, reason: None, arrival_us: 0 })
    }

    /// The checksum is right and the contents are not: the writer was given what was no chunk.
    fn malformed(&mut self) -> Option<Stop> {
        self.stage = Stage::Done;
        Some(Stop::Damage(self.place))
    }
}

/// The segments from `from` to the synced place, each with how much of it counts.
pub(crate) fn synced_segments<S: Store>(
    store: &S,
    published: &Published,
    from: u64,
    since_us: u64,
) -> Result<Vec<(u64, u64)>, Error> {
    /// Segments may be deleted between the listing and the look into them.
    const TRIES: u32 = 5;
    let Published { journal, synced, oldest } = *published;
    if synced.segment == 0 {
        return Ok(Vec::new());
    }
    let directory = || store.describe("");
    for _ in 1..TRIES {
        let mut ids = segment::list(store).at(directory, "list the directory")?;
        ids.retain(|&id| id <= synced.segment);
        let links = match chain::walk(store, &ids, synced.segment, from.max(oldest), &Halt::default()) {
            Ok(chain) => chain.links,
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(e).at(directory, "follow the segments"),
        };
        let mut found = Vec::with_capacity(links.len());
        for link in links {
            let file = || store.describe(&segment::name(link.segment));
            match link.found {
                Found::Version(version) => {
                    return Err(Error::Version { file: file(), version });
                }
                Found::Header(header) if header.journal != journal => {
                    return Err(Error::Foreign { file: file() });
                }
                // Everything in the segments before is older than this one's first entry.
                Found::Header(header) if header.created_us > 0 && header.created_us <= since_us => found.clear(),
                Found::Header(_) | Found::Damaged => {}
            }
            found.push((link.segment, link.counted.unwrap_or(synced.counted)));
        }
        return Ok(found);
    }
    Err(io::Error::from(io::ErrorKind::NotFound)).at(directory, "follow the segments")
}
