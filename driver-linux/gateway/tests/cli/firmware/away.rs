//! A gateway that is away for longer than a board's ring lasts: what the application chose happens, and what is left arrives.

use std::thread;
use std::time::Duration;

use super::emulator::{Device, Machine, image};
use super::expected::{Arrived, arrived};
use super::{last_told, port, told};
use crate::common::Home;
use crate::gateway::{Gateway, count, status, until};

/// Milliseconds between two readings: more than the ring holds come in a second or two.
const EVERY_MS: u64 = 4;

/// What is known when everything is settled.
struct Settled {
    log: Vec<String>,
    arrived: Vec<Arrived>,
    /// What `tallylink query` prints of gaps.
    gaps: Vec<String>,
}

/// A board that takes so many readings, and a gateway that is killed in mid-transfer and starts again after so many seconds.
fn away(when_full: &str, readings: u64, seconds: u64) -> Option<Settled> {
    let image = image(Machine::Mps2An385)?;
    let home = Home::new();
    let gateway = Gateway::on_loopback(&home);
    let listen = gateway.address.clone();
    let device = Device::add(&home, "board");
    let arguments = [format!("readings={readings}"), format!("every-ms={EVERY_MS}"), format!("when-full={when_full}")];
    let run = device.boot(&image, port(&gateway), 1, &arguments);
    until("records arrive", || count(&status(&home), "journal", "appended_records") >= 50);
    gateway.kill();
    thread::sleep(Duration::from_secs(seconds));
    let _gateway = Gateway::start(&home, &["--listen", &listen]);
    // It ends when nothing waits in its ring.
    let log = run.ended();
    let shown = home.ok(&["query", "--peer", "board"]);
    let gaps = shown.lines().filter(|line| line.contains(" MISSING ")).map(str::to_owned).collect();
    Some(Settled { log, arrived: arrived(&home), gaps })
}

fn refuses(readings: u64, seconds: u64) {
    let Some(Settled { log, arrived, gaps }) = away("refuse", readings, seconds) else { return };
    let (pushed, refused) = (told(&log, "pushed"), told(&log, "refused"));
    assert!(refused > 0 && pushed + refused == readings, "{log:?}");
    assert!(arrived.iter().all(|a| a.missing == 0) && gaps.is_empty(), "{arrived:?} {gaps:?}");
    assert_eq!(arrived.iter().map(|a| a.records).sum::<u64>(), pushed);
    assert_eq!(last_told(&log, "stored"), pushed, "{log:?}");
}

fn overwrites(readings: u64, seconds: u64) {
    let Some(Settled { log, arrived, gaps }) = away("overwrite", readings, seconds) else { return };
    let (pushed, overwritten) = (told(&log, "pushed"), told(&log, "overwritten"));
    assert!(overwritten > 0 && pushed == readings && told(&log, "refused") == 0, "{log:?}");
    let missing = arrived.iter().map(|a| a.missing).sum::<u64>();
    let records = arrived.iter().map(|a| a.records).sum::<u64>();
    assert_eq!(missing + records, readings, "{arrived:?}");
    // What was given up although it had arrived is not missing.
    assert!(missing > 0 && missing <= overwritten, "{missing} missing, {overwritten} overwritten");
    assert_eq!(last_told(&log, "stored"), pushed - overwritten, "{log:?}");
    for stream in arrived.iter().filter(|a| a.missing > 0).map(|a| &a.stream) {
        assert!(gaps.iter().any(|line| line.contains(&format!(" board/{stream} "))), "{stream}: {gaps:?}");
    }
}

#[test]
fn a_full_ring_that_refuses_has_no_gap_and_drains_when_the_gateway_is_back() {
    refuses(1500, 4);
}

#[test]
fn a_full_ring_that_overwrites_has_gaps_of_exactly_what_was_overwritten() {
    overwrites(1500, 4);
}

/// The gateway is back before the last reading.
const READINGS_OF_A_MINUTE: u64 = 62_000 / EVERY_MS;

#[test]
#[ignore = "a minute of real time; .ci/firmware runs it"]
fn a_gateway_that_is_away_for_a_minute_is_told_no_gap_by_a_ring_that_refuses() {
    refuses(READINGS_OF_A_MINUTE, 60);
}

#[test]
#[ignore = "a minute of real time; .ci/firmware runs it"]
fn a_gateway_that_is_away_for_a_minute_is_told_the_gaps_of_a_ring_that_overwrites() {
    overwrites(READINGS_OF_A_MINUTE, 60);
}
