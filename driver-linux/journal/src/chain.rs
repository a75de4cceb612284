//! Which segments count, and how much of each (`core/docs/storage.md` §3.2).
//!
//! Every header names the segment before it and the length of it that counts. Walking back from the last segment
//! thus finds the chain; a segment beside it was begun and given up, and nothing in it counts.

use std::io;

use crate::halt::Halt;
use crate::segment::{self, Before, Found, Header};
use crate::store::{Store, StoreFile};

/// One segment of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) segment: u64,
    /// How many of its bytes count; `None` for the last, whose end only its contents tell.
    pub(crate) counted: Option<u64>,
    pub(crate) found: Found,
    /// How long its file is.
    pub(crate) size: u64,
}

/// The chain, ascending, and what it lacks.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    pub(crate) links: Vec<Link>,
    /// Segments that a header names and that are not there, with the length that counts.
    pub(crate) missing: Vec<Before>,
}

/// The chain that ends in `last`, ascending, down to `first` at most. `ids` are all segments there are, ascending.
///
/// A damaged header or a missing segment is bridged: the next lower file is taken for the one before and its size
/// for what counts, since a finished segment is cut to that.
pub(crate) fn walk<S: Store>(store: &S, ids: &[u64], last: u64, first: u64, stop: &Halt) -> io::Result<Chain> {
    let mut chain = Chain::default();
    let mut next = Some((last, None));
    while let Some((segment, counted)) = next.filter(|&(segment, _)| segment >= first) {
        stop.check()?;
        let before = match ids.binary_search(&segment) {
            Ok(below) => {
                let file = store.open(&segment::name(segment), false)?;
                let found = Header::read(&file, segment)?;
                chain.links.push(Link { segment, counted, found, size: file.size()? });
                match found {
                    Found::Header(header) => Some(header.before),
                    Found::Damaged | Found::Version(_) => bridge(store, &ids[..below])?,
                }
            }
            Err(below) => {
                chain.missing.push(Before { segment, counted: counted.unwrap_or(0) });
                bridge(store, &ids[..below])?
            }
        };
        // A header that named itself or a later segment as the one before would make the walk endless.
        let before = before.filter(|b| b.segment > 0 && b.segment < segment);
        next = before.map(|b| (b.segment, Some(b.counted)));
    }
    chain.links.reverse();
    Ok(chain)
}

fn bridge<S: Store>(store: &S, below: &[u64]) -> io::Result<Option<Before>> {
    let Some(&segment) = below.last() else {
        return Ok(None);
    };
    let counted = store.open(&segment::name(segment), false)?.size()?;
    Ok(Some(Before { segment, counted }))
}
