//! Streams: many at once, refused ones, gaps, and limits that change.

use crate::support::{Pair, at, record, small_config};
use tallylink_core::{Config, Epoch, EpochSource, Event, OutIx, Refusal};

const RING: u32 = 1 << 14;

#[test]
fn thirty_streams_each_arrive_whole_and_in_order() {
    let mut pair = Pair::with_streams(small_config(), small_config(), 30, RING as usize);
    for s in 0..30 {
        pair.open(s, &format!("stream {s}"), RING);
    }
    for i in 0..20usize {
        for s in 0..30usize {
            pair.push(OutIx(s as u32), &record(i * 100 + s, (i * 37 + s * 11) % 500)).unwrap();
        }
        pair.run(pair.now + 700);
    }
    pair.run(pair.now + 10_000_000);
    for s in 0..30usize {
        assert_eq!(pair.device.outbound(s as u32).stored_below(), 20, "stream {s}");
        let records = pair.gateway.inbox.stream(&format!("stream {s}")).records();
        let expected: Vec<_> = (0..20).map(|i| record(i * 100 + s, (i * 37 + s * 11) % 500)).collect();
        assert_eq!(records, expected, "stream {s}");
    }
}

/// Thirty streams over a wire that loses a fifth, with more streams than one packet's confirmations hold.
#[test]
fn thirty_streams_survive_loss() {
    let mut pair = Pair::with_streams(small_config(), small_config(), 30, RING as usize);
    let mut numbers = crate::support::Numbers(99);
    pair.lose = Box::new(move |_, _| numbers.below(5) == 0);
    for s in 0..30 {
        let stream = pair.open(s, &format!("stream {s}"), RING);
        for i in 0..20 {
            pair.push(stream, &record(i, 300)).unwrap();
        }
    }
    pair.run(120_000_000);
    for s in 0..30 {
        assert_eq!(pair.device.outbound(s).stored_below(), 20, "stream {s}");
    }
}

fn refused_pair() -> Pair {
    let mut pair = Pair::new(small_config(), RING as usize);
    pair.gateway.inbox.refuse = Some(Refusal::Storage);
    let stream = pair.open(0, "s", RING);
    for i in 0..30 {
        pair.push(stream, &record(i, 200)).unwrap();
    }
    pair
}

fn all_thirty_arrive(pair: &mut Pair) {
    pair.gateway.inbox.refuse = None;
    pair.run_until_stored(30, 20_000_000);
    let expected: Vec<_> = (0..30).map(|i| record(i, 200)).collect();
    assert_eq!(pair.gateway.inbox.stream("s").records(), expected);
}

#[test]
fn a_refused_stream_is_asked_for_again_and_nothing_is_lost() {
    for refused_for_us in [1_000_000, 7_000_000, 60_000_000] {
        let mut pair = refused_pair();
        pair.run(refused_for_us);
        assert!(pair.device.told(Event::Refused(OutIx(0), Refusal::Storage.number())));
        assert_eq!(pair.device.outbound(0).stored_below(), 0);
        assert!(pair.device.endpoint.totals().packets_sent < 30 + refused_for_us / 100_000, "it asks seldom");
        all_thirty_arrive(&mut pair);
    }
}

#[test]
fn a_refusal_that_is_lost_is_said_again() {
    let mut pair = refused_pair();
    let mut down = 0;
    pair.lose = Box::new(move |up, bytes| {
        down += u32::from(!up && bytes[0] != 0);
        !up && bytes[0] != 0 && down <= 4
    });
    pair.run(12_000_000);
    assert!(pair.device.told(Event::Refused(OutIx(0), Refusal::Storage.number())));
    all_thirty_arrive(&mut pair);
}

#[test]
fn more_refused_streams_than_a_receiver_remembers_are_all_refused() {
    let mut pair = Pair::with_streams(small_config(), small_config(), 20, RING as usize);
    pair.gateway.inbox.refuse = Some(Refusal::Name);
    for s in 0..20 {
        let stream = pair.open(s, &format!("stream {s}"), RING);
        pair.push(stream, &record(1, 100)).unwrap();
    }
    pair.run(20_000_000);
    for s in 0..20 {
        assert!(pair.device.told(Event::Refused(OutIx(s), Refusal::Name.number())), "stream {s}");
    }
    pair.gateway.inbox.refuse = None;
    pair.run(60_000_000);
    for s in 0..20 {
        assert_eq!(pair.device.outbound(s).stored_below(), 1, "stream {s}");
    }
}

#[test]
fn one_refused_stream_does_not_hold_up_the_others() {
    let mut pair = Pair::new(Config { streams: 64, ..small_config() }, RING as usize);
    pair.gateway.inbox.refuse = Some(Refusal::Name);
    let refused = pair.open(1, "refused", RING);
    pair.push(refused, &record(1, 100)).unwrap();
    pair.run(500_000);
    pair.gateway.inbox.refuse = None;
    let taken = pair.open(0, "taken", RING);
    for i in 0..30 {
        pair.push(taken, &record(i, 300)).unwrap();
    }
    pair.run_until_stored(30, 1_000_000);
}

