//! The journal's truth: groups, syncs that fail, power cuts, recovery that may itself be cut off.
//!
//! A block is a group's header or one chunk; it reaches the disk whole or not at all (its CRC tells), and of the
//! blocks not yet synced a power cut keeps any subset. A process crash keeps all of them, unsynced. A failed sync
//! may have persisted any subset and leaves every page clean, so a later sync does nothing for them. The same
//! bytes written again over a durable block leave it durable. A chunk holds record `n`, whose content is named by
//! its number (that is what [`crate::epochs`] proves), so a number read twice is a record stored twice.

mod disk;
mod recovery;

use crate::explore::Model;
use crate::{Property, Violation};
use disk::{Block, Disk, Page};
use recovery::{Found, read};

/// A variant of a rule that breaks a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// STORED follows the write instead of the sync.
    StoredBeforeSync,
    /// Recovery tells the unproven tail as stored without writing and syncing it again.
    TailTrusted,
    /// After a failed sync the same segment is synced again and believed.
    FailedSyncRetried,
    /// After a failed sync the writer goes on after what it had written.
    NextKeptAfterFailure,
    /// Recovery takes blocks beyond a hole in the unproven tail.
    ReadsPastHole,
    /// A damaged block below the proven offset is taken for the torn tail.
    DamageEndsSegment,
    /// A new segment does not say how much of its predecessor counts.
    CountedLengthIgnored,
    /// A new segment names a predecessor whose own header was never synced.
    NamesUnprovenPredecessor,
}

/// The model, with its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Journal {
    /// Records to be stored.
    pub records: u8,
    /// Crashes, power cuts and failed syncs together.
    pub faults: u8,
    /// Durable chunks that rot.
    pub damages: u8,
    /// The rule to break, if any.
    pub bug: Option<Bug>,
}

impl Journal {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mode {
    Running,
    Down,
    /// The valid tail is written again, not yet synced.
    Recovering,
}

/// The disk, the writer, and what remains allowed.
#[derive(Clone, Debug, Hash)]
pub struct State {
    disk: Disk,
    mode: Mode,
    /// The segment written to.
    segment: usize,
    /// How many of its blocks a sync covered.
    proven: usize,
    /// The next record to write.
    next: u8,
    /// Records below this were told STORED.
    told: u8,
    faults_left: u8,
    damages_left: u8,
}

/// One thing that may happen.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The writer appends a group of this many records.
    Write(u8),
    /// The sync succeeds.
    Sync,
    /// The sync fails; of the unsynced pages those with a bit set reached the disk.
    SyncFails(u16),
    /// The process dies; the page cache lives.
    Crash,
    /// The power goes; of the unsynced pages those with a bit set reached the disk.
    PowerCut(u16),
    /// The process starts and writes the valid tail again.
    Recover,
    /// A proven chunk rots.
    Damage {
        /// Its segment.
        segment: u8,
        /// Its place there.
        block: u8,
    },
}

impl Model for Journal {
    type State = State;
    type Event = Event;

    fn initial(&self) -> State {
        State {
            disk: Disk::formatted(),
            mode: Mode::Running,
            segment: 0,
            proven: 0,
            next: 0,
            told: 0,
            faults_left: self.faults,
            damages_left: self.damages,
        }
    }

    fn events(&self, state: &State, into: &mut Vec<Event>) {
        if state.mode == Mode::Running {
            into.extend((1..=2).filter(|count| state.next + count <= self.records).map(Event::Write));
        }
        if state.mode != Mode::Down {
            let unsynced = state.disk.unsynced_in(state.segment);
            if unsynced > 0 || state.next > state.told || state.mode == Mode::Recovering {
                into.push(Event::Sync);
            }
            if state.faults_left > 0 {
                into.push(Event::Crash);
                if unsynced > 0 {
                    into.extend((0..1 << unsynced).map(Event::SyncFails));
                }
            }
        }
        if state.faults_left > 0 {
            into.extend((0..1 << state.disk.unsynced()).map(Event::PowerCut));
        }
        if state.mode == Mode::Down {
            into.push(Event::Recover);
        }
        if state.damages_left > 0 {
            let proven = read(&state.disk.durable(), self).proven;
            into.extend(proven.into_iter().map(|(segment, block)| Event::Damage { segment, block }));
        }
    }

