//! What is learnt of reordering, and for how long it is believed.

use super::{Reordering, Rtt};
use crate::time::Duration;

#[test]
fn what_a_path_has_shown_is_forgotten_after_sixteen_recoveries() {
    let mut rtt = Rtt::new();
    rtt.sample(Duration::from_millis(40), Duration::ZERO);
    let mut reordering = Reordering::new();
    let plain = reordering.delay(&rtt);
    reordering.widen(Duration::from_millis(60), &rtt, 1024);
    assert_eq!(reordering.packets(), 512, "time alone tells");
    assert_eq!(reordering.delay(&rtt), Duration::from_millis(60));
    for _ in 0..15 {
        reordering.recovery_begins();
    }
    assert_eq!(reordering.packets(), 512);
    // Evidence renews it.
    reordering.widen(Duration::from_millis(46), &rtt, 1024);
    for _ in 0..15 {
        reordering.recovery_begins();
    }
    assert_eq!(reordering.packets(), 512);
    reordering.recovery_begins();
    assert_eq!((reordering.packets(), reordering.delay(&rtt)), (3, plain));
}

#[test]
fn no_packet_is_waited_for_longer_than_a_round_trip_or_half_the_table() {
    let mut rtt = Rtt::new();
    rtt.sample(Duration::from_millis(40), Duration::ZERO);
    let mut reordering = Reordering::new();
    reordering.widen(Duration::from_secs(3600), &rtt, 1024);
    assert_eq!(reordering.packets(), 512);
    assert_eq!(reordering.delay(&rtt), rtt.loss_delay() + rtt.smoothed());
}
