//! A sensor's firmware, run by an emulator of its board, delivers to a gateway on 127.0.0.1.

mod emulator;
mod expected;
#[path = "../../../../driver-smoltcp/firmware/src/readings.rs"]
mod readings;
mod relay;

use std::time::Duration;

use self::{
    emulator::{Device, Machine, image},
    expected::{Arrived, arrived},
    readings::Source,
    relay::Relay,
};
use crate::{
    common::Home,
    gateway::{Gateway, count, status, until},
};

const READINGS: u64 = 10_000;

/// Each stream takes every third reading.
fn share(readings: u64, at: usize) -> u64 {
    (readings + 2 - at as u64) / 3
}

fn port(gateway: &Gateway) -> u16 {
    gateway.address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port")
}

/// All of a boot's readings are there, once, in order, with the right bytes.
fn complete(arrived: &[Arrived], readings: u64) {
    for (at, source) in Source::ALL.into_iter().enumerate() {
        let last = arrived.iter().rfind(|a| a.stream == source.name()).expect("the stream");
        assert_eq!((last.records, last.missing), (share(readings, at), 0), "{last:?}");
    }
}

#[test]
fn firmware_on_three_boards_delivers_every_record_once() {
    for (machine, readings) in [(Machine::Mps2An385, READINGS), (Machine::Mps2An386, 1000), (Machine::Lm3s6965, 1000)] {
        let Some(image) = image(machine) else { return };
        let home = Home::new();
        let gateway = Gateway::on_loopback(&home);
        let device = Device::add(&home);
        let run = device.boot(&image, port(&gateway), 1, &[format!("readings={readings}")]);
        let log = run.ended();
        assert!(log.iter().any(|line| line.starts_with("waveform: pushed")), "{machine:?}: {log:?}");
        let arrived = arrived(&home);
        assert_eq!(arrived.len(), Source::ALL.len(), "one numbering each: {arrived:?}");
        complete(&arrived, readings);
    }
}

/// Each start of the board begins anew what its memory lost. What arrived of one that was cut off is its beginning, without a
/// gap, and what it was told to be STORED is there.
#[test]
fn resets_kills_and_losses_take_and_repeat_nothing_of_what_firmware_sends() {
    let Some(image) = image(Machine::Mps2An385) else { return };
    let home = Home::new();
    let mut gateway = Gateway::on_loopback(&home);
    let listen = gateway.address.clone();
    let device = Device::add(&home);
    let relay = Relay::start(port(&gateway), 10);
    let boot = |boots| device.boot(&image, relay.port(), boots, &[format!("readings={READINGS}")]);
    let delivered = || count(&status(&home), "journal", "appended_records");
    for boots in 1..=5 {
        let run = boot(boots);
        // The counters are those of one gateway process.
        until("records arrive", || delivered() >= 300);
        gateway.kill();
        gateway = Gateway::start(&home, &["--listen", &listen]);
        until("records arrive again", || delivered() >= 300);
        run.cut_off();
    }
    let log = boot(6).ended();
    assert!(relay.dropped() > 100, "{} datagrams were lost", relay.dropped());
    let arrived = arrived(&home);
    assert_eq!(arrived.len(), 6 * Source::ALL.len(), "a numbering for each boot and stream: {log:?}");
    assert!(arrived.iter().all(|a| a.missing == 0 && a.records > 0), "{arrived:?}");
    complete(&arrived, READINGS);
}

/// A gateway that is away for longer than the ring lasts.
fn away(when_full: &str) -> Option<(Vec<String>, Vec<Arrived>)> {
    let image = image(Machine::Mps2An385)?;
    let home = Home::new();
    let gateway = Gateway::on_loopback(&home);
    let listen = gateway.address.clone();
    let device = Device::add(&home);
    let arguments = ["readings=1500".to_owned(), "every-ms=4".to_owned(), format!("when-full={when_full}")];
    let run = device.boot(&image, port(&gateway), 1, &arguments);
    until("records arrive", || count(&status(&home), "journal", "appended_records") >= 50);
    gateway.kill();
    std::thread::sleep(Duration::from_secs(4));
    let _gateway = Gateway::start(&home, &["--listen", &listen]);
    let log = run.ended();
    Some((log, arrived(&home)))
}

fn told(log: &[String], what: &str) -> u64 {
    let of = |line: &String| {
        line.split([',', ':']).find_map(|part| part.trim().strip_prefix(what)?.trim().parse::<u64>().ok())
    };
    log.iter().filter_map(of).sum()
}

#[test]
fn a_full_ring_that_refuses_has_no_gap_and_drains_when_the_gateway_is_back() {
    let Some((log, arrived)) = away("refuse") else { return };
    let (pushed, refused) = (told(&log, "pushed"), told(&log, "refused"));
    assert!(refused > 0 && pushed + refused == 1500, "{log:?}");
    assert!(arrived.iter().all(|a| a.missing == 0), "{arrived:?}");
    assert_eq!(arrived.iter().map(|a| a.records).sum::<u64>(), pushed);
}

#[test]
fn a_full_ring_that_overwrites_has_gaps_of_exactly_what_was_overwritten() {
    let Some((log, arrived)) = away("overwrite") else { return };
    let (pushed, overwritten) = (told(&log, "pushed"), told(&log, "overwritten"));
    assert!(overwritten > 0 && pushed == 1500 && told(&log, "refused") == 0, "{log:?}");
    let missing = arrived.iter().map(|a| a.missing).sum::<u64>();
    let records = arrived.iter().map(|a| a.records).sum::<u64>();
    assert_eq!(missing + records, 1500, "{arrived:?}");
    // What was given up although it had arrived is not missing.
    assert!(missing > 0 && missing <= overwritten, "{missing} missing, {overwritten} overwritten");
}
