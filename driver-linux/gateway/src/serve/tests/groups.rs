//! How long a group waits for more.

use super::*;

const INTERVAL: Duration = Duration::from_millis(800);
/// An eighth of it.
const LULL: Duration = Duration::from_millis(100);

fn pair() -> (Pair, InIx) {
    let mut pair = Pair::grouped(&MemStore::new(1), 64 << 10, 256 << 10, INTERVAL);
    let (stream, _) = pair.open("groups").expect("taken");
    (pair, stream)
}

/// How long the writer would sleep.
fn waits(pair: &mut Pair) -> Duration {
    loop {
        match pair.writer.turn() {
            Next::Again => {}
            Next::Wait(at_most) => return at_most,
            other => panic!("{other:?}"),
        }
    }
}

fn record(bytes: u16) -> Vec<u8> {
    let mut record = (bytes | 0x4000).to_be_bytes().to_vec();
    record.resize(2 + usize::from(bytes), 7);
    record
}

#[test]
fn a_small_group_waits_for_the_interval() {
    let (mut pair, stream) = pair();
    pair.deliver(stream, 0).expect("room");
    assert!(waits(&mut pair) > LULL);
    assert_eq!(pair.stored(), None);
}

#[test]
fn one_with_half_of_a_first_credit_waits_only_while_more_comes() {
    let (mut pair, stream) = pair();
    for number in 0..9 {
        pair.deliver_stored(stream, number, &record(1000)).expect("room");
    }
    let left = waits(&mut pair);
    assert!(left <= LULL);
    assert_eq!(pair.stored(), None);
    thread::sleep(left);
    pair.write();
    assert_eq!(pair.stored(), Some(9));
}
