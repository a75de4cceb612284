//! Holding what a gateway left against what senders were told.
use std::{collections::BTreeMap, mem};

use anyhow::Result;
use tallylink_journal::{Gap, Item, Reader, Record};

use super::{
    contents::{self, Origin, TELLING},
    left::Left,
    model::{Claim, Claims, EpochId, Epochs},
};

/// Epochs of a stream that a journal remembers for ever.
const REMEMBERED: usize = 4;

/// What was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) records: u64,
    pub(super) bytes: u64,
    /// Durable at their sender, and not there at the end; or missing between others.
    pub(super) lost: u64,
    pub(super) repeated: u64,
    pub(super) out_of_order: u64,
    /// With other bytes than were pushed, or never pushed at all.
    pub(super) altered: u64,
    /// STORED, as a sender was told, and not there.
    pub(super) taken_back: u64,
    /// Places that recovery calls damaged.
    pub(super) damaged: u64,
    /// The first of all this, in words.
    pub(super) complaint: Option<String>,
}

/// What is known besides.
pub(super) struct Known<'a> {
    pub(super) seed: u64,
    pub(super) streams: u32,
    /// The senders' ids.
    pub(super) peers: &'a [[u8; 8]],
    pub(super) claims: &'a [Claims],
    /// How often each sender was started so far.
    pub(super) lives: &'a [u32],
    /// Old segments are deleted.
    pub(super) retains: bool,
    /// Nothing more will come.
    pub(super) last: bool,
}

/// The name of a stream.
pub(super) fn stream_name(stream: u32) -> String {
    format!("stream-{stream}")
}

/// Checks one journal, of which `left` is a copy.
pub(super) fn check(left: &Left, known: &Known<'_>, epochs: &mut Epochs) -> Result<Tally> {
    let mut check = Check {
        known,
        epochs,
        tally: Tally::default(),
        tracks: BTreeMap::new(),
        newest: BTreeMap::new(),
        expected: Vec::new(),
    };
    if let Some(damage) = left.damage() {
        check.tally.damaged = 1;
        check.complain(|| damage);
    }
    check.learn(left)?;
    let mut reader = Reader::open(left.store.clone())?;
    while let Some(item) = reader.next()? {
        match item {
            Item::Record(record) => check.record(&record),
            Item::Gap(gap) => check.gap(&gap),
            Item::Damage(damage) => {
                check.tally.damaged += 1;
                check.complain(|| format!("a reader met damage without a cause: {damage:?}"));
            }
        }
    }
    check.claims(left);
    Ok(check.tally)
}

struct Check<'a> {
    known: &'a Known<'a>,
    epochs: &'a mut Epochs,
    tally: Tally,
    /// The number that each epoch goes on with.
    tracks: BTreeMap<(u32, u32, EpochId), u64>,
    /// The newest opening that each stream showed.
    newest: BTreeMap<(u32, u32), u32>,
    expected: Vec<u8>,
}

