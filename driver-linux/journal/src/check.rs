//! Looking at every byte of a journal that counts, without changing one (`core/docs/storage.md` §9.1).

mod tally;

use std::io;

pub(crate) use tally::Tally;

use crate::aside::{self, SetAside};
use crate::chain::Link;
use crate::checkpoint::{self, Loaded};
use crate::entry::Entry;
use crate::error::{At, Error};
use crate::halt::Halt;
use crate::options::Options;
use crate::position::{self, Published};
use crate::recover::Damage;
use crate::recover::end::{self, End};
use crate::scan::{Scanner, Step};
use crate::seal::Mask;
use crate::segment::{self, ENTRIES_AT, Header};
use crate::store::{Store, StoreFile, read_full};

/// How many places of damage of one segment are listed; more are only counted.
const LISTED: usize = 256;

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The segments that count, the oldest first.
    pub segments: Vec<SegmentCheck>,
    /// Segments that should be there and are not.
    pub missing_segments: Vec<u64>,
    /// The two checkpoint files.
    pub checkpoints: [FileCheck; 2],
    /// The file with the published position.
    pub position: FileCheck,
    /// Every stream of which something was found.
    pub streams: Vec<StreamCheck>,
    /// Whole bytes at the end of which no sync is known: a writer is at them, or left them. The next opening keeps them.
    pub unproven_bytes: u64,
    /// What earlier repairs keep.
    pub set_aside: SetAside,
}

/// One segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentCheck {
    /// Its id; its file is named by it in hexadecimal.
    pub segment: u64,
    /// How many of its bytes count.
    pub counted: u64,
    /// How many of its header's two copies are whole.
    pub whole_headers: u32,
    /// Damaged places; the first 256.
    pub damage: Vec<Damage>,
    /// How many there are.
    pub damaged_places: u64,
    /// How many bytes they have.
    pub damaged_bytes: u64,
    /// Bytes in which an earlier repair found damage.
    pub set_aside_bytes: u64,
}

/// A file beside the segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCheck {
    /// As it should be.
    Whole,
    /// Not there, or nothing written to it: a writer that opens the journal makes it.
    Missing,
    /// Neither: damaged, or cut short by a power cut. A writer that opens the journal goes by other files and writes
    /// it anew.
    Damaged,
}

/// One stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamCheck {
    /// Whose it is.
    pub peer: [u8; 8],
    /// Its name.
    pub name: Vec<u8>,
    /// Records that are there from their first byte to their last.
    pub records: u64,
    /// Numbers that were stored and are not there; the first 256 ranges.
    pub lost: Vec<Lost>,
    /// How many records that are.
    pub lost_records: u64,
}

/// Records that were stored and are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The numbering they were counted in.
    pub epoch: [u8; 8],
    /// The first.
    pub next: u64,
    /// The first that is not missing.
    pub below: u64,
    /// Index of the first.
    pub index: u64,
}

/// How far a check has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes looked at.
    pub done: u64,
    /// Bytes to look at.
    pub all: u64,
}

impl Check {
    /// Whether nothing is damaged. What earlier repairs set aside does not count: `lost` still tells of it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let segment = |s: &SegmentCheck| s.damaged_places == 0 && s.whole_headers == 2;
        self.segments.iter().all(segment)
            && self.missing_segments.is_empty()
            && self.checkpoints.iter().chain([&self.position]).all(|&file| file != FileCheck::Damaged)
    }

    /// How many places are damaged, headers, missing segments and the files beside them included.
    #[must_use]
    pub fn damaged_places(&self) -> u64 {
        let segment = |s: &SegmentCheck| s.damaged_places + u64::from(s.whole_headers < 2);
        let files = self.checkpoints.iter().chain([&self.position]).filter(|&&file| file == FileCheck::Damaged);
        self.segments.iter().map(segment).sum::<u64>() + self.missing_segments.len() as u64 + files.count() as u64
    }
}

/// Looks at everything in `store` that counts. Changes nothing, takes no lock, and may run beside a writer; what that
/// writes meanwhile is not looked at.
///
/// # Errors
/// There is no journal, its format is unknown, or the disk fails.
pub fn check<S: Store>(store: &S, watch: &mut dyn FnMut(Progress)) -> Result<Check, Error> {
    /// A segment may be deleted, or a checkpoint be half written, at the moment it is looked for.
    const TRIES: u32 = 5;
    let mut tries = 1;
    loop {
        match look(store, watch) {
            Ok(found) if tries < TRIES && found.checkpoints.contains(&FileCheck::Damaged) => {}
            Err(Error::Io { source, .. }) if tries < TRIES && source.kind() == io::ErrorKind::NotFound => {}
            ended => return ended,
        }
        tries += 1;
    }
}

