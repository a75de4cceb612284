//! How deep the firmware's stack has been: it paints it at the start, and tells at the end where the paint is gone.

use super::emulator::{Device, Machine, image};
use super::{last_told, port};
use crate::common::Home;
use crate::gateway::Gateway;

/// What the core, its suite and the driver may take.
const STEP: u64 = 4096;
/// smoltcp, and the driver of the Ethernet controller.
const NETWORK: u64 = 2048;
/// Making the device end, which is moved into its place, below everything else that this application does at the start.
const START: u64 = 10_752;

#[test]
fn a_step_takes_at_most_four_kibibytes_of_the_stack() {
    for machine in [Machine::Mps2An385, Machine::Lm3s6965] {
        let Some(image) = image(machine) else { return };
        let home = Home::new();
        let gateway = Gateway::on_loopback(&home);
        let run = Device::add(&home, "board").boot(&image, port(&gateway), 1, &["readings=600".to_owned()]);
        let log = run.ended();
        for (what, most) in [("for a step", STEP), ("for the network", NETWORK), ("to start", START)] {
            let took = last_told(&log, what);
            println!("{machine:?}: {what} {took} bytes");
            assert!(took > 256 && took <= most, "{machine:?}: {what} {took} bytes, not {most}; {log:?}");
        }
    }
}
