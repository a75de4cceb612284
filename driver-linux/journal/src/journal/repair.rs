//! Setting damage aside, so that the journal is whole again (`core/docs/storage.md` §9.2).

use std::io;

use super::Journal;
use crate::aside::Aside;
use crate::check::{self, Progress, Tally};
use crate::chunk::StreamId;
use crate::entry::{self, LEAST_VOID};
use crate::error::{At, Error};
use crate::options::Options;
use crate::recover::{Damage, Recovery, Sealed};
use crate::seal::Mask;
use crate::segment::{self, Before, Found, Header};
use crate::store::{Store, StoreFile, SyncSite};

/// What a repair did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Places that were damaged and are set aside.
    pub places: u64,
    /// The bytes between their ends.
    pub bytes: u64,
    /// Segments whose header was written anew.
    pub headers: u64,
    /// What opening found, which comes first.
    pub recovery: Recovery,
}

/// Recovers the journal in `store` as opening does, then copies what is damaged to the file
/// [`SET_ASIDE_FILE`](crate::SET_ASIDE_FILE) and marks its place as void. Undamaged records are not touched. Killed at
/// any moment and run again, it comes to the same.
///
/// # Errors
/// As [`Journal::open`]; or the disk fails, then what is not done yet is as it was.
pub fn repair<S: Store>(store: S, watch: &mut dyn FnMut(Progress)) -> Result<Repair, Error> {
    // Whoever uses the journal may remember as many epochs as there can be,
    // and hardly anything is appended.
    let (remembered_epochs, segment_bytes) = (Options::MOST_EPOCHS, Options::MIN_SEGMENT);
    let options = Options { remembered_epochs, segment_bytes, ..Options::default() };
    let (mut journal, recovery) = Journal::open(store, options)?;
    let done = journal.repair(watch)?;
    Ok(Repair { recovery, ..done })
}

impl<S: Store> Journal<S> {
    fn repair(&mut self, watch: &mut dyn FnMut(Progress)) -> Result<Repair, Error> {
        let mut done = Repair::default();
        let mut tally = Tally::default();
        let mut aside = None;
        let mut before = Before::default();
        let mut progress = Progress { done: 0, all: self.sealed.iter().map(|sealed| sealed.counted).sum() };
        for at in 0..self.sealed.len() {
            let sealed = self.sealed[at];
            let name = segment::name(sealed.segment);
            let file = || self.store.describe(&name);
            let mut places = Vec::new();
            let (segment, counted) = (sealed.segment, sealed.counted);
            check::each_damage(&self.store, self.id, segment, counted, &mut tally, &mut |damage| places.push(damage))
                .at(file, "read")?;
            if !places.is_empty() {
                let aside = match &mut aside {
                    Some(aside) => aside,
                    none => {
                        none.insert(Aside::open(&self.store).at(|| self.store.describe(""), "set damage aside in")?)
                    }
                };
                self.set_aside(aside, segment, &places).at(file, "set damage aside of")?;
            }
            done.places += places.len() as u64;
            done.bytes += places.iter().map(|place| place.to - place.from).sum::<u64>();
            // Less than an entry: the last bytes of a file that was cut, which count no longer.
            let cut = places.last().filter(|place| place.to == counted && place.to - place.from < LEAST_VOID);
            let counted = cut.map_or(counted, |place| place.from);
            done.headers += u64::from(self.mend_header(&sealed, before).at(file, "mend the header of")?);
            self.sealed[at].counted = counted;
            before = Before { segment, counted };
            progress.done += sealed.counted;
            watch(progress);
        }
        self.tell_lost_ends(&tally)?;
        self.checkpoint()?;
        self.checkpoint()?;
        self.publish();
        Ok(done)
    }

    /// Defines streams again in those epochs whose end is lost, as checkpoints know it: so readers are told of the gap.
    fn tell_lost_ends(&mut self, tally: &Tally) -> Result<(), Error> {
        for (id, epoch) in tally.behind(&self.streams) {
            let stream = StreamId(id);
            let freed = self.epoch_state(stream, epoch).map_or(0, |state| state.freed_below);
            // The mark itself says nothing new; the definition before it does.
            self.freed(stream, epoch, freed)?;
        }
        self.commit().map(drop)
    }

    /// Copies the places, and only then writes over them.
    fn set_aside(&self, aside: &mut Aside<S::File>, segment: u64, places: &[Damage]) -> io::Result<()> {
        let mut file = self.store.open(&segment::name(segment), true)?;
        for &place in places {
            aside.put(&file, place)?;
        }
        aside.sync()?;
        let mask = Mask::new(self.id, segment);
        let mut void = Vec::new();
        for place in places.iter().filter(|place| place.to - place.from >= LEAST_VOID) {
            void.clear();
            entry::write_void(place.to - place.from, mask, place.from, &mut void);
            file.write_at(&void, place.from)?;
        }
        file.sync(SyncSite::Repaired)
    }

    /// Writes the copies of a header that are damaged, or name a segment before that is not the one before. The second
    /// is synced before the first is begun, so that one is whole at any moment.
    fn mend_header(&self, sealed: &Sealed, before: Before) -> io::Result<bool> {
        let segment = sealed.segment;
        let mut file = self.store.open(&segment::name(segment), true)?;
        let found = match Header::read(&file, segment)? {
            Found::Header(header) => Some(header),
            Found::Damaged | Found::Version(_) => None,
        };
        let given_up = |b: &Before| b.segment < self.checkpoints.oldest;
        let before = found.map(|header| header.before).filter(|b| before.segment == 0 && given_up(b)).unwrap_or(before);
        let wanted = Header { journal: self.id, segment, before, created_us: sealed.created_us };
        let whole = Header::whole_copies(&file, segment)?;
        if found == Some(wanted) && whole == [true; 2] {
            return Ok(false);
        }
        for (copy, offset) in Header::COPIES.into_iter().enumerate().rev() {
            if !whole[copy] || found != Some(wanted) {
                file.write_at(&wanted.to_bytes(), offset)?;
                file.sync(SyncSite::Repaired)?;
            }
        }
        Ok(true)
    }
}
