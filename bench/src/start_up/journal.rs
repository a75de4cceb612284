//! Large journals, as a gateway or a sender leaves them.
use std::{fs, fs::File, path::Path};

use anyhow::Result;
use indicatif::ProgressBar;
use rustix::fs::{Advice, fadvise};
use tallylink_journal::{Chunk, Dir, Journal, Options, Position, Retention};

const EPOCH: [u8; 8] = *b"start-up";
/// Records as small sensors send them, as many to a chunk as to a packet.
const RECORD: usize = 61;
const PER_CHUNK: u32 = 23;
/// What one sync makes durable.
const GROUP: u64 = 1 << 20;
/// Streams that take turns in a gateway's journal.
const STREAMS: u8 = 16;
/// A sender's record in so many is not freed yet.
const UNFREED: u64 = 4;

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

    pub(super) fn options(self) -> Options {
        let retention = Retention { freed: self == Self::Outbox, ..Retention::default() };
        let remembered_epochs = if self == Self::Outbox { Options::MOST_EPOCHS } else { 4 };
        Options { salt: 0x7374_6172_7475_7001, remembered_epochs, retention, ..Options::default() }
    }
}

/// Writes a journal of `bytes` in `home`.
pub(super) fn write(kind: Kind, home: &Path, bytes: u64) -> Result<Made> {
    let bar = ProgressBar::new(bytes).with_message("writing the journal");
    let (mut journal, _) = Journal::open(Dir::create(super::directory(home))?, kind.options())?;
    let count = if kind == Kind::Gateway { STREAMS } else { 1 };
    let mut streams = Vec::new();
    for stream in 0..count {
        let id = journal.stream([stream; 8], b"readings")?;
        journal.begin_epoch(id, EPOCH, 0, 0)?;
        streams.push((id, 0_u64));
    }
    let body = [&[RECORD as u8][..], &[0x5a; RECORD]].concat().repeat(PER_CHUNK as usize);
    let (mut records, mut now_us) = (0, 1_700_000_000_000_000);
    while journal.segment_bytes() < bytes {
        for (stream, next) in &mut streams {
            let to = *next + u64::from(PER_CHUNK);
            let (from, to) = (Position::start_of(*next), Position::start_of(to));
            let records = PER_CHUNK;
            journal.append(
                Chunk { stream: *stream, epoch: EPOCH, from, to, first_record: 0, records, bytes: &body },
                now_us,
            )?;
            *next = to.number;
            now_us += 1;
        }
        records += u64::from(PER_CHUNK) * u64::from(count);
        if journal.pending_bytes() >= GROUP {
            if kind == Kind::Outbox {
                // The first segment is still needed: the others stay, too.
                journal.freed(streams[0].0, EPOCH, UNFREED)?;
            }
            journal.commit()?;
            journal.maintain(now_us)?;
            bar.set_position(journal.segment_bytes());
        }
    }
    journal.commit()?;
    bar.finish_and_clear();
    Ok(Made { bytes: journal.segment_bytes(), records })
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
