//! Ten boards at once, each with a rhythm of its own, and one gateway.

use super::complete;
use super::emulator::{Device, Machine, image};
use super::expected::{Arrived, arrived};
use super::{last_told, port, told};
use crate::common::Home;
use crate::gateway::Gateway;

const BOARDS: usize = 10;
/// Milliseconds between two readings: twenty a second.
const EVERY_MS: u64 = 50;

/// Nothing is lost, and nothing is repeated.
fn ten_boards_deliver(readings: u64) {
    let Some(image) = image(Machine::Mps2An385) else { return };
    let home = Home::new();
    let gateway = Gateway::on_loopback(&home);
    let boot = |at: usize| {
        let name = format!("board-{at}");
        let arguments = [format!("readings={readings}"), format!("every-ms={EVERY_MS}")];
        let run = Device::add(&home, &name).boot(&image, port(&gateway), 1, &arguments);
        (name, run)
    };
    let runs: Vec<_> = (0..BOARDS).map(boot).collect();
    let logs: Vec<_> = runs.into_iter().map(|(name, run)| (name, run.ended())).collect();
    let mut arrived = arrived(&home);
    for (name, log) in logs {
        assert_eq!((told(&log, "pushed"), told(&log, "refused")), (readings, 0), "{name}: {log:?}");
        assert_eq!(last_told(&log, "stored"), readings, "{name}: {log:?}");
        let its = |a: &mut Arrived| a.peer == name;
        let its: Vec<_> = arrived.extract_if(.., its).collect();
        assert_eq!(its.len(), 3, "one numbering of each stream: {its:?}");
        complete(&its, readings);
    }
    assert!(arrived.is_empty(), "of nobody: {arrived:?}");
}

#[test]
fn ten_boards_deliver_to_one_gateway_every_record_once() {
    ten_boards_deliver(200);
}

#[test]
#[ignore = "three minutes of real time; NIGHTLY=true .ci/firmware runs it"]
fn ten_boards_deliver_for_three_minutes_every_record_once() {
    ten_boards_deliver(3600);
}
