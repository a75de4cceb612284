//! The search for the size of a path, and the suspicion that it has become smaller (F11).

#![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test")]

use super::{BASE_DATAGRAM, Mtu};
use crate::time::{Duration, Instant};

fn at(ms: u64) -> Instant {
    Instant::from_micros(ms * 1000)
}

/// Searches a path that carries `carries` bytes; returns what was found, and the probes that left.
fn search(mtu: &mut Mtu, carries: u16, mut datagram: u16, mut now: Instant) -> (u16, u32) {
    let mut probes = 0;
    while let Some(size) = mtu.probe(datagram, now) {
        assert!(size > datagram && probes < 100, "{size} after {probes} probes");
        mtu.left(size, datagram);
        assert_eq!(mtu.probe(datagram, now), None, "one at a time");
        probes += 1;
        now = now + Duration::from_millis(1);
        if size > carries {
            mtu.probe_lost(size, datagram, now);
        } else if mtu.probe_arrived(size, datagram, now) {
            datagram = size;
        }
    }
    (datagram, probes)
}

#[test]
fn the_search_finds_what_a_path_carries() {
    for cap in [1200, 1252, 1452, 1472, 8972, 65_507] {
        for carries in [1200, 1210, 1252, 1280, 1452, 1472, 4000, 8972] {
            let mut mtu = Mtu::new(cap);
            let (found, probes) = search(&mut mtu, carries, BASE_DATAGRAM, at(0));
            let most = carries.min(cap);
            assert!(found <= most && found + 16 > most, "{found} of {most}");
            assert!(probes <= 3 * 14, "{probes} probes for {most} of {cap}");
            // It is over, and begins again ten minutes later.
            assert_eq!(mtu.probe(found, at(500_000)), None, "{most} of {cap}");
            assert_eq!(mtu.probe(found, at(700_000)).is_some(), found < cap, "{most} of {cap}");
        }
    }
}

#[test]
fn ethernet_is_found_at_once() {
    assert_eq!(search(&mut Mtu::new(1472), 1472, BASE_DATAGRAM, at(0)), (1472, 1));
    assert_eq!(search(&mut Mtu::new(1452), 1452, BASE_DATAGRAM, at(0)), (1452, 1));
}

#[test]
fn a_path_that_grew_is_found_again() {
    let mut mtu = Mtu::new(1472);
    let (found, _) = search(&mut mtu, 1300, BASE_DATAGRAM, at(0));
    assert!(found < 1301);
    assert_eq!(search(&mut mtu, 1472, found, at(700_000)).0, 1472);
}

#[test]
fn what_the_system_refuses_is_not_tried_three_times() {
    let mut mtu = Mtu::new(8972);
    let size = mtu.probe(BASE_DATAGRAM, at(0)).expect("a probe");
    assert!(!mtu.probe_refused(BASE_DATAGRAM, at(0)), "nothing has left");
    mtu.left(size, BASE_DATAGRAM);
    assert!(mtu.probe_refused(BASE_DATAGRAM, at(0)));
    mtu.probe_lost(size, BASE_DATAGRAM, at(1));
    assert!(mtu.probe(BASE_DATAGRAM, at(1)).is_some_and(|next| next < size));
}

#[test]
fn ordinary_loss_raises_no_suspicion() {
    // Every third datagram is lost; sizes are full, middling and small in turn, and ACKs come in any order.
    let mut mtu = Mtu::new(1472);
    for i in 0..10_000u64 {
        let size = [1472, 1472, 1300, 1472, 90][(i % 5) as usize];
        if i % 3 == 0 {
            mtu.lost(size, at(i));
        } else {
            assert!(!mtu.acknowledged(size, at(i)), "after {i}");
        }
    }
}

#[test]
fn a_burst_of_losses_before_a_small_last_packet_is_no_black_hole() {
    let mut mtu = Mtu::new(1472);
    for i in 5..10 {
        assert!(!mtu.acknowledged(1472, at(i)));
    }
    for i in 0..5 {
        mtu.lost(1472, at(i));
    }
    assert!(!mtu.acknowledged(90, at(20)), "as large ones, sent later, had arrived");
}

#[test]
fn only_smaller_ones_that_left_later_prove_a_black_hole() {
    let mut mtu = Mtu::new(1472);
    assert!(!mtu.acknowledged(1472, at(1)));
    for i in 10..14 {
        mtu.lost(1300 + i as u16, at(i));
    }
    assert!(!mtu.acknowledged(1200, at(12)), "it left before the last loss");
    assert!(!mtu.acknowledged(1200, at(20)), "it is suspected now");
    assert!(!mtu.acknowledged(1200, at(21)), "and nothing new has been lost");
    mtu.lost(1310, at(30));
    assert!(mtu.acknowledged(1200, at(31)));
    mtu.fell_back(false, at(20));
    assert_eq!(mtu.probe(BASE_DATAGRAM, at(20)), None);
    assert!(mtu.probe(BASE_DATAGRAM, at(80_021)).is_some(), "it grows back");
}

#[test]
fn one_that_is_as_large_and_arrives_clears_the_suspicion() {
    let mut mtu = Mtu::new(1472);
    for i in 10..20 {
        mtu.lost(1400, at(i));
    }
    assert!(!mtu.acknowledged(1200, at(20)) && mtu.suspected());
    assert!(!mtu.acknowledged(1400, at(21)) && !mtu.suspected());
    mtu.lost(1400, at(30));
    assert!(!mtu.acknowledged(1200, at(31)));
}

#[test]
fn what_every_path_carries_is_never_suspected() {
    let mut mtu = Mtu::new(1472);
    (0..100).for_each(|i| mtu.lost(BASE_DATAGRAM, at(i)));
    assert!(!mtu.acknowledged(100, at(200)));
}