#[test]
fn more_streams_than_the_gateway_allows_wait() {
    let gateway = Config { streams: 2, ..small_config() };
    let mut pair = Pair::of(small_config(), gateway, RING as usize);
    for s in 0..3 {
        let stream = pair.open(s, &format!("stream {s}"), RING);
        pair.push(stream, &record(1, 100)).unwrap();
    }
    pair.run(3_000_000);
    let stored = (0..3).filter(|s| pair.device.outbound(*s).stored_below() == 1).count();
    assert_eq!(stored, 2);
    assert_eq!(pair.device.events.iter().filter(|e| matches!(e, Event::Refused(_, 2))).count(), 1);
}

/// What the application gives up is a gap with its reason; what lies behind it arrives.
#[test]
fn records_that_are_given_up_are_a_gap() {
    let mut pair = Pair::new(small_config(), RING as usize);
    let stream = pair.open(0, "s", RING);
    pair.push(stream, &record(0, 50)).unwrap();
    pair.run_until_stored(1, 1_000_000);
    pair.cut(true);
    for i in 1..40 {
        pair.push(stream, &record(i, 200)).unwrap();
    }
    pair.run(pair.now + 20_000);
    pair.device.endpoint.skip(at(pair.now), stream, 25, 1);
    assert_eq!(pair.device.outbound(0).stored_below(), 25);
    pair.cut(false);
    pair.run_until_stored(40, 10_000_000);
    let s = pair.gateway.inbox.stream("s");
    assert_eq!(s.records().len() + s.gaps.iter().map(|g| (g.1 - g.0) as usize).sum::<usize>(), 40);
    assert!(s.gaps.iter().all(|g| g.1 == 25 && g.2 == 1), "{:?}", s.gaps);
    assert_eq!(s.records()[s.records().len() - 15..], (25..40).map(|i| record(i, 200)).collect::<Vec<_>>());
}

#[test]
fn giving_up_everything_tells_the_receiver_too() {
    let mut pair = Pair::new(small_config(), RING as usize);
    let stream = pair.open(0, "s", RING);
    pair.push(stream, &record(0, 50)).unwrap();
    pair.run_until_stored(1, 1_000_000);
    pair.cut(true);
    for i in 1..10 {
        pair.push(stream, &record(i, 200)).unwrap();
    }
    pair.run(pair.now + 20_000);
    pair.device.endpoint.skip(at(pair.now), stream, 10, 4);
    pair.cut(false);
    pair.run(pair.now + 10_000_000);
    let s = pair.gateway.inbox.stream("s");
    assert_eq!((s.records().len(), &s.gaps[..]), (1, &[(1, 10, 4)][..]));
    pair.push(stream, &record(10, 50)).unwrap();
    pair.run_until_stored(11, 1_000_000);
}

/// What an outbox lost before it could be pushed is a gap; before the stream is open, OPEN itself tells it.
#[test]
fn numbers_that_were_never_pushed_can_be_given_up() {
    let mut pair = Pair::new(small_config(), RING as usize);
    let stream = pair.open(0, "s", RING);
    pair.device.endpoint.skip(at(pair.now), stream, 7, 5);
    assert_eq!((pair.device.outbound(0).next(), pair.device.outbound(0).gives_up()), (7, Some(5)));
    assert_eq!(pair.push(stream, &record(7, 50)), Ok(7));
    pair.device.endpoint.skip(at(pair.now), stream, 20, 5);
    assert_eq!(
        pair.device.outbound(0).next(),
        8,
        "a record that waits in the ring is passed over, and nothing behind it"
    );
    assert_eq!(pair.push(stream, &record(8, 50)), Ok(8));
    pair.run_until_stored(9, 10_000_000);
    assert_eq!(pair.device.outbound(0).gives_up(), None);
    pair.device.endpoint.skip(at(pair.now), stream, 20, 5);
    pair.run(pair.now + 10_000_000);
    let s = pair.gateway.inbox.stream("s");
    assert_eq!((s.records(), &s.gaps[..]), (vec![record(8, 50)], &[(0, 8, 3), (9, 20, 5)][..]));
}

/// The outbox of a sender holds what an older receiver never saw: the records before are a gap.
#[test]
fn records_before_the_oldest_that_the_sender_holds_are_a_gap() {
    let mut pair = Pair::new(small_config(), RING as usize);
    let source = EpochSource::Stored { epoch: Epoch([5; 8]), previous: None };
    let stream = pair.open_as(0, "s", RING, source, 700);
    assert_eq!(pair.push(stream, &record(700, 50)), Ok(700));
    pair.run_until_stored(701, 1_000_000);
    let s = pair.gateway.inbox.stream("s");
    assert_eq!((s.records(), &s.gaps[..]), (vec![record(700, 50)], &[(0, 700, 3)][..]));
}

