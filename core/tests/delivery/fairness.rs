//! F36: no stream and no peer starves another.

use crate::support::{Fleet, Pair, at, record, small_config};
use tallylink_core::{Config, OutIx, Priority};

const RING: u32 = 1 << 17;

/// One stream with a large backlog, and others with a record now and then: each of theirs arrives within two round trips.
#[test]
fn a_stream_with_a_backlog_leaves_the_others_their_turn() {
    let config = Config { first_credit: 1 << 20, in_flight: 1024, ..small_config() };
    let mut pair = Pair::with_streams(config.clone(), config, 5, RING as usize);
    pair.delay_us = 5_000;
    for s in 0..5 {
        pair.open(s, &format!("stream {s}"), RING);
    }
    let mut pushed = 0;
    while pair.push(OutIx(0), &record(pushed, 1000)).is_ok() {
        pushed += 1;
    }
    pair.run(40_000);
    for i in 0..20u64 {
        for s in 1..5 {
            pair.push(OutIx(s), &record(i as usize, 100)).unwrap();
        }
        while pair.push(OutIx(0), &record(pushed, 1000)).is_ok() {
            pushed += 1;
        }
        pair.run(pair.now + 20_000);
        for s in 1..5 {
            let stored = pair.device.outbound(s).stored_below();
            assert!(stored + 1 > i, "stream {s} has {stored} of {i} after two round trips");
        }
    }
    assert!(pair.device.outbound(0).stored_below() > 0);
}

/// Streams that all have a backlog share the path evenly.
#[test]
fn streams_with_backlogs_share_evenly() {
    let config = Config { first_credit: 1 << 20, in_flight: 1024, ..small_config() };
    let mut pair = Pair::with_streams(config.clone(), config, 5, RING as usize);
    pair.delay_us = 5_000;
    for s in 0..5 {
        let stream = pair.open(s, &format!("stream {s}"), RING);
        // Records of different sizes: turns are packets, not records.
        let size = [20, 300, 1000, 1000, 5000][s as usize];
        while pair.push(stream, &record(0, size)).is_ok() {}
    }
    pair.run(120_000);
    let bytes: Vec<usize> = pair.gateway.inbox.streams.iter().map(|s| s.bytes.len()).collect();
    let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
    assert!(bytes.len() == 5 && most - least <= 8 * 1200 && *least > 5_000, "{bytes:?}");
}

/// A gateway with much to send to one device serves the others in between.
#[test]
fn a_peer_with_a_backlog_leaves_the_others_their_turn() {
    let config = Config { in_flight: 1024, first_credit: 1 << 20, ..small_config() };
    let mut fleet = Fleet::new(&config, 4, 4, 1 << 12);
    for d in 0..4 {
        fleet.push(d, b"hello").unwrap();
    }
    fleet.run(200_000);
    fleet.give_gateway_streams(1 << 20);
    for i in 0..900 {
        fleet.gateway.endpoint.push(at(fleet.now), OutIx(0), &record(i, 1000)).unwrap();
    }
    for d in 1..4 {
        fleet.gateway.endpoint.push(at(fleet.now), OutIx(d), &record(d as usize, 100)).unwrap();
    }
    // The very first packets: a turn of the first, then the others.
    let order: Vec<_> = fleet.gateway.transmit(fleet.now).into_iter().map(|(to, _)| to).collect();
    for device in &fleet.devices[1..] {
        let place = order.iter().position(|to| *to == device.address).expect("it gets its packet");
        assert!(place <= usize::from(config.turn) + 3, "at place {place}");
    }
}

/// A record larger than the window, beside a stream that always has a little under way.
#[test]
fn a_large_record_is_not_passed_by_for_ever() {
    let mut pair = Pair::with_streams(small_config(), small_config(), 2, RING as usize);
    pair.delay_us = 10_000;
    let (trickle, large) = (pair.open(0, "trickle", RING), pair.open(1, "large", RING));
    let mut pushed = 0;
    let mut tick = |pair: &mut Pair| {
        pair.push(trickle, &record(pushed, 50)).unwrap();
        pushed += 1;
        pair.run(pair.now + 5_000);
    };
    (0..50).for_each(|_| tick(&mut pair));
    pair.push(large, &record(0, 60_000)).unwrap();
    (0..400).for_each(|_| tick(&mut pair));
    assert_eq!(pair.device.outbound(1).stored_below(), 1, "after two seconds");
}

/// The window is as large as it gets and always full of small records; a large one waits only until it fits.
#[test]
fn a_large_record_finds_credit_beside_a_backlog_of_small_ones() {
    let gateway = Config { max_record: 15_000, first_credit: 16_384, max_credit: 16_384, ..small_config() };
    let mut pair = Pair::of(gateway.clone(), gateway, RING as usize);
    pair.delay_us = 10_000;
    let (small, large) = (pair.open(0, "small", RING), pair.open(1, "large", RING));
    let fill = |pair: &mut Pair| while pair.push(small, &[0x55; 50]).is_ok() {};
    fill(&mut pair);
    pair.run(500_000);
    pair.push(large, &record(0, 15_000)).unwrap();
    for _ in 0..100 {
        fill(&mut pair);
        pair.run(pair.now + 20_000);
    }
    assert_eq!(pair.device.outbound(1).stored_below(), 1, "after two seconds");
    assert!(pair.device.outbound(0).stored_below() > 1_000);
}

