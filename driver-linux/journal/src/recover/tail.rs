//! The end of the last segment: what is proven, what is whole, and making it durable.

use std::io;

use crate::checkpoint::Summary;
use crate::entry::Entry;
use crate::halt::Halt;
use crate::position::Published;
use crate::scan::{Scanner, Step};
use crate::seal::Mask;
use crate::segment::{self, ENTRIES_AT};
use crate::store::{Store, StoreFile, SyncSite, read_full};

/// How much of the tail is rewritten at once.
const PIECE: usize = 256 << 10;

/// Where the last segment ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Survey {
    /// Everything below was durable before the last start: a bad entry there is damage.
    pub(crate) proven: u64,
    /// The unbroken prefix behind `proven` ends here, and with it what counts.
    pub(crate) end: u64,
}

/// Finds the end of `segment`, the last of the chain.
pub(super) fn survey<S: Store>(
    store: &S,
    summary: &Summary,
    published: Option<Published>,
    segment: u64,
    stop: &Halt,
) -> io::Result<Survey> {
    let file = store.open(&segment::name(segment), false)?;
    let size = file.size()?;
    let covered = summary.covered;
    let start = if segment == covered.segment { covered.counted.max(ENTRIES_AT) } else { ENTRIES_AT };
    let published = published.map_or(0, |published| {
        let ours = published.journal == summary.journal && published.synced.segment == segment;
        if ours { published.synced.counted } else { 0 }
    });
    let mut proven = start.max(published);
    let mask = Mask::new(summary.journal, segment);
    let mut scanner = Scanner::new(file, mask, start, size).until(stop);
    loop {
        match scanner.next()? {
            // A group is written only after the sync that proves what it states: true wherever it is found.
            Step::Entry { at, entry: Entry::Group { proven: stated } } => proven = proven.max(stated.min(at)),
            Step::Entry { .. } => {}
            Step::Bad { .. } => {
                scanner.resync()?;
            }
            Step::End => break,
        }
    }
    let file = store.open(&segment::name(segment), false)?;
    let mut prefix = Scanner::new(file, mask, proven, size).until(stop);
    while let Step::Entry { .. } = prefix.next()? {}
    Ok(Survey { proven, end: prefix.at() })
}

/// Writes the tail again and syncs it, and cuts off what lies behind. Returns how much of that had been written.
///
/// What was read may be only in memory, left there by a process that died, or that a failed sync has marked clean:
/// only written anew will it reach the disk.
pub(super) fn finish<S: Store>(store: &S, segment: u64, survey: &Survey, stop: &Halt) -> io::Result<u64> {
    let mut file = store.open(&segment::name(segment), true)?;
    let mut piece = vec![0; PIECE];
    // The first group's sync covers the header, too: without one, neither is known to be durable.
    let mut at = if survey.proven > ENTRIES_AT { survey.proven } else { 0 };
    while at < survey.end {
        stop.check()?;
        let len = (survey.end - at).min(PIECE as u64) as usize;
        let got = read_full(&file, &mut piece[..len], at)?;
        if got < len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.write_at(&piece[..len], at)?;
        at += len as u64;
    }
    if survey.end > survey.proven {
        file.sync(SyncSite::RecoveredTail)?;
    }
    let mut torn_end = survey.end;
    loop {
        stop.check()?;
        let got = read_full(&file, &mut piece, at)?;
        if got == 0 {
            break;
        }
        if let Some(last) = piece[..got].iter().rposition(|&byte| byte != 0) {
            torn_end = at + last as u64 + 1;
        }
        at += got as u64;
    }
    if file.size()? > survey.end {
        file.truncate(survey.end)?;
    }
    Ok(torn_end - survey.end)
}
