//! What a sender's ring takes: all of a record or nothing, up to exactly its size, wherever it stands (F37).

use crate::support::{Pair, at, record, small_config};
use tallylink_core::wire::varint;
use tallylink_core::{EpochSource, Error, Name, OutIx, PushError};

const RING: u32 = 400;

/// A pair whose ring has moved on by `offset` bytes and is empty.
fn moved_on(offset: usize) -> (Pair, u64) {
    let mut pair = Pair::new(small_config(), RING as usize);
    let stream = pair.open(0, "s", RING);
    let mut pushed = 0;
    let mut left = offset;
    while left > 0 {
        let stored = left.min(64);
        pair.push(stream, &record(pushed as usize, stored - 1)).unwrap();
        pushed += 1;
        left -= stored;
    }
    if pushed > 0 {
        pair.run_until_stored(pushed, 1_000_000);
    }
    (pair, pushed)
}

#[test]
fn a_record_of_exactly_the_ring_arrives_from_every_offset() {
    let size = RING as usize - 2;
    for offset in 0..RING as usize {
        let (mut pair, before) = moved_on(offset);
        assert_eq!(pair.push(OutIx(0), &record(7, size)), Ok(before), "at {offset}");
        assert_eq!(pair.device.outbound(0).room(), 0);
        assert_eq!(pair.push(OutIx(0), &[]), Err(PushError::Full), "not even an empty record fits");
        pair.run_until_stored(before + 1, 1_000_000);
        assert_eq!(pair.gateway.inbox.stream("s").records().pop(), Some(record(7, size)), "at {offset}");
    }
}

#[test]
fn too_large_and_full_now_differ() {
    let (mut pair, _) = moved_on(0);
    let stream = OutIx(0);
    assert_eq!(pair.push(stream, &record(0, RING as usize - 1)), Err(PushError::TooLarge));
    assert_eq!(pair.push(stream, &record(0, 100)), Ok(0));
    assert_eq!(pair.push(stream, &record(1, RING as usize - 2)), Err(PushError::Full));
    assert_eq!(pair.push(stream, &record(1, 100)), Ok(1), "what was refused took nothing");
    pair.run_until_stored(2, 1_000_000);
    assert_eq!(pair.push(stream, &record(2, RING as usize - 2)), Ok(2));
    assert_eq!(pair.push(OutIx(1), b"x"), Err(PushError::NoStream));
}

#[test]
fn a_packed_run_is_taken_as_far_as_whole_records_fit() {
    for offset in 0..RING as usize {
        let (mut pair, before) = moved_on(offset);
        let mut packed = vec![];
        for i in 0..10 {
            packed.extend_from_slice(varint::encode(60).unwrap().as_slice());
            packed.extend(record(i, 60));
        }
        let pushed = pair.device.endpoint.push_batch(at(pair.now), OutIx(0), &packed).unwrap();
        assert_eq!((pushed.first, pushed.records, pushed.bytes), (before, 6, 6 * 61), "at {offset}");
        let rest = &packed[pushed.bytes..];
        assert_eq!(pair.device.endpoint.push_batch(at(pair.now), OutIx(0), rest), Err(PushError::Full));
        pair.run_until_stored(before + 6, 1_000_000);
        let records = pair.gateway.inbox.stream("s").records();
        assert_eq!(records[before as usize..], (0..6).map(|i| record(i, 60)).collect::<Vec<_>>(), "at {offset}");
    }
}

#[test]
fn what_is_no_packed_run_is_refused_whole() {
    let (mut pair, _) = moved_on(0);
    let mut push = |packed: &[u8]| pair.device.endpoint.push_batch(at(0), OutIx(0), packed);
    assert_eq!(push(&[3, 1, 2]), Err(PushError::NotPacked));
    assert_eq!(push(&[0x40, 3, 1, 2, 3]), Err(PushError::NotPacked), "a long form");
    assert_eq!(push(&[&[0x41, 0xff][..], &[0; 511]].concat()), Err(PushError::TooLarge));
    assert_eq!(push(&[0x80, 0x20, 0, 0]), Err(PushError::TooLarge), "above max_record");
    assert_eq!(push(&[]).map(|p| p.records), Ok(0));
    assert_eq!(pair.device.outbound(0).next(), 0);
}

#[test]
fn mistakes_of_the_caller_change_nothing() {
    let (mut pair, _) = moved_on(0);
    let name = |n: &str| Name::new(n).unwrap();
    let mut open = |ix, n: &str, ring| {
        let peer = crate::support::PEER;
        pair.device.endpoint.open(at(0), OutIx(ix), peer, name(n), EpochSource::FirstSession, 0, ring)
    };
    assert_eq!(open(0, "other", 400..800), Err(Error::Taken));
    assert_eq!(open(1, "s", 400..800), Err(Error::NameTaken));
    assert_eq!(open(1, "other", 400..400), Err(Error::BadRing));
    assert_eq!(open(1, "other", 400..1 << 30), Err(Error::BadRing));
    assert_eq!(open(99, "other", 400..800), Err(Error::NoSuchIndex));
    assert_eq!(open(1, "other", 400..800), Ok(()));
    assert_eq!(Name::new(""), None);
    assert_eq!(Name::new(&"n".repeat(65)), None);
}
