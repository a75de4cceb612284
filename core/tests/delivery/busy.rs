//! A receiver whose application has no room: the sender keeps its session, asks seldom, and goes on at once.

use crate::support::{Pair, small_config};
use tallylink_core::{Config, Instant};

fn stalled() -> Pair {
    stalled_with(Config { in_flight: 64, held: 16, max_peers: 2, ack_window: 256, ..Config::default() })
}

fn stalled_with(config: Config) -> Pair {
    let mut pair = Pair::new(config, 1 << 16);
    pair.gateway.inbox.room = Some(0);
    let stream = pair.open(0, "temperature", 1 << 16);
    for _ in 0..50 {
        pair.push(stream, &[0x55; 100]).unwrap();
    }
    pair.run(60_000_000);
    pair
}

#[test]
fn a_stalled_receiver_keeps_its_session_and_is_asked_seldom() {
    let pair = stalled();
    let totals = pair.device.endpoint.totals();
    assert_eq!(totals.sessions, 1);
    assert!(totals.packets_sent < 60, "{} packets in a minute", totals.packets_sent);
}

#[test]
fn what_a_stalled_receiver_refused_arrives_one_round_trip_after_it_has_room() {
    let mut pair = stalled();
    pair.gateway.inbox.room = None;
    let now = Instant::from_micros(pair.now);
    pair.gateway.endpoint.room(now, &mut pair.gateway.inbox);
    pair.run(pair.now + 40_000);
    assert_eq!(pair.gateway.inbox.streams[0].records().len(), 50);
}

#[test]
fn room_is_found_although_the_news_of_it_is_lost() {
    let mut pair = stalled();
    pair.gateway.inbox.room = None;
    pair.run(pair.now + 12_000_000);
    assert_eq!(pair.device.endpoint.storage().outbound[0].stored_below(), 50);
}

/// The path has become far longer meanwhile, all that is said at first is lost, and the table is so small that it forgets a
/// packet before its ACK can come.
#[test]
fn room_is_found_on_a_path_that_is_longer_than_the_table_remembers() {
    let mut pair = stalled_with(Config { in_flight: 8, held: 2, ..small_config() });
    pair.gateway.inbox.room = None;
    pair.delay_us = 27_000_000;
    pair.lose = Box::new(|up, _| !up);
    let now = Instant::from_micros(pair.now);
    pair.gateway.endpoint.room(now, &mut pair.gateway.inbox);
    pair.run(pair.now + 200_000_000);
    pair.cut(false);
    pair.run(pair.now + 3_600_000_000);
    assert_eq!(pair.device.endpoint.storage().outbound[0].stored_below(), 50);
}
