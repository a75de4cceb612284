//! A peer that has nothing to say costs nothing: no packet, no deadline, however long it lasts.

use crate::support::{Crowd, small_config};
use tallylink_core::Config;

const SECOND: u64 = 1_000_000;
const DAY: u64 = 24 * 3600 * SECOND;
const DEVICES: usize = 2_000;
const LINKS: usize = 64;

/// Far more peers with live sessions than links.
fn crowd_at_rest() -> Crowd {
    let config = Config { replies_per_second: 10_000, ..small_config() };
    let mut crowd = Crowd::new(&config, DEVICES, LINKS, 5_000);
    crowd.run(20 * SECOND);
    assert_eq!(crowd.waits(), 0, "every device has stored its first record");
    crowd
}

#[test]
fn two_thousand_idle_peers_send_nothing_and_wait_for_nothing_in_a_day() {
    let mut crowd = crowd_at_rest();
    assert!(!crowd.has_deadline(), "nobody waits for anything");
    let sent = crowd.sent();
    crowd.run(crowd.now + DAY);
    assert_eq!(crowd.sent(), sent);
    assert!(!crowd.has_deadline());
    assert!(crowd.devices.iter().all(|device| device.endpoint.totals().sessions == 1));
}

#[test]
fn after_an_idle_day_their_sessions_go_on() {
    let mut crowd = crowd_at_rest();
    crowd.run(crowd.now + DAY);
    let hellos = crowd.hellos();
    crowd.push_all();
    crowd.run(crowd.now + 20 * SECOND);
    assert_eq!(crowd.waits(), 0, "every record is stored");
    assert_eq!(crowd.hellos(), hellos, "nobody had to ask for a session");
    assert!(!crowd.has_deadline(), "all are at rest again");
}
