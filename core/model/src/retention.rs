//! Retention: two checkpoint files written in turn, and segments deleted once both of them, synced, cover them.
//!
//! Segment `n` holds record `n` and is durable when it appears here: [`crate::journal`] proves how it gets there.
//! A checkpoint says below which record its writer need not read segments any more. Writing one goes over the
//! file's old bytes, so a power cut before its sync leaves the old ones, the new ones or neither; a failed sync
//! likewise. So a checkpoint is begun only while the other file is synced. A deletion reaches the disk at once or at the next power cut not at all, each by itself. What must
//! survive is what the gateway knows of the stream: stored_below, or a record it has would be stored again.
//!
//! Assumed: a file rots only while the other is sound. Two files do not outlive one rotting while the other is
//! being written.

use crate::explore::Model;
use crate::{Property, Violation};

/// A variant of a rule that breaks a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// A segment is deleted as soon as one synced checkpoint covers it.
    DeletesAfterOne,
    /// A segment is deleted although the checkpoints that cover it are not synced.
    DeletesBeforeSync,
    /// A checkpoint is written while the one before it is not synced.
    BothInFlight,
    /// After a start a checkpoint that was read is taken for synced.
    TrustsCheckpointRead,
}

/// The model, with its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Records to store.
    pub records: u8,
    /// Checkpoints that may be written.
    pub checkpoints: u8,
    /// Crashes, power cuts and failed syncs together.
    pub faults: u8,
    /// Checkpoint files that rot.
    pub damages: u8,
    /// The rule to break, if any.
    pub bug: Option<Bug>,
}

/// What a checkpoint says: the first record whose segment is still to be read. `None`: nothing valid.
type Covered = Option<u8>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct File {
    cached: Covered,
    on_disk: Covered,
    /// Whether a sync of the cached bytes would write them.
    dirty: bool,
    /// Whether this process saw the sync of these bytes succeed.
    synced: bool,
}

/// The segments, both checkpoint files, and what remains allowed.
#[derive(Clone, Debug, Hash)]
pub struct State {
    stored: u8,
    /// Which segments a reader finds, as bits, and which are on the disk.
    cached_segments: u16,
    disk_segments: u16,
    files: [File; 2],
    checkpoints_left: u8,
    faults_left: u8,
    damages_left: u8,
}

/// What is found of a file after the power was cut while it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remains {
    /// What was there before.
    Old,
    /// What was being written.
    New,
    /// Neither.
    Torn,
}

const REMAINS: [Remains; 3] = [Remains::Old, Remains::New, Remains::Torn];

/// One thing that may happen.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The next record is stored, in a segment of its own.
    Store,
    /// A checkpoint of everything stored is written.
    Checkpoint,
    /// The file of this place is synced.
    Sync(u8),
    /// Its sync fails.
    SyncFails(u8, Remains),
    /// The oldest segment is deleted.
    Delete,
    /// The process dies and starts again; the page cache lives.
    Crash,
    /// The power goes: what remains of each file, and which deletions never happened, as bits.
    PowerCut([Remains; 2], u16),
    /// The file of this place rots.
    Damage(u8),
}

impl Retention {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Whether the oldest segment may be deleted: both files cover it and are known to be synced.
    fn may_delete(&self, state: &State, oldest: u8) -> bool {
        let covers = |file: &File| file.cached.is_some_and(|covered| covered > oldest);
        let synced = |file: &File| file.synced || self.has(Bug::DeletesBeforeSync);
        let mut proofs = state.files.iter().map(|file| covers(file) && synced(file));
        if self.has(Bug::DeletesAfterOne) { proofs.any(|proof| proof) } else { proofs.all(|proof| proof) }
    }

    /// Whether the file that is not written over is known to be synced.
    fn may_write(&self, state: &State) -> bool {
        state.files[1 - self.next_file(state)].synced || self.has(Bug::BothInFlight)
    }

    /// The file to write: one that holds nothing valid, else the one with the older checkpoint.
    fn next_file(&self, state: &State) -> usize {
        let [first, second] = state.files.map(|file| file.cached);
        usize::from(second < first)
    }
}

impl State {
    fn oldest(&self) -> Option<u8> {
        (self.cached_segments != 0).then(|| self.cached_segments.trailing_zeros() as u8)
    }

    fn restart(&mut self, trusting: bool) {
        for file in &mut self.files {
            file.synced = trusting;
            // What was read may be in the cache only: it is written again, and synced before it counts.
            file.dirty |= !trusting && file.cached != file.on_disk;
        }
    }

    fn power_cut(&mut self, remains: [Remains; 2], undeleted: u16) {
        for (file, remains) in self.files.iter_mut().zip(remains) {
            file.lose_power(remains);
        }
        self.disk_segments = self.cached_segments | (self.disk_segments & undeleted);
        self.cached_segments = self.disk_segments;
    }
}

impl File {
    fn lose_power(&mut self, remains: Remains) {
        if self.dirty {
            self.persist(remains);
        }
        self.cached = self.on_disk;
        self.dirty = false;
    }

    fn persist(&mut self, remains: Remains) {
        match remains {
            Remains::Old => {}
            Remains::New => self.on_disk = self.cached,
            Remains::Torn => self.on_disk = None,
        }
    }
}

