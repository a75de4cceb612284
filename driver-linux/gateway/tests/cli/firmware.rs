//! A sensor's firmware, run by an emulator of its board, delivers to a gateway on 127.0.0.1.

mod away;
mod emulator;
mod expected;
mod fleet;
mod newcomer;
#[path = "../../../../driver-smoltcp/firmware/src/readings.rs"]
mod readings;
mod relay;
mod stack;

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
        let device = Device::add(&home, "board");
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
    let device = Device::add(&home, "board");
    let relay = Relay::start(port(&gateway), 10);
    let boot = |boots| device.boot(&image, relay.port(), boots, &[format!("readings={READINGS}")]);
    let delivered = || count(&status(&home), "journal", "appended_records");
    let mut told_stored = Vec::new();
    for boots in 1..=5 {
        let run = boot(boots);
        // The counters are those of one gateway process.
        until("records arrive", || delivered() >= 300);
        gateway.kill();
        gateway = Gateway::start(&home, &["--listen", &listen]);
        until("records arrive again", || delivered() >= 300);
        told_stored.push(last_told(&run.cut_off(), "stored"));
    }
    let log = boot(6).ended();
    told_stored.push(last_told(&log, "stored"));
    assert!(relay.dropped() > 100, "{} datagrams were lost", relay.dropped());
    let arrived = arrived(&home);
    assert_eq!(arrived.len(), 6 * Source::ALL.len(), "a numbering for each boot and stream: {log:?}");
    assert!(arrived.iter().all(|a| a.missing == 0 && a.records > 0), "{arrived:?}");
    complete(&arrived, READINGS);
    assert!(told_stored.iter().sum::<u64>() > READINGS, "boots that were cut off were told, too: {told_stored:?}");
    for (boot, told) in told_stored.into_iter().enumerate() {
        let of_boot = |source: Source| arrived.iter().filter(move |a| a.stream == source.name()).nth(boot);
        let there = Source::ALL.into_iter().filter_map(of_boot).map(|a| a.records).sum::<u64>();
        assert!(told <= there, "start {}: {told} were told to be STORED, {there} are there", boot + 1);
    }
}

fn number_in(line: &str, what: &str) -> Option<u64> {
    line.split([',', ':']).find_map(|part| part.trim().strip_prefix(what)?.trim().parse().ok())
}

/// The sum of what all messages say.
fn told(log: &[String], what: &str) -> u64 {
    log.iter().filter_map(|line| number_in(line, what)).sum()
}

/// What the last message that names it says.
fn last_told(log: &[String], what: &str) -> u64 {
    log.iter().rev().find_map(|line| number_in(line, what)).unwrap_or(0)
}