impl Check<'_> {
    /// Finds out which opening each epoch belongs to: from claims, and from records that are like no other.
    fn learn(&mut self, left: &Left) -> Result<()> {
        for (sender, claims) in (0..).zip(self.known.claims) {
            for (&(stream, epoch), claim) in claims {
                if let Some(life) = claim.life {
                    self.note(sender, stream, epoch, life);
                }
            }
        }
        let mut reader = Reader::open(left.store.clone())?;
        while let Some(item) = reader.next()? {
            let Item::Record(record) = item else { continue };
            let Some((sender, stream)) = self.place(record.peer, record.stream) else { continue };
            if record.bytes.len() < TELLING || self.epochs.life(sender, stream, record.epoch).is_some() {
                continue;
            }
            let pushed = (0..self.known.lives[sender as usize]).rev();
            let found = pushed.into_iter().find(|&life| self.is(Origin { sender, stream, life }, &record));
            if let Some(life) = found {
                self.note(sender, stream, record.epoch, life);
            }
        }
        Ok(())
    }

    fn note(&mut self, sender: u32, stream: u32, epoch: EpochId, life: u32) {
        if !self.epochs.note(sender, stream, epoch, life) {
            self.tally.altered += 1;
            self.complain(|| {
                format!("sender {sender}, stream {stream}: epoch {epoch:x?} names contents of two openings")
            });
        }
    }

    fn is(&mut self, origin: Origin, record: &Record<'_>) -> bool {
        contents::record(self.known.seed, origin, record.number, &mut self.expected);
        self.expected == record.bytes
    }

    fn place(&self, peer: [u8; 8], name: &[u8]) -> Option<(u32, u32)> {
        let sender = self.known.peers.iter().position(|known| *known == peer)?;
        let stream = (0..self.known.streams).find(|&stream| stream_name(stream).as_bytes() == name)?;
        Some((sender as u32, stream))
    }

    fn record(&mut self, record: &Record<'_>) {
        self.tally.records += 1;
        self.tally.bytes += record.bytes.len() as u64;
        let place = self.place(record.peer, record.stream);
        let origin = place.and_then(|(sender, stream)| {
            Some(Origin { sender, stream, life: self.epochs.life(sender, stream, record.epoch)? })
        });
        // All that retention left of an epoch may be too short to tell whose it is.
        let Some(origin) = origin else {
            let nobodys = place.is_none() || !self.known.retains && record.bytes.len() >= TELLING;
            self.tally.altered += u64::from(nobodys);
            if nobodys {
                self.complain(|| format!("record {} of epoch {:x?} is nobody's", record.number, record.epoch));
            }
            return;
        };
        let Origin { sender, stream, life } = origin;
        let newest = self.newest.entry((sender, stream)).or_insert(life);
        let in_order = life >= mem::replace(newest, life.max(*newest));
        if !in_order {
            self.tally.out_of_order += 1;
            self.complain(|| format!("{origin:?}: record {} after those of a later opening", record.number));
        }
        let first = if self.known.retains { record.number } else { 0 };
        let next = *self.tracks.entry((sender, stream, record.epoch)).or_insert(first);
        self.tracks.insert((sender, stream, record.epoch), next.max(record.number + 1));
        if record.number < next {
            self.tally.repeated += 1;
            self.complain(|| format!("{origin:?}: record {} again", record.number));
        } else if record.number > next {
            self.tally.lost += record.number - next;
            self.complain(|| format!("{origin:?}: records {next} to {} are missing", record.number - 1));
        }
        if !self.is(origin, record) {
            self.tally.altered += 1;
            self.complain(|| format!("{origin:?}: record {} has other bytes", record.number));
        }
    }

    /// Only retention may leave one, where it cut the first record in two.
    fn gap(&mut self, gap: &Gap<'_>) {
        let begun = self.place(gap.peer, gap.stream).map(|(s, t)| self.tracks.contains_key(&(s, t, gap.epoch)));
        if !(self.known.retains && gap.reason.is_none() && begun == Some(false)) {
            self.tally.lost += gap.below - gap.next;
            self.complain(|| format!("the journal has {gap:?}"));
        }
    }

    fn claims(&mut self, left: &Left) {
        for (sender, claims) in (0..).zip(self.known.claims) {
            for (&(stream, epoch), claim) in claims {
                if let Some(has) = self.has(left, sender, stream, epoch) {
                    self.claim(sender, stream, epoch, claim, has);
                }
            }
        }
    }

    /// How far an epoch is stored; `None` where the journal may have forgotten it.
    fn has(&self, left: &Left, sender: u32, stream: u32, epoch: EpochId) -> Option<u64> {
        let read = self.tracks.get(&(sender, stream, epoch)).copied();
        let peer = self.known.peers[sender as usize];
        let name = stream_name(stream);
        let row = left.streams.iter().find(|row| row.peer == peer && row.name == name.as_bytes());
        let remembered = row.map_or(&[][..], |row| &row.epochs);
        let state = remembered.iter().find(|(known, _)| *known == epoch).map(|(_, below)| *below);
        match (state, read) {
            // What is remembered must be there, and what is there remembered.
            (Some(below), Some(read)) => Some(below.min(read)),
            (Some(below), None) if self.known.retains => Some(below),
            (None, Some(read)) if remembered.len() >= REMEMBERED => Some(read),
            (None, None) if self.known.retains && remembered.len() >= REMEMBERED => None,
            _ => Some(0),
        }
    }

    fn claim(&mut self, sender: u32, stream: u32, epoch: EpochId, claim: &Claim, has: u64) {
        let whose = || format!("sender {sender}, stream {stream}, epoch {epoch:x?}");
        if let Some(left) = claim.shrunk_to {
            self.tally.lost += claim.durable - left;
            self.complain(|| {
                format!("{}: {} records were durable, the outbox opened with {left}", whose(), claim.durable)
            });
        }
        if has < claim.stored {
            self.tally.taken_back += claim.stored - has;
            self.complain(|| format!("{}: {} records were STORED, {has} are there", whose(), claim.stored));
        }
        if self.known.last && has < claim.durable {
            self.tally.lost += claim.durable - has;
            self.complain(|| format!("{}: {} records were durable, {has} are there", whose(), claim.durable));
        }
    }

    fn complain(&mut self, what: impl FnOnce() -> String) {
        self.tally.complaint.get_or_insert_with(what);
    }
}

impl Tally {
    /// Whether everything is as it must be.
    pub(super) fn is_exact(&self) -> bool {
        self.complaint.is_none()
    }
}