    fn apply(&self, state: &State, event: Event) -> Result<State, Violation> {
        let mut s = state.clone();
        match event {
            Event::Write(count) => s.write(count, self),
            Event::Sync => s.sync(self),
            Event::SyncFails(kept) => {
                s.faults_left -= 1;
                s.disk.sync_fails(s.segment, kept);
                s.distrust(self);
            }
            Event::Crash => {
                s.faults_left -= 1;
                s.stop();
            }
            Event::PowerCut(kept) => {
                s.faults_left -= 1;
                s.disk.power_cut(kept);
                s.stop();
            }
            Event::Recover => s.recover(self),
            Event::Damage { segment, block } => {
                s.damages_left -= 1;
                s.disk.damage(usize::from(segment), usize::from(block));
            }
        }
        Ok(s)
    }

    /// What a reader finds now holds every record told, each once, in order, but for what rotted.
    fn check(&self, state: &State) -> Result<(), Violation> {
        let found = read(&state.disk, self);
        let mut expected = 0;
        for Found { number, .. } in &found.records {
            if *number < expected {
                return Err(Violation::new(Property::ExactlyOnce, format!("record {number} is there twice")));
            }
            if *number > expected {
                return Err(Violation::new(Property::InOrder, format!("record {number} follows {expected} missing")));
            }
            expected = number + 1;
        }
        if expected < state.told {
            let seen = format!("told stored below {}, {expected} records can be read", state.told);
            return Err(Violation::new(Property::NothingConfirmedLost, seen));
        }
        Ok(())
    }

    fn complete(&self, state: &State) -> bool {
        state.told == self.records
    }

    fn calm(&self, state: &State, into: &mut Vec<State>) -> Result<(), Violation> {
        let event = match state.mode {
            Mode::Down => Event::Recover,
            Mode::Recovering => Event::Sync,
            Mode::Running if state.told < state.next => Event::Sync,
            Mode::Running if state.next < self.records => Event::Write(1),
            Mode::Running => return Ok(()),
        };
        let next = self.apply(state, event)?;
        self.check(&next)?;
        into.push(next);
        Ok(())
    }

    fn landmarks(&self, state: &State) -> u32 {
        u32::from(state.told == self.records)
            | u32::from(state.mode == Mode::Recovering && state.told > 0) << 1
            | u32::from(state.disk.segments() > 2) << 2
            | u32::from(state.damages_left < self.damages && state.told == self.records) << 3
    }

    fn landmark_names(&self) -> &'static [&'static str] {
        &["all stored", "recovery after STORED", "third segment", "all stored beside damage"]
    }
}

impl State {
    fn write(&mut self, count: u8, model: &Journal) {
        self.disk.append(self.segment, Block::Group { proven: self.proven });
        for number in self.next..self.next + count {
            self.disk.append(self.segment, Block::Record(number));
        }
        self.next += count;
        if model.has(Bug::StoredBeforeSync) {
            self.told = self.next;
        }
    }

    fn sync(&mut self, model: &Journal) {
        self.disk.sync(self.segment);
        self.proven = self.disk.length(self.segment);
        self.told = self.next;
        if self.mode == Mode::Recovering {
            // Appending continues in a new segment: what stands behind the valid tail is never written over.
            self.begin_segment(model);
            self.mode = Mode::Running;
        }
    }

    /// After a failed sync nothing since the last good one counts, and the segment is left for good.
    fn distrust(&mut self, model: &Journal) {
        if model.has(Bug::FailedSyncRetried) {
            return;
        }
        if self.mode == Mode::Recovering {
            self.stop();
            return;
        }
        if !model.has(Bug::NextKeptAfterFailure) {
            self.next = self.told;
        }
        self.begin_segment(model);
    }

    fn begin_segment(&mut self, model: &Journal) {
        let proven_header = self.disk.header(self.segment) == Page::Durable;
        let predecessor = if proven_header || model.has(Bug::NamesUnprovenPredecessor) {
            Some((self.segment, self.proven))
        } else {
            self.disk.predecessor(self.segment)
        };
        self.segment = self.disk.begin_segment(predecessor);
        self.proven = 0;
    }

    fn stop(&mut self) {
        self.mode = Mode::Down;
        self.segment = 0;
        self.proven = 0;
        self.next = 0;
    }

    fn recover(&mut self, model: &Journal) {
        let found = read(&self.disk, model);
        self.segment = found.newest;
        self.next = found.records.last().map_or(0, |last| last.number + 1);
        if model.has(Bug::TailTrusted) {
            self.proven = found.valid;
            self.told = self.next;
            self.begin_segment(model);
            self.mode = Mode::Running;
        } else {
            self.disk.rewrite(found.newest, found.valid);
            self.mode = Mode::Recovering;
        }
    }
}