/// Streams behind one that may not send take turns as well.
#[test]
fn streams_behind_a_refused_one_share_evenly() {
    let config = Config { first_credit: 1 << 20, in_flight: 1024, ..small_config() };
    let mut pair = Pair::with_streams(config.clone(), config, 4, RING as usize);
    pair.delay_us = 5_000;
    pair.gateway.inbox.refuse = Some(tallylink_core::Refusal::Name);
    let refused = pair.open(0, "refused", RING);
    pair.push(refused, &record(0, 100)).unwrap();
    pair.run(200_000);
    pair.gateway.inbox.refuse = None;
    for s in 1..4 {
        let stream = pair.open(s, &format!("stream {s}"), RING);
        while pair.push(stream, &record(0, 1000)).is_ok() {}
    }
    pair.run(pair.now + 35_000);
    let bytes: Vec<usize> = pair.gateway.inbox.streams.iter().map(|s| s.bytes.len()).collect();
    let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
    assert!(bytes.iter().sum::<usize>() < 300_000, "there is still a backlog");
    assert!(bytes.len() == 3 && most - least <= 8 * 1200, "{bytes:?}");
}

/// A slow path, a backlog in each of twenty streams, and a live one with a record now and then: it leaves before all of them.
#[test]
fn live_records_go_before_every_backlog() {
    let config = Config { first_credit: 1 << 16, max_credit: 2 << 20, max_rate: Some(500_000), ..small_config() };
    let mut slowest_us = [0, 0];
    for (case, priority) in [Priority::Live, Priority::Backlog].into_iter().enumerate() {
        let mut pair = Pair::with_streams(config.clone(), config.clone(), 21, RING as usize);
        pair.delay_us = 5_000;
        let live = pair.open(20, "live", RING);
        let fill = |pair: &mut Pair| {
            for s in 0..20 {
                while pair.push(OutIx(s), &record(0, 1000)).is_ok() {}
            }
        };
        for s in 0..20 {
            let backlog = pair.open(s, &format!("backlog {s}"), RING);
            pair.device.endpoint.set_priority(at(0), backlog, priority).unwrap();
        }
        fill(&mut pair);
        pair.run(300_000);
        for i in 1..=50u64 {
            let pushed = pair.now;
            pair.push(live, &record(i as usize, 100)).unwrap();
            let arrived = |p: &Pair| p.gateway.inbox.streams.iter().any(|s| s.name == "live" && s.next.number >= i);
            assert!(pair.run_while(pushed + 1_000_000, |p| !arrived(p)));
            slowest_us[case] = slowest_us[case].max(pair.now - pushed);
            fill(&mut pair);
            pair.run(pair.now + 7_000);
        }
        assert!(pair.device.outbound(0).stored_below() > 20, "the backlog is drained meanwhile");
    }
    println!("the slowest live record took {slowest_us:?} us, in turn and first");
    assert!(slowest_us[1] < 5_000 + 3_000 && slowest_us[1] < slowest_us[0]);
}

/// Live records without end: a backlog gets its sixteenth, and more as soon as there is more.
#[test]
fn a_backlog_is_not_starved_for_ever() {
    let config = Config { first_credit: 1 << 20, in_flight: 1024, max_rate: Some(1_000_000), ..small_config() };
    let mut pair = Pair::with_streams(config.clone(), config, 3, RING as usize);
    pair.delay_us = 1_000;
    let [live, other, backlog] = [0, 1, 2].map(|s| pair.open(s, &format!("stream {s}"), RING));
    pair.device.endpoint.set_priority(at(0), backlog, Priority::Backlog).unwrap();
    let run = |pair: &mut Pair| {
        for _ in 0..300 {
            for stream in [live, other, backlog] {
                while pair.push(stream, &record(0, 1000)).is_ok() {}
            }
            pair.run(pair.now + 10_000);
        }
    };
    run(&mut pair);
    let stored = [0, 1, 2].map(|s| pair.device.outbound(s).stored_below());
    let all: u64 = stored.iter().sum();
    println!("stored {stored:?}");
    assert!((all / 18..all / 14).contains(&stored[2]), "{stored:?}");
    assert!(stored[0].abs_diff(stored[1]) <= all / 50, "{stored:?}");
    // It is called live now.
    pair.device.endpoint.set_priority(at(pair.now), backlog, Priority::Live).unwrap();
    run(&mut pair);
    let more = [0, 1, 2].map(|s: usize| pair.device.outbound(s as u32).stored_below() - stored[s]);
    assert!(more[2].abs_diff(more[0]) <= more[0] / 10, "{more:?}");
}