/// The first record not known, by these checkpoints and segments.
fn known_below(files: [Covered; 2], segments: u16) -> u8 {
    let covered = files.into_iter().flatten().max().unwrap_or(0);
    let follow = (segments >> covered).trailing_ones();
    covered + follow as u8
}

impl Model for Retention {
    type State = State;
    type Event = Event;

    fn initial(&self) -> State {
        let empty = File { cached: None, on_disk: None, dirty: false, synced: true };
        State {
            stored: 0,
            cached_segments: 0,
            disk_segments: 0,
            files: [empty; 2],
            checkpoints_left: self.checkpoints,
            faults_left: self.faults,
            damages_left: self.damages,
        }
    }

    fn events(&self, state: &State, into: &mut Vec<Event>) {
        if state.stored < self.records {
            into.push(Event::Store);
        }
        if state.checkpoints_left > 0 && self.may_write(state) {
            into.push(Event::Checkpoint);
        }
        let sound = state.files.iter().all(|file| file.synced && file.cached.is_some());
        for (place, file) in (0..).zip(&state.files) {
            if !file.synced {
                into.push(Event::Sync(place));
                if state.faults_left > 0 {
                    into.extend(REMAINS.map(|remains| Event::SyncFails(place, remains)));
                }
            }
            if state.damages_left > 0 && sound {
                into.push(Event::Damage(place));
            }
        }
        if state.oldest().is_some_and(|oldest| self.may_delete(state, oldest)) {
            into.push(Event::Delete);
        }
        if state.faults_left > 0 {
            into.push(Event::Crash);
            let deleted = state.disk_segments & !state.cached_segments;
            let undeleted = (0..=deleted).filter(|some| some & !deleted == 0);
            for first in REMAINS {
                for second in REMAINS {
                    into.extend(undeleted.clone().map(|some| Event::PowerCut([first, second], some)));
                }
            }
        }
    }

    fn apply(&self, state: &State, event: Event) -> Result<State, Violation> {
        let mut s = state.clone();
        match event {
            Event::Store => {
                s.cached_segments |= 1 << s.stored;
                s.disk_segments |= 1 << s.stored;
                s.stored += 1;
            }
            Event::Checkpoint => {
                s.checkpoints_left -= 1;
                let file = &mut s.files[self.next_file(state)];
                file.cached = Some(state.stored);
                file.dirty = true;
                file.synced = false;
            }
            Event::Sync(place) => {
                let file = &mut s.files[usize::from(place)];
                file.on_disk = file.cached;
                file.dirty = false;
                file.synced = true;
            }
            Event::SyncFails(place, remains) => {
                s.faults_left -= 1;
                let file = &mut s.files[usize::from(place)];
                if file.dirty {
                    file.persist(remains);
                }
                // The pages are clean now, whatever became of them: only writing them again makes a sync count.
                file.dirty = file.cached != file.on_disk;
            }
            Event::Delete => s.cached_segments &= s.cached_segments - 1,
            Event::Crash => {
                s.faults_left -= 1;
                s.restart(self.has(Bug::TrustsCheckpointRead));
            }
            Event::PowerCut(remains, undeleted) => {
                s.faults_left -= 1;
                s.power_cut(remains, undeleted);
                s.restart(self.has(Bug::TrustsCheckpointRead));
            }
            Event::Damage(place) => {
                s.damages_left -= 1;
                let file = &mut s.files[usize::from(place)];
                file.cached = None;
                file.on_disk = None;
            }
        }
        Ok(s)
    }

    fn check(&self, state: &State) -> Result<(), Violation> {
        let now = known_below(state.files.map(|file| file.cached), state.cached_segments);
        let on_disk = known_below(state.files.map(|file| file.on_disk), state.cached_segments);
        let known = now.min(on_disk);
        if known < state.stored {
            let seen = format!("stored below {}, known below {known}", state.stored);
            return Err(Violation::new(Property::NothingConfirmedLost, seen));
        }
        Ok(())
    }

    /// Everything is stored and every segment could be deleted.
    fn complete(&self, state: &State) -> bool {
        state.stored == self.records && state.cached_segments == 0
    }

    fn calm(&self, state: &State, into: &mut Vec<State>) -> Result<(), Violation> {
        let event = if state.stored < self.records {
            Event::Store
        } else if let Some(place) = state.files.iter().position(|file| !file.synced) {
            Event::Sync(place as u8)
        } else if state.oldest().is_some_and(|oldest| self.may_delete(state, oldest)) {
            Event::Delete
        } else {
            Event::Checkpoint
        };
        let mut s = State { checkpoints_left: 1, ..state.clone() };
        s = self.apply(&s, event)?;
        into.push(s);
        Ok(())
    }

    fn landmarks(&self, state: &State) -> u32 {
        let fallen_back = state.files.iter().any(|file| file.cached.is_none());
        u32::from(self.complete(state))
            | u32::from(fallen_back && state.cached_segments & 1 == 0 && state.stored > 0) << 1
    }

    fn landmark_names(&self) -> &'static [&'static str] {
        &["all stored and deleted", "one checkpoint left after a deletion"]
    }
}
