//! The size of datagrams: it grows to what the path carries, and shrinks with it (wire-format §8.7).

use crate::support::{Numbers, Pair, record, small_config};
use std::cell::Cell;
use std::rc::Rc;
use tallylink_core::{Config, OutIx};

/// A pair whose path carries as much as the cell says, of which `loss` of a hundred are lost besides; and its stream.
fn pair(loss: u64) -> (Pair, Rc<Cell<usize>>, OutIx) {
    let config = Config { max_datagram: 1472, initial_datagram: 1200, ..small_config() };
    let mut pair = Pair::new(config, 1 << 18);
    pair.delay_us = 20_000;
    let carries = Rc::new(Cell::new(1472));
    let (limit, mut numbers) = (Rc::clone(&carries), Numbers(5));
    pair.lose = Box::new(move |_, bytes| bytes.len() > limit.get() || numbers.below(100) < loss);
    let stream = pair.open(0, "s", 1 << 18);
    (pair, carries, stream)
}

/// Pushes as much as there is room for, for so long; returns how many records were stored meanwhile.
fn flow(pair: &mut Pair, stream: OutIx, for_us: u64) -> u64 {
    let (before, until) = (pair.device.outbound(0).stored_below(), pair.now + for_us);
    while pair.now < until {
        while pair.push(stream, &record(1, 400)).is_ok() {}
        pair.run(pair.now + 5_000);
    }
    pair.device.outbound(0).stored_below() - before
}

/// The largest packet that the device sends in the next second.
fn largest(pair: &mut Pair, stream: OutIx) -> usize {
    pair.capture = Some(vec![]);
    flow(pair, stream, 1_000_000);
    let sent = pair.capture.take().unwrap();
    sent.iter().filter(|(up, _)| *up).map(|(_, bytes)| bytes.len()).max().unwrap()
}

#[test]
fn datagrams_grow_to_what_both_ends_and_the_path_carry() {
    let (mut pair, _, stream) = pair(0);
    flow(&mut pair, stream, 1_000_000);
    assert_eq!(largest(&mut pair, stream), 1472);
    assert_eq!(pair.device.endpoint.totals().packets_lost, 0);
}

#[test]
fn a_probe_that_is_lost_is_no_sign_of_congestion() {
    let (mut pair, carries, stream) = pair(0);
    carries.set(1300);
    flow(&mut pair, stream, 3_000_000);
    let size = largest(&mut pair, stream);
    assert!((1284..=1300).contains(&size), "{size}");
    let totals = pair.device.endpoint.totals();
    assert_eq!(totals.chunks_repeated, 0, "{totals:?}");
    assert_eq!(totals.paths_shrunk, 0);
}

/// F11.
#[test]
fn records_flow_again_soon_after_a_path_shrank_and_grow_back() {
    let (mut pair, carries, stream) = pair(0);
    flow(&mut pair, stream, 2_000_000);
    carries.set(1252);
    let stored = flow(&mut pair, stream, 2_000_000);
    assert!(stored > 100, "{stored} records in the two seconds after it shrank");
    assert_eq!(pair.device.endpoint.totals().paths_shrunk, 1);
    assert_eq!(largest(&mut pair, stream), 1200);
    carries.set(1472);
    flow(&mut pair, stream, 65_000_000);
    assert_eq!(largest(&mut pair, stream), 1472);
}

/// F11: five of a hundred are lost, for a minute.
#[test]
fn ordinary_loss_is_not_taken_for_a_smaller_path() {
    let (mut pair, _, stream) = pair(5);
    flow(&mut pair, stream, 60_000_000);
    assert_eq!(pair.device.endpoint.totals().paths_shrunk, 0);
    assert_eq!(largest(&mut pair, stream), 1472);
}

#[test]
fn a_first_size_that_does_not_pass_is_given_up() {
    let config = Config { max_datagram: 1472, initial_datagram: 1472, ..small_config() };
    let mut pair = Pair::new(config, 1 << 18);
    pair.lose = Box::new(|_, bytes| bytes.len() > 1300);
    let stream = pair.open(0, "s", 1 << 18);
    for i in 0..100 {
        pair.push(stream, &record(i, 1000)).unwrap();
    }
    pair.run_until_stored(100, 10_000_000);
}
