//! Thousands of peers on one gateway, in virtual time: a link is lent for as long as something is outstanding, and who finds
//! none is told.

use crate::support::{Crowd, small_config};
use tallylink_core::{Config, Discard, Instant};

const SECOND: u64 = 1_000_000;

/// The 99th percentile from push to STORED when `devices` push a record a second each for some seconds, and the disk takes
/// `commit_us` for a group.
fn p99_us(devices: usize, links: usize, commit_us: u64) -> u64 {
    let took_us = took_us(devices, links, commit_us, 0);
    took_us[took_us.len() * 99 / 100]
}

/// From push to STORED, ascending; the gateway stands still for `stalls_us` of each second.
fn took_us(devices: usize, links: usize, commit_us: u64, stalls_us: u64) -> Vec<u64> {
    let config = Config { replies_per_second: 10_000, ..small_config() };
    let mut crowd = Crowd::new(&config, devices, links, commit_us);
    // All of them have a session, and the storm of the beginning is over.
    crowd.run(20 * SECOND);
    assert_eq!(crowd.waits(), 0, "every device has stored its first record");
    crowd.took_us.clear();
    crowd.stalls_us = stalls_us;
    let (refused, hellos) = (crowd.gateway.discarded(Discard::NoLink), crowd.hellos());
    crowd.push_for(4 * SECOND);
    crowd.run(crowd.now + 20 * SECOND);
    assert_eq!(crowd.took_us.len(), 4 * devices, "everything is stored, and in time for the next");
    assert_eq!(crowd.gateway.discarded(Discard::NoLink), refused);
    // Whoever hears nothing for long asks for a session as well.
    assert!(crowd.hellos() == hellos || stalls_us > 0);
    crowd.took_us.sort_unstable();
    crowd.took_us
}

#[test]
fn five_thousand_slow_devices_wait_no_longer_than_one() {
    let alone = p99_us(1, 256, 10_000);
    let crowded = p99_us(5_000, 256, 10_000);
    assert!(crowded <= alone + 1_000, "one waits {alone} us, one of 5,000 {crowded} us");
}

/// Three hundred wait for the disk at a time, with a link for every fourth of them.
#[test]
fn who_waits_for_the_disk_only_needs_no_link() {
    let alone = p99_us(1, 64, 300_000);
    let crowded = p99_us(1_000, 64, 300_000);
    assert!(crowded <= alone + 1_000, "one waits {alone} us, one of 1,000 {crowded} us");
}

/// At a thousand records a second and 200 ms from STORED to its ACK, two hundred would have to wait with a link.
#[test]
fn who_waits_to_hear_that_a_confirmation_arrived_needs_no_link() {
    let config = Config { replies_per_second: 10_000, ..small_config() };
    let mut crowd = Crowd::new(&config, 1_000, 32, 5_000);
    crowd.run(20 * SECOND);
    crowd.took_us.clear();
    crowd.delay_us = 100_000;
    let refused = crowd.gateway.discarded(Discard::NoLink);
    crowd.push_for(4 * SECOND);
    crowd.run(crowd.now + 20 * SECOND);
    assert_eq!(crowd.took_us.len(), 4_000);
    assert_eq!(crowd.gateway.discarded(Discard::NoLink), refused, "everybody found a link");
    let slowest = crowd.took_us.iter().max();
    assert!(slowest <= Some(&210_000), "one waited {slowest:?} us");
}

/// What arrives from a thousand peers while the gateway had no processor finds a link, one after the other.
#[test]
fn a_gateway_that_stood_still_refuses_nobody_afterwards() {
    let took_us = took_us(5_000, 512, 5_000, 200_000);
    let slowest = took_us[took_us.len() - 1];
    assert!(slowest <= 210_000, "one waited {slowest} us");
}

/// It answers two seconds late, after devices have begun to doubt that it knows them: it would be later still if all of them had
/// to begin anew.
#[test]
fn sessions_with_a_gateway_that_is_late_go_on() {
    let config = Config { replies_per_second: 10_000, ..small_config() };
    let mut crowd = Crowd::new(&config, 200, 32, 5_000);
    crowd.run(20 * SECOND);
    crowd.delay_us = SECOND;
    let hellos = crowd.hellos();
    crowd.push_all();
    crowd.run(crowd.now + 20 * SECOND);
    assert_eq!(crowd.waits(), 0);
    assert!(crowd.hellos() > hellos, "devices doubt");
    assert!(crowd.devices.iter().all(|d| d.endpoint.totals().sessions == 1), "and stay");
}

/// A link for every sixtieth, and nobody is refused: none is needed for longer than it takes to answer.
#[test]
fn a_storm_is_served_by_few_links() {
    let config = Config { replies_per_second: 10_000, ..small_config() };
    let mut crowd = Crowd::new(&config, 1_000, 16, 20_000);
    crowd.run(12 * SECOND);
    assert_eq!((crowd.waits(), crowd.gateway.discarded(Discard::NoLink)), (0, 0));
    assert!(crowd.devices.iter().all(|d| d.endpoint.totals().sessions == 1));
}

/// Whoever is refused for want of room holds a link. A storm that finds none then is told BUSY, keeps its sessions, and is served
/// within seconds of when there is room.
#[test]
fn a_storm_without_links_is_answered_and_served() {
    let config = Config { replies_per_second: 10_000, ..small_config() };
    let mut crowd = Crowd::new(&config, 1_000, 16, 20_000);
    crowd.gateway.inbox.room = Some(0);
    crowd.run(3 * SECOND);
    assert!(crowd.gateway.discarded(Discard::NoLink) > 500);
    crowd.gateway.inbox.room = None;
    let now = Instant::from_micros(crowd.now);
    crowd.gateway.endpoint.room(now, &mut crowd.gateway.inbox);
    crowd.run(15 * SECOND);
    assert_eq!(crowd.waits(), 0);
    assert!(crowd.devices.iter().all(|d| d.endpoint.totals().sessions == 1));
    println!("{} HELLOs, {} found no link", crowd.hellos(), crowd.gateway.discarded(Discard::NoLink));
}