fn look<S: Store>(store: &S, watch: &mut dyn FnMut(Progress)) -> Result<Check, Error> {
    let directory = || store.describe("");
    let halt = Halt::default();
    let loaded = checkpoint::load(store, Options::MOST_EPOCHS, &halt).at(directory, "read the checkpoints")?;
    end::check_version(store, loaded.unknown)?;
    let ids = segment::list(store).at(directory, "list the directory")?;
    let published = end::published(store)?;
    let checkpoints = checkpoint::FILES.map(|name| file_state(store, name));
    let position = position_state(store, published)?;
    let [a, b] = checkpoints;
    let checkpoints = [whole_or(&loaded, 0, a?), whole_or(&loaded, 1, b?)];
    if ids.is_empty() && published.is_none() && checkpoints == [FileCheck::Missing; 2] {
        return Err(io::Error::from(io::ErrorKind::NotFound)).at(directory, "find a journal in");
    }
    let mut summary = loaded.newest.as_ref().map(|(_, summary, _)| *summary).unwrap_or_default();
    if loaded.newest.is_none() {
        summary.journal = end::identify(store, published, &ids)?.unwrap_or_default();
    }
    // What retention has given up since the last checkpoint is on its way out.
    let ours = published.filter(|published| published.journal == summary.journal);
    summary.oldest = summary.oldest.max(ours.map_or(0, |published| published.oldest));
    let mut found = Check {
        segments: Vec::new(),
        missing_segments: Vec::new(),
        checkpoints,
        position,
        streams: Vec::new(),
        unproven_bytes: 0,
        set_aside: aside::kept(store).at(|| store.describe(aside::SET_ASIDE_FILE), "read")?,
    };
    found.missing_segments.extend(end::missing_last(&summary, published, &ids));
    let mut tally = Tally::default();
    if let Some(End { chain, survey }) = end::find(store, &summary, published, &ids, &halt)? {
        found.missing_segments.extend(chain.missing.iter().map(|missing| missing.segment));
        found.unproven_bytes = survey.end - survey.proven;
        let counted = |link: &Link| link.counted.unwrap_or(survey.proven);
        let all = chain.links.iter().map(counted).sum();
        let mut done = 0;
        for link in &chain.links {
            found.segments.push(segment_state(store, summary.journal, link.segment, counted(link), &mut tally)?);
            done += counted(link);
            watch(Progress { done, all });
        }
    }
    if let Some((_, _, streams)) = &loaded.newest {
        tally.compare(streams);
    }
    found.streams = tally.into_report();
    Ok(found)
}

fn segment_state<S: Store>(
    store: &S,
    journal: u64,
    segment: u64,
    counted: u64,
    tally: &mut Tally,
) -> Result<SegmentCheck, Error> {
    let name = segment::name(segment);
    let read = || store.describe(&name);
    let whole_headers = store.open(&name, false).and_then(|file| Header::whole_copies(&file, segment));
    let mut found = SegmentCheck {
        segment,
        counted,
        whole_headers: whole_headers.at(read, "read")?.into_iter().map(u32::from).sum(),
        damage: Vec::new(),
        damaged_places: 0,
        damaged_bytes: 0,
        set_aside_bytes: 0,
    };
    found.set_aside_bytes = each_damage(store, journal, segment, counted, tally, &mut |damage| {
        found.damaged_places += 1;
        found.damaged_bytes += damage.to - damage.from;
        if found.damage.len() < LISTED {
            found.damage.push(damage);
        }
    })
    .at(read, "read")?;
    Ok(found)
}

/// Tells every damaged place of a segment below `counted`, neighbours as one. Returns how many bytes are void.
pub(crate) fn each_damage<S: Store>(
    store: &S,
    journal: u64,
    segment: u64,
    counted: u64,
    tally: &mut Tally,
    tell: &mut dyn FnMut(Damage),
) -> io::Result<u64> {
    let file = store.open(&segment::name(segment), false)?;
    let mut scanner = Scanner::new(file, Mask::new(journal, segment), ENTRIES_AT, counted);
    let mut void = 0;
    let mut open: Option<Damage> = None;
    loop {
        let bad = match scanner.next()? {
            Step::Entry { at, entry } => {
                void += if entry == Entry::Void { scanner.at() - at } else { 0 };
                (!tally.take(entry, scanner.body())).then(|| at..scanner.at())
            }
            Step::Bad { .. } => Some(scanner.resync()?),
            Step::End => break,
        };
        let Some(bad) = bad else { continue };
        match &mut open {
            Some(damage) if damage.to == bad.start => damage.to = bad.end,
            _ => {
                let damage = Damage { segment, from: bad.start, to: bad.end };
                open.replace(damage).into_iter().for_each(&mut *tell);
            }
        }
    }
    open.into_iter().for_each(tell);
    Ok(void)
}

fn whole_or(loaded: &Loaded, slot: usize, otherwise: FileCheck) -> FileCheck {
    if loaded.whole[slot] { FileCheck::Whole } else { otherwise }
}

fn position_state<S: Store>(store: &S, published: Option<Published>) -> Result<FileCheck, Error> {
    if published.is_some() { Ok(FileCheck::Whole) } else { file_state(store, position::POSITION_FILE) }
}

/// What a file is that is not whole: nothing was written to it, or it is damaged.
fn file_state<S: Store>(store: &S, name: &str) -> Result<FileCheck, Error> {
    /// More than any of these files has in its header.
    const HEAD: usize = 512;
    let mut head = [0; HEAD];
    let read = match store.open(name, false) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(FileCheck::Missing),
        opened => opened.and_then(|file| read_full(&file, &mut head, 0).and_then(|_| file.size())),
    };
    read.at(|| store.describe(name), "read")?;
    Ok(if head.iter().all(|&byte| byte == 0) { FileCheck::Missing } else { FileCheck::Damaged })
}
