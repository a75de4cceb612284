//! Reading: which blocks count, as recovery and every other reader decide it.

use super::disk::{Block, Disk, Page};
use super::{Bug, Journal};

/// A record that counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) number: u8,
}

/// What a reader finds.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The records that count, in order. Rotten ones are named too, for the check alone.
    pub(super) records: Vec<Found>,
    /// Sound chunks below a proven offset: segment and place.
    pub(super) proven: Vec<(u8, u8)>,
    /// The newest segment whose header can be read.
    pub(super) newest: usize,
    /// How many blocks of it are valid.
    pub(super) valid: usize,
}

/// Follows the headers back from the newest segment, then reads forwards what counts of each.
pub(super) fn read(disk: &Disk, model: &Journal) -> Reading {
    let mut reading = Reading::default();
    let readable = |segment: &usize| disk.header(*segment) != Page::Gone;
    let Some(newest) = (0..disk.segments()).rev().find(readable) else {
        return reading;
    };
    reading.newest = newest;

    let mut chain = vec![(newest, None)];
    let mut at = newest;
    while let Some((before, counted)) = disk.predecessor(at).filter(|(before, _)| readable(before)) {
        chain.push((before, Some(counted)));
        at = before;
    }
    for (segment, counted) in chain.into_iter().rev() {
        reading.valid = read_segment(disk, segment, counted, model, &mut reading);
    }
    reading
}

fn read_segment(disk: &Disk, segment: usize, counted: Option<usize>, model: &Journal, into: &mut Reading) -> usize {
    let counted = counted.filter(|_| !model.has(Bug::CountedLengthIgnored));
    let stated = disk.blocks(segment).filter_map(|block| match block {
        Some(Block::Group { proven }) => Some(proven),
        _ => None,
    });
    let proven = counted.unwrap_or_else(|| stated.max().unwrap_or(0));
    let mut valid = 0;
    for (place, block) in disk.blocks(segment).enumerate().take(counted.unwrap_or(usize::MAX)) {
        match block {
            Some(Block::Record(number)) => {
                into.records.push(Found { number });
                if place < proven {
                    into.proven.push((segment as u8, place as u8));
                }
            }
            Some(Block::Group { .. }) => {}
            Some(Block::Rotten(number)) if place < proven && !model.has(Bug::DamageEndsSegment) => {
                into.records.push(Found { number });
            }
            None if model.has(Bug::ReadsPastHole) => continue,
            Some(Block::Rotten(_)) | None => break,
        }
        valid = place + 1;
    }
    valid
}
