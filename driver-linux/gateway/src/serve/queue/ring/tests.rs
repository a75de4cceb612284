//! One ring between two threads.

use tallylink_core::{Epoch, Full, Position};

use super::{HEAD, Item, Next, ring};

fn chunk(n: u64) -> Item {
    Item::Chunk {
        epoch: Epoch([n as u8; 8]),
        from: Position { number: n, offset: 3 },
        to: Position { number: n + 2, offset: 0 },
        first_start: 7,
        starts: 2,
        arrival_us: 1 << 40,
    }
}

#[test]
fn items_come_out_as_they_went_in() {
    let (mut put, mut take) = ring(4096);
    let gap = Item::Gap { epoch: Epoch([9; 8]), below: 1 << 61, reason: 4, arrival_us: 5 };
    let items = [(Item::Stream { peer: [1; 8] }, &b"name"[..]), (chunk(4), b"bytes"), (gap, b""), (Item::Resume, b"")];
    for (i, (item, body)) in items.iter().enumerate() {
        put.put(i as u32, 7, item, body).expect("room");
    }
    for (i, (item, body)) in items.iter().enumerate() {
        assert_eq!(take.next(), Some(Next { stamp: 7, is_resume: *item == Item::Resume }));
        let taken = take.take(|stream, item, body| (stream, item, body.to_vec()));
        assert_eq!(taken, Some((HEAD + body.len(), (i as u32, *item, body.to_vec()))));
    }
    assert_eq!((take.next(), take.take(|_, _, _| ())), (None, None));
}

#[test]
fn every_place_of_the_end_of_the_ring_is_crossed() {
    let body: Vec<u8> = (0..40).collect();
    // One more than an item takes: the end lies one byte earlier in each next one.
    let (mut put, mut take) = ring(HEAD + body.len() + 1);
    for n in 0..2 * (HEAD + body.len()) as u64 {
        put.put(1, 0, &chunk(n), &body).expect("room");
        assert_eq!(put.put(1, 0, &chunk(n), &body), Err(Full));
        let taken = take.take(|_, item, bytes| (item, bytes == body));
        assert_eq!(taken.map(|(_, taken)| taken), Some((chunk(n), true)));
        assert_eq!(put.waiting(), 0);
    }
}

#[test]
fn it_is_over_when_the_other_end_is_gone_and_all_was_taken() {
    let (mut put, mut take) = ring(4096);
    put.put(0, 0, &chunk(1), b"last").expect("room");
    assert!(!take.is_over());
    drop(put);
    assert!(!take.is_over());
    assert_eq!(take.take(|_, item, _| item).map(|(_, item)| item), Some(chunk(1)));
    assert!(take.is_over());
}
