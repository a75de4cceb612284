//! Where a journal ends: the last segment in which something counts (`core/docs/storage.md` §7.1).

use super::tail::{self, Survey};
use crate::chain::{self, Chain};
use crate::checkpoint::Summary;
use crate::error::{At, Error};
use crate::halt::Halt;
use crate::position::Published;
use crate::segment::{self, ENTRIES_AT, Found, Header};
use crate::store::Store;
use crate::{checkpoint, position};

/// The chain, which is not empty, and the end of its last segment.
pub(crate) struct End {
    pub(crate) chain: Chain,
    pub(crate) survey: Survey,
}

/// Finds the end of the journal of which `ids` are all segments, ascending. `None` if nothing counts in any.
pub(crate) fn find<S: Store>(
    store: &S,
    summary: &Summary,
    published: Option<Published>,
    ids: &[u64],
    stop: &Halt,
) -> Result<Option<End>, Error> {
    let mut live = &ids[ids.partition_point(|&id| id < summary.oldest)..];
    while let Some((&last, below)) = live.split_last() {
        let chain =
            chain::walk(store, live, last, summary.oldest, stop).at(|| store.describe(""), "follow the segments")?;
        let Some((tail, finished)) = chain.links.split_last() else {
            break;
        };
        for link in finished.iter().chain([tail]) {
            check_header(store, summary, link.segment, link.found)?;
        }
        let survey =
            tail::survey(store, summary, published, last, stop).at(|| store.describe(&segment::name(last)), "read")?;
        // The first sync of a segment covers its header. Without one, whatever stands there is only begun.
        let never_synced = tail.found == Found::Damaged && survey.proven <= ENTRIES_AT;
        if survey.end > ENTRIES_AT && !never_synced {
            return Ok(Some(End { chain, survey }));
        }
        // Begun when the power went, nothing in it counts: the segment before is the last.
        live = below;
    }
    Ok(None)
}

/// The journal's id, from any header or the published position, if no checkpoint tells it.
///
/// # Errors
/// There are segments, and nothing tells it.
pub(crate) fn identify<S: Store>(store: &S, published: Option<Published>, ids: &[u64]) -> Result<Option<u64>, Error> {
    for &id in ids {
        let name = segment::name(id);
        let found = store.open(&name, false).and_then(|file| Header::read(&file, id));
        if let Found::Header(header) = found.at(|| store.describe(&name), "read the header")? {
            return Ok(Some(header.journal));
        }
    }
    match published {
        Some(published) => Ok(Some(published.journal)),
        None if ids.is_empty() => Ok(None),
        None => Err(Error::Unidentified { directory: store.describe("") }),
    }
}

/// What is published of the journal that `summary` is of.
pub(crate) fn published<S: Store>(store: &S) -> Result<Option<Published>, Error> {
    position::read(store).at(|| store.describe(position::POSITION_FILE), "read")
}

/// Refuses a checkpoint of a later version.
pub(crate) fn check_version<S: Store>(store: &S, unknown: Option<(usize, u32)>) -> Result<(), Error> {
    match unknown {
        Some((slot, version)) => Err(Error::Version { file: store.describe(checkpoint::FILES[slot]), version }),
        None => Ok(()),
    }
}

fn check_header<S: Store>(store: &S, summary: &Summary, segment: u64, found: Found) -> Result<(), Error> {
    let file = || store.describe(&segment::name(segment));
    match found {
        Found::Version(version) => Err(Error::Version { file: file(), version }),
        Found::Header(header) if header.journal != summary.journal => Err(Error::Foreign { file: file() }),
        Found::Header(_) | Found::Damaged => Ok(()),
    }
}

/// The highest segment that something durable names, if it should still be there and is not.
///
/// The last segment is missed by no header.
pub(crate) fn missing_last(summary: &Summary, published: Option<Published>, ids: &[u64]) -> Option<u64> {
    let published = published.filter(|p| p.journal == summary.journal).map_or(0, |p| p.synced.segment);
    let named = published.max(summary.covered.segment);
    let is_missed = named >= summary.oldest.max(1) && ids.last().is_none_or(|&last| last < named);
    is_missed.then_some(named)
}
