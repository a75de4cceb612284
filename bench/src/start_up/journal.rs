//! Large journals, as a gateway or a sender leaves them.
use std::{fs, fs::File, path::Path};

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use rustix::fs::{Advice, fadvise};
use tallylink_core::{Epoch, Name, PeerId};
use tallylink_journal::{Chunk, Dir, Journal, Options, Position};
use tallylink_linux::outbox::{Group, Outbox, OutboxOptions, Owner};

const EPOCH: [u8; 8] = *b"start-up";
const SALT: u64 = 0x7374_6172_7475_7001;
/// UTC in microseconds at which everything arrives.
const NOW_US: u64 = 1_700_000_000_000_000;
/// Records as small sensors send them, as many to a chunk as to a packet.
const RECORD: usize = 61;
const PER_CHUNK: u32 = 23;
/// What one sync makes durable.
const GROUP: u64 = 1 << 20;
/// Streams that take turns in a gateway's journal.
const STREAMS: u8 = 16;

/// Whose journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Gateway,
    Outbox,
}

/// What was written.
pub(super) struct Made {
    pub(super) bytes: u64,
    pub(super) records: u64,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Outbox => "outbox",
        }
    }
}

/// Writes a journal of `bytes` in `home`.
pub(super) fn write(kind: Kind, home: &Path, bytes: u64) -> Result<Made> {
    let bar = ProgressBar::new(bytes).with_message("writing the journal");
    let made = match kind {
        Kind::Gateway => write_gateway(home, bytes, &bar),
        Kind::Outbox => write_outbox(home, bytes, &bar),
    };
    bar.finish_and_clear();
    made
}

/// Opens the outbox in `home`.
pub(super) fn open_outbox(home: &Path, epoch: u8) -> Result<Outbox> {
    let stream = Name::new("readings").context("a name of no use")?;
    let owner = Owner { peer: PeerId(EPOCH), stream };
    let options = OutboxOptions { salt: SALT, ..OutboxOptions::default() };
    Ok(Outbox::open(Dir::create(super::directory(home))?, &owner, Epoch([epoch; 8]), &options)?)
}

fn write_gateway(home: &Path, bytes: u64, bar: &ProgressBar) -> Result<Made> {
    let options = Options { salt: SALT, ..Options::default() };
    let (mut journal, _) = Journal::open(Dir::create(super::directory(home))?, options)?;
    let mut streams = Vec::new();
    for stream in 0..STREAMS {
        let id = journal.stream([stream; 8], b"readings")?;
        journal.begin_epoch(id, EPOCH, 0, 0)?;
        streams.push(id);
    }
    let body = [&[RECORD as u8][..], &[0x5a; RECORD]].concat().repeat(PER_CHUNK as usize);
    let mut next = 0;
    while journal.segment_bytes() < bytes {
        let (from, to) = (Position::start_of(next), Position::start_of(next + u64::from(PER_CHUNK)));
        for &stream in &streams {
            let records = PER_CHUNK;
            journal.append(Chunk { stream, epoch: EPOCH, from, to, first_record: 0, records, bytes: &body }, NOW_US)?;
        }
        next = to.number;
        if journal.pending_bytes() >= GROUP {
            journal.commit()?;
            journal.maintain(NOW_US)?;
            bar.set_position(journal.segment_bytes());
        }
    }
    journal.commit()?;
    Ok(Made { bytes: journal.segment_bytes(), records: next * u64::from(STREAMS) })
}

fn write_outbox(home: &Path, bytes: u64, bar: &ProgressBar) -> Result<Made> {
    let mut outbox = open_outbox(home, 1)?;
    let mut group = Group::default();
    let mut written = 0;
    while written < bytes {
        group.restart(outbox.durable_below());
        while (group.len() as u64) < GROUP {
            group.push(&[0x5a; RECORD]);
        }
        outbox.append(&group, NOW_US)?;
        outbox.commit()?;
        outbox.maintain(NOW_US)?;
        written += group.len() as u64;
        bar.set_position(written);
    }
    Ok(Made { bytes: written, records: outbox.durable_below() })
}

/// Lets the kernel forget what it read and wrote of every file.
pub(super) fn drop_pages(home: &Path) -> Result<()> {
    for entry in fs::read_dir(super::directory(home))? {
        let file = File::open(entry?.path())?;
        // Only clean pages are dropped.
        file.sync_all()?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}