/// A record above a limit that the receiver has lowered can never be sent: it is a gap, and the next ones go on.
#[test]
fn a_record_above_a_lowered_limit_is_a_gap() {
    let mut pair = Pair::new(small_config(), 1 << 18);
    let stream = pair.open(0, "s", 1 << 18);
    pair.push(stream, &record(0, 50)).unwrap();
    pair.run_until_stored(1, 1_000_000);
    pair.gateway.set_config(Config { max_record: 1000, ..small_config() });
    pair.gateway.restart();
    let sizes = [900, 1000, 1001, 5000, 10, 1002, 20, 4000];
    for (i, size) in sizes.iter().enumerate() {
        pair.push(stream, &record(i + 1, *size)).unwrap();
    }
    pair.run_until_stored(9, 10_000_000);
    pair.run(pair.now + 1_000_000);
    let s = pair.gateway.inbox.stream("s");
    assert_eq!(s.gaps, [(3, 5, 2), (6, 7, 2), (8, 9, 2)]);
    let sent: Vec<_> = [(0, 50), (1, 900), (2, 1000), (5, 10), (7, 20)].iter().map(|(i, n)| record(*i, *n)).collect();
    assert_eq!(s.records(), sent);
}

/// An end with an outbox on disk begins another epoch when the one before is drained.
#[test]
fn another_epoch_is_numbered_from_zero() {
    let mut pair = Pair::new(small_config(), RING as usize);
    let first = Epoch([5; 8]);
    let stream = pair.open_as(0, "s", RING, EpochSource::Stored { epoch: first, previous: None }, 0);
    for i in 0..5 {
        pair.push(stream, &record(i, 50)).unwrap();
    }
    pair.run_until_stored(5, 1_000_000);
    let previous = tallylink_core::Previous { epoch: first, end: 5 };
    pair.device.endpoint.begin_epoch(at(pair.now), stream, Epoch([6; 8]), Some(previous)).unwrap();
    for i in 5..9 {
        assert_eq!(pair.push(stream, &record(i, 50)), Ok(i as u64 - 5));
    }
    pair.run_until_stored(4, 1_000_000);
    let s = pair.gateway.inbox.stream("s");
    assert_eq!(s.epoch, Epoch([6; 8]));
    assert_eq!(s.records(), (0..9).map(|i| record(i, 50)).collect::<Vec<_>>());
}

/// The STORED of a stream's last record is lost, and another stream of the same sender never pauses: something is always in flight.
#[test]
fn a_lost_stored_is_asked_for_while_another_stream_is_busy() {
    let mut pair = Pair::new(small_config(), RING as usize);
    pair.delay_us = 20_000;
    let (quiet, busy) = (pair.open(0, "quiet", RING), pair.open(1, "busy", RING));
    pair.gateway.storing = false;
    pair.push(quiet, &record(0, 100)).unwrap();
    pair.run(500_000);
    pair.lose = Box::new(|up, _| !up);
    pair.gateway.store(pair.now);
    pair.flush();
    pair.cut(false);
    pair.gateway.storing = true;
    let packets = pair.device.endpoint.totals().packets_sent;
    let mut pushed = 0;
    while pair.device.outbound(0).stored_below() == 0 {
        pair.push(busy, &record(pushed, 100)).unwrap();
        pushed += 1;
        pair.run(pair.now + 5_000);
        assert!(pair.now < 10_000_000, "not asked for in ten seconds");
    }
    let packets = pair.device.endpoint.totals().packets_sent - packets;
    assert!(packets < 2 * pushed as u64, "{packets} packets for {pushed} records");
}

/// A stream that is drained gives its slot back, also while it waits in a list; what is under way keeps it.
#[test]
fn a_closed_stream_is_opened_again_and_its_slot_serves_another() {
    let mut pair = Pair::new(small_config(), RING as usize);
    let source = |n| EpochSource::Stored { epoch: Epoch([n; 8]), previous: None };
    for round in 0..5u8 {
        let stream = pair.open_as(0, if round % 2 == 0 { "s" } else { "t" }, RING, source(round + 1), 0);
        let other = pair.open_as(1, "other", RING, source(round + 101), 0);
        for i in 0..30 {
            pair.push(stream, &record(i + 100 * usize::from(round), 200)).unwrap();
        }
        pair.run(pair.now + 50);
        if round > 0 {
            assert_eq!(pair.device.endpoint.close(at(pair.now), stream), Err(tallylink_core::Error::NotStored));
        }
        pair.run_until_stored(30, pair.now + 20_000_000);
        // It has something to send, and has sent none of it.
        pair.push(other, &record(1, 10)).unwrap();
        pair.device.endpoint.close(at(pair.now), other).unwrap();
        pair.device.endpoint.close(at(pair.now), stream).unwrap();
        assert_eq!(pair.device.endpoint.close(at(pair.now), stream), Err(tallylink_core::Error::Empty));
        pair.run(pair.now + 3_000_000);
    }
    for (name, rounds) in [("s", &[0, 2, 4][..]), ("t", &[1, 3])] {
        let expected: Vec<_> = rounds.iter().flat_map(|r| (0..30).map(move |i| record(i + 100 * r, 200))).collect();
        assert_eq!(pair.gateway.inbox.stream(name).records(), expected, "{name}");
    }
    assert!(pair.gateway.inbox.streams.iter().all(|s| s.name != "other"), "nothing of it was sent");
}
