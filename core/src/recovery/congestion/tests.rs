//! What all laws of congestion control share.

#![expect(clippy::arithmetic_side_effects, reason = "a test may panic")]

use super::{Acked, Controller};
use crate::config::Congestion;
use crate::time::{Duration, Instant};

const SIZE: u64 = 1200;

fn at(ms: u64) -> Instant {
    Instant::from_micros(ms * 1000)
}

fn acked(now: Instant, bytes: u64) -> Acked {
    Acked { now, bytes, largest: 0, next: 1, sample: None, rtt: Duration::from_millis(100) }
}

fn laws() -> impl Iterator<Item = Congestion> {
    #[cfg(feature = "cubic")]
    let cubic = [Congestion::Cubic];
    #[cfg(not(feature = "cubic"))]
    let cubic = [];
    [Congestion::NewReno].into_iter().chain(cubic)
}

/// A controller in congestion avoidance, with the window in use.
fn avoiding(law: Congestion) -> Controller {
    let mut cc = Controller::new(law, SIZE as u16);
    cc.held_back(true, at(0));
    while cc.window() < 100 * SIZE {
        cc.acknowledged(&acked(at(0), SIZE), cc.window());
    }
    cc.lost(at(1), at(2));
    assert!(!cc.in_slow_start());
    cc
}

#[test]
fn slow_start_doubles_the_window_each_round_trip() {
    for law in laws() {
        let mut cc = Controller::new(law, SIZE as u16);
        let first = cc.window();
        cc.held_back(true, at(0));
        cc.acknowledged(&acked(at(0), first), first);
        assert_eq!(cc.window(), 2 * first, "{law:?}");
    }
}

/// RFC 9002 §7.8.
#[test]
fn a_window_that_is_not_in_use_does_not_grow() {
    for law in laws() {
        let mut cc = avoiding(law);
        cc.held_back(false, at(10));
        let before = cc.window();
        for ms in 10..10_000 {
            cc.acknowledged(&acked(at(ms), SIZE), 3 * SIZE);
        }
        assert_eq!(cc.window(), before, "{law:?}");

        let mut fresh = Controller::new(law, SIZE as u16);
        let before = fresh.window();
        fresh.acknowledged(&acked(at(1), SIZE), before / 3);
        assert_eq!(fresh.window(), before, "{law:?}");
    }
}

#[test]
fn losses_of_one_round_trip_cut_once() {
    for law in laws() {
        let mut cc = avoiding(law);
        let before = cc.window();
        let cuts = (10..20).filter(|sent| cc.lost(at(*sent), at(20))).count();
        assert_eq!(cuts, 1, "{law:?}");
        let cut = cc.window();
        assert!(cut < before && cut >= before / 2, "{law:?}: {before} to {cut}");
        cc.lost(at(21), at(40));
        assert!(cc.window() < cut, "{law:?}");
    }
}

/// RFC 9438 §4.9.2; the same rule serves NewReno.
#[test]
fn a_cut_is_undone_when_every_loss_was_none() {
    for law in laws() {
        let mut cc = avoiding(law);
        (3..200).for_each(|ms| cc.acknowledged(&acked(at(ms), SIZE), cc.window()));
        let twin = cc;
        assert_eq!((210..213).filter(|sent| cc.lost(at(*sent), at(220))).count(), 1);
        cc.not_lost(at(210));
        cc.not_lost(at(211));
        assert!(cc.window() < twin.window(), "{law:?}: one loss still stands");
        cc.not_lost(at(212));
        assert_eq!(cc.window(), twin.window(), "{law:?}");
        // It grows on as if nothing had happened.
        let mut twin = twin;
        for ms in 221..5_000 {
            cc.acknowledged(&acked(at(ms), SIZE), cc.window());
            twin.acknowledged(&acked(at(ms), SIZE), twin.window());
        }
        assert_eq!(cc.window(), twin.window(), "{law:?}");
    }
}

/// What was sent before the cut before the last says nothing of the last.
#[test]
fn a_late_packet_of_an_earlier_cut_undoes_no_later_one() {
    for law in laws() {
        let mut cc = avoiding(law);
        cc.lost(at(10), at(20));
        cc.lost(at(30), at(40));
        let cut = cc.window();
        cc.lost(at(11), at(41));
        cc.not_lost(at(10));
        cc.not_lost(at(11));
        assert_eq!(cc.window(), cut, "{law:?}: its own loss stands");
        cc.not_lost(at(30));
        assert!(cc.window() > cut, "{law:?}");
        // And packets from before the earlier cut still cut nothing.
        assert!(!cc.lost(at(12), at(50)), "{law:?}");
    }
}

#[test]
fn a_cut_for_a_mark_is_not_undone() {
    for law in laws() {
        let mut cc = avoiding(law);
        let before = cc.window();
        cc.marked(at(10), at(20));
        cc.lost(at(11), at(21));
        cc.not_lost(at(11));
        cc.not_lost(at(10));
        assert!(cc.window() < before, "{law:?}");
    }
}

#[test]
fn persistent_congestion_leaves_two_datagrams() {
    for law in laws() {
        let mut cc = avoiding(law);
        cc.persistent_congestion();
        assert_eq!(cc.window(), 2 * SIZE, "{law:?}");
        assert!(cc.in_slow_start(), "{law:?}: it doubles up to where the last cut left it");
    }
}

#[test]
fn a_window_holds_two_datagrams_whatever_their_size() {
    for law in laws() {
        let mut cc = avoiding(law);
        cc.persistent_congestion();
        cc.set_datagram(9000);
        assert_eq!(cc.window(), 18_000, "{law:?}");
    }
}

#[test]
fn no_input_makes_a_window_vanish_or_overflow() {
    for law in laws() {
        for datagram in [1200, 9000, u16::MAX] {
            let mut cc = Controller::new(law, datagram);
            for i in 0..2000u64 {
                let now = Instant::from_micros(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 64));
                let rtt = Duration::from_micros(i.wrapping_mul(0xd134_2543_de82_ef95) >> (i % 64));
                let bytes = u64::MAX >> (i % 64);
                cc.held_back(i % 3 > 0, now);
                cc.acknowledged(&Acked { now, bytes, largest: i, next: i + 1, sample: Some(rtt), rtt }, bytes);
                match i % 97 {
                    0 => assert!(cc.lost(now, now) || !cc.counts(now)),
                    1 => cc.not_lost(now),
                    2 if i % 5 == 0 => cc.persistent_congestion(),
                    _ => {}
                }
                assert!(cc.window() >= 2 * u64::from(datagram) && cc.window() <= super::WINDOW_MAX, "{law:?}");
            }
        }
    }
}
