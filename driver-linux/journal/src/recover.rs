//! What opening a journal does before anything is told (`core/docs/storage.md` §7).

pub(crate) mod end;
mod tail;

use std::collections::VecDeque;

use crate::chain::{Chain, Link};
use crate::checkpoint::{self, Summary};
use crate::entry::{Entry, Identity};
use crate::error::{At, Error};
use crate::halt::Halt;
use crate::options::Options;
use crate::position::Published;
use crate::scan::{Scanner, Step};
use crate::seal::Mask;
use crate::segment::{self, Before, ENTRIES_AT, Found};
use crate::store::Store;
use crate::streams::{Fit, Streams};
use end::End;

/// How many places of damage are listed; more are only counted.
const LISTED: usize = 256;

/// What opening found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The journal was made by this opening.
    pub created: bool,
    /// Checkpoint files that were there and not whole.
    pub broken_checkpoints: u32,
    /// Bytes of segments that were read.
    pub scanned_bytes: u64,
    /// Bytes behind the last proven place that were whole, and were written again and synced.
    pub rewritten_bytes: u64,
    /// Bytes behind the last whole entry that were cut away: written when the power went, never confirmed.
    pub torn_bytes: u64,
    /// Damage below what was proven, set aside; the first 256 places.
    pub damage: Vec<Damage>,
    /// How many places were damaged.
    pub damaged_places: u64,
    /// How many bytes were damaged.
    pub damaged_bytes: u64,
    /// Chunks passed over because their records were there already.
    pub repeated_chunks: u64,
    /// Segments that should be there and are not.
    pub missing_segments: u64,
}

/// A range of a segment in which no whole entry was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The segment's id; its file is named by it in hexadecimal.
    pub segment: u64,
    /// The first bad byte.
    pub from: u64,
    /// The first good byte behind it.
    pub to: u64,
}

/// A finished segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sealed {
    pub(crate) segment: u64,
    pub(crate) counted: u64,
    pub(crate) created_us: u64,
}

/// What the journal starts from.
pub(crate) struct Recovered {
    pub(crate) journal: u64,
    pub(crate) streams: Streams,
    /// The chain, the last segment included, ascending.
    pub(crate) sealed: VecDeque<Sealed>,
    /// Segments that an earlier opening gave up and did not come to delete.
    pub(crate) leaving: Vec<u64>,
    pub(crate) oldest: u64,
    pub(crate) next_segment: u64,
    pub(crate) sequence: u64,
    /// The checkpoint file to write first.
    pub(crate) slot: usize,
    /// Whether a whole checkpoint was found.
    pub(crate) from_checkpoint: bool,
    /// How much of the segments the checkpoint does not cover.
    pub(crate) uncovered: u64,
    pub(crate) report: Recovery,
}

pub(crate) fn recover<S: Store>(store: &S, options: &Options, stop: &Halt) -> Result<Recovered, Error> {
    let most_epochs = options.most_epochs();
    let directory = || store.describe("");
    let loaded = checkpoint::load(store, most_epochs, stop).at(directory, "read the checkpoints")?;
    end::check_version(store, loaded.unknown)?;
    let ids = segment::list(store).at(directory, "list the directory")?;
    let published = end::published(store)?;
    let slot = first_slot(loaded.newest.as_ref().map(|(slot, ..)| *slot), loaded.whole);
    let (summary, streams) = match loaded.newest {
        Some((_, summary, streams)) => (Some(summary), streams),
        None => (None, Streams::new(most_epochs)),
    };
    let from_checkpoint = summary.is_some();
    let created = !from_checkpoint && ids.is_empty();
    let summary = match summary {
        Some(summary) => summary,
        None => {
            let journal = end::identify(store, published, &ids)?.unwrap_or(options.salt);
            Summary { journal, ..Summary::default() }
        }
    };
    let missing_last = end::missing_last(&summary, published, &ids);
    let report = Recovery {
        created,
        broken_checkpoints: loaded.broken,
        missing_segments: u64::from(missing_last.is_some()),
        ..Recovery::default()
    };
    let mut work = Work { store, summary, streams, report, uncovered: 0, stop };
    let (chain, sealed) = work.segments(published, &ids)?;
    work.streams.settle();
    let kept = |id: u64| chain.links.iter().any(|link| link.segment == id);
    for &void in ids.iter().filter(|&&id| id >= summary.oldest && !kept(id)) {
        // Begun and given up: nothing in it counts. Another opening tries again if this fails.
        let _ = store.remove(&segment::name(void));
    }
    let above_all = ids.last().copied().max(missing_last).map_or(1, |last| last + 1);
    Ok(Recovered {
        journal: summary.journal,
        streams: work.streams,
        sealed,
        leaving: ids.iter().copied().filter(|&id| id < summary.oldest).collect(),
        oldest: summary.oldest,
        next_segment: summary.next_segment.max(above_all),
        sequence: summary.sequence,
        slot,
        from_checkpoint,
        uncovered: work.uncovered,
        report: work.report,
    })
}

/// Which checkpoint file to write first: never the one that alone is known to be synced.
///
/// If both are whole, the older one was synced before the newer was begun; of the newer that is not known.
fn first_slot(newest: Option<usize>, whole: [bool; 2]) -> usize {
    match newest {
        Some(slot) if !whole[1 - slot] => 1 - slot,
        Some(slot) => slot,
        None => 0,
    }
}

