use super::{Fit, Streams, fit};
use crate::chunk::Position;

const fn at(number: u64, offset: u32) -> Position {
    Position { number, offset }
}

#[test]
fn a_chunk_continues_restarts_jumps_or_repeats() {
    assert_eq!(fit(at(5, 7), at(5, 7)), Fit::Continues);
    assert_eq!(fit(at(5, 0), at(5, 0)), Fit::Continues);
    assert_eq!(fit(at(5, 7), at(5, 0)), Fit::Restarts);
    assert_eq!(fit(at(5, 7), at(5, 8)), Fit::Jumps);
    assert_eq!(fit(at(5, 7), at(6, 0)), Fit::Jumps);
    assert_eq!(fit(at(5, 7), at(5, 6)), Fit::Repeats);
    assert_eq!(fit(at(5, 7), at(4, 9)), Fit::Repeats);
}

#[test]
fn a_stream_is_found_by_peer_and_name_together() {
    let mut streams = Streams::new(4);
    let a = streams.add([1; 8], b"temperature");
    let b = streams.add([2; 8], b"temperature");
    let c = streams.add([1; 8], b"");
    assert_eq!(streams.find([1; 8], b"temperature"), Some(a));
    assert_eq!(streams.find([2; 8], b"temperature"), Some(b));
    assert_eq!(streams.find([1; 8], b""), Some(c));
    assert_eq!(streams.find([2; 8], b""), None);
}

#[test]
fn without_an_index_a_stream_is_found_all_the_same() {
    let mut streams = Streams::new(4);
    let a = streams.add([1; 8], b"temperature");
    streams.drop_index();
    streams.reserve(10);
    let b = streams.add([2; 8], b"temperature");
    assert_eq!(streams.find([1; 8], b"temperature"), Some(a));
    assert_eq!(streams.find([2; 8], b"temperature"), Some(b));
    assert_eq!(streams.find([3; 8], b"temperature"), None);
}

#[test]
fn an_id_that_contradicts_another_is_refused() {
    let mut streams = Streams::new(4);
    assert!(streams.place(5, [1; 8], b"a"));
    assert!(streams.place(5, [1; 8], b"a"));
    assert!(!streams.place(5, [1; 8], b"b"));
    assert!(!streams.place(6, [1; 8], b"a"));
    assert!(!streams.place(u32::MAX, [1; 8], b"c"));
    assert!(streams.get(4).is_none());
}

#[test]
fn the_newest_four_epochs_with_records_are_remembered() {
    let mut streams = Streams::new(4);
    let id = streams.add([1; 8], b"a");
    let epochs = &mut streams.get_mut(id).unwrap().epochs;
    for n in 0..9_u8 {
        assert!(epochs.begin([n; 8], Position::default(), 4));
        if n % 3 != 2 {
            let slot = epochs.find_mut([n; 8]).unwrap();
            slot.advance(at(1, 0));
            slot.prove();
        }
        epochs.forget_old(4);
    }
    let kept: Vec<u8> = epochs.iter().map(|slot| slot.epoch[0]).collect();
    // 8 was begun and got nothing yet; 2 and 5 got nothing and made room.
    assert_eq!(kept, [8, 7, 6, 4, 3]);
    epochs.settle(4);
    let kept: Vec<u8> = epochs.iter().map(|slot| slot.epoch[0]).collect();
    assert_eq!(kept, [7, 6, 4, 3]);
}