struct Work<'s, S> {
    store: &'s S,
    summary: Summary,
    streams: Streams,
    report: Recovery,
    uncovered: u64,
    stop: &'s Halt,
}

impl<S: Store> Work<'_, S> {
    /// Finds the chain, replays what the checkpoint does not cover, and makes the last segment's tail durable.
    fn segments(&mut self, published: Option<Published>, ids: &[u64]) -> Result<(Chain, VecDeque<Sealed>), Error> {
        let Some(End { chain, survey }) = end::find(self.store, &self.summary, published, ids, self.stop)? else {
            return Ok((Chain::default(), VecDeque::new()));
        };
        let mut sealed = VecDeque::new();
        let last = chain.links.last().map_or(0, |link| link.segment);
        for link in &chain.links {
            let is_last = link.segment == last;
            let counted = if is_last { survey.end } else { link.counted.unwrap_or(0) };
            self.note_cut(link, counted);
            self.replay(link.segment, if is_last { survey.proven } else { counted }, counted)?;
            sealed.push_back(sealed_of(link, counted));
        }
        self.report.rewritten_bytes = survey.end - survey.proven;
        self.report.torn_bytes = tail::finish(self.store, last, &survey, self.stop)
            .at(|| self.store.describe(&segment::name(last)), "rewrite the tail of")?;
        self.note_missing(&chain);
        Ok((chain, sealed))
    }

    /// Tells of a file that is shorter than what counts, as far as the replay does not come by there.
    fn note_cut(&mut self, link: &Link, counted: u64) {
        let covered = self.summary.covered;
        let unread = match link.segment.cmp(&covered.segment) {
            std::cmp::Ordering::Less => counted,
            std::cmp::Ordering::Equal => covered.counted.max(ENTRIES_AT),
            std::cmp::Ordering::Greater => ENTRIES_AT,
        };
        if link.size < unread {
            self.note_damage(Damage { segment: link.segment, from: link.size, to: unread });
        }
    }

    /// Replays the part of a segment that the checkpoint does not cover: to `proven` past all damage, from there to
    /// `end`, where nothing is damaged.
    fn replay(&mut self, segment: u64, proven: u64, end: u64) -> Result<(), Error> {
        let covered = self.summary.covered;
        let start = match segment.cmp(&covered.segment) {
            std::cmp::Ordering::Less => return Ok(()),
            std::cmp::Ordering::Equal => covered.counted.max(ENTRIES_AT),
            std::cmp::Ordering::Greater => ENTRIES_AT,
        };
        let name = segment::name(segment);
        let read = || self.store.describe(&name);
        let file = self.store.open(&name, false).at(read, "open")?;
        let mask = Mask::new(self.summary.journal, segment);
        let mut scanner = Scanner::new(file, mask, start, proven).until(self.stop);
        loop {
            match scanner.next().at(|| self.store.describe(&name), "read")? {
                Step::Entry { at, entry } => {
                    if !apply(&mut self.streams, &mut self.report, entry, scanner.body()) {
                        self.note_damage(Damage { segment, from: at, to: scanner.at() });
                    }
                }
                Step::Bad { .. } => {
                    let passed = scanner.resync().at(|| self.store.describe(&name), "read")?;
                    self.note_damage(Damage { segment, from: passed.start, to: passed.end });
                }
                Step::End if scanner.at() < end => scanner.extend(end),
                Step::End => break,
            }
        }
        let scanned = end.saturating_sub(start);
        self.report.scanned_bytes += scanned;
        self.uncovered += scanned;
        Ok(())
    }

    fn note_missing(&mut self, chain: &Chain) {
        let covered = self.summary.covered;
        let lost = |b: &&Before| (b.segment, b.counted) > (covered.segment, covered.counted);
        self.report.missing_segments += chain.missing.iter().filter(lost).count() as u64;
        for link in chain.links.iter().filter(|l| l.found == Found::Damaged && l.segment >= covered.segment) {
            self.note_damage(Damage { segment: link.segment, from: 0, to: ENTRIES_AT });
        }
    }

    fn note_damage(&mut self, damage: Damage) {
        self.report.damaged_places += 1;
        self.report.damaged_bytes += damage.to - damage.from;
        if self.report.damage.len() < LISTED {
            self.report.damage.push(damage);
        }
    }
}

fn sealed_of(link: &Link, counted: u64) -> Sealed {
    let created_us = match link.found {
        Found::Header(header) => header.created_us,
        Found::Damaged | Found::Version(_) => 0,
    };
    Sealed { segment: link.segment, counted, created_us }
}

/// Takes over one entry. `false` if it means nothing, since the definition it needs is damaged.
pub(crate) fn apply(streams: &mut Streams, report: &mut Recovery, entry: Entry, body: &[u8]) -> bool {
    match entry {
        Entry::Group { .. } | Entry::Void => true,
        Entry::Define { stream, base, next } => {
            Identity::read(body).is_some_and(|who| streams.replay_define(stream, who, base, next))
        }
        Entry::Chunk(chunk) => {
            let fit = streams.replay_chunk(&chunk);
            report.repeated_chunks += u64::from(fit == Some(Fit::Repeats));
            fit.is_some()
        }
        Entry::Gap { stream, below, .. } => streams.replay_gap(stream, below).is_some(),
        Entry::Freed { stream, below } => streams.replay_freed(stream, below).is_some(),
    }
}
