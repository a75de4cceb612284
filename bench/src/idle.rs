//! `idle`: what provisioned peers with live sessions cost a gateway while they are silent, and how it takes it when all speak at once.
//!
//! The gateway is a process of its own, as it is by default, and its memory is its alone. The devices are all in this process, each
//! with the arrays of a small microcontroller and an address of its own (127.64.0.0 onwards). Each opens a session and a stream and has one
//! record stored. Then nobody sends: packets in either direction and the times that any of the gateway's threads woke up are
//! counted. At the end every device pushes a record, all at the same moment.

mod crowd;
mod device;
mod gateway;
mod socket;

use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Args;

use crate::{
    clock,
    machine::Machine,
    marks::{Bound, Mark},
    options::Output,
    report::{self, Figure},
    strangers::gateway::Home,
};
use crowd::Crowd;

/// The name in result lines.
const BENCH: &str = "idle";
const SIDE: &str = "gateway";
const RESIDENT: &str = "resident";
const PEAK: &str = "peak_resident";
const PACKETS: &str = "packets_while_idle";
const WAKE_UPS: &str = "wake_ups_while_idle";
const SPOKEN: &str = "until_all_are_stored";
const LOST: &str = "records_lost_or_repeated";
const ENDED: &str = "sessions_ended";
/// Bytes of memory, for a million peers.
const MEMORY_MB: f64 = 512.0;
/// For all to be stored.
const SPOKEN_S: f64 = 60.0;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Devices.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    peers: u32,
    /// How long nobody sends.
    #[arg(long, value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// `active_peers` of the gateway's configuration; what stands here by default is its default.
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(16..=65_536))]
    active_peers: u32,
    /// Decides the devices' ids.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: Output,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let peers = arguments.peers;
    let case = format!("{peers} peers");
    let mut figures = Vec::new();
    let mut figure = |metric: &str, unit: &str, value: f64| {
        let (bench, side) = (BENCH.into(), SIDE.into());
        figures.push(Figure {
            bench,
            case: case.clone(),
            side,
            metric: metric.into(),
            value,
            unit: unit.into(),
            ratio: None,
        });
    };

    let home = Home::new()?;
    let keys = gateway::provision(&home, peers, arguments.seed)?;
    let mut gateway = gateway::start(&home, arguments.active_peers)?;
    figure("resident_without_sessions", "MB", gateway.memory()? as f64 / 1e6);
    let mut crowd = Crowd::new(&keys, gateway.address)?;
    let begun = clock::wall();
    crowd.gather()?;
    figure("until_all_have_sessions", "s", begun.elapsed().as_secs_f64());

    // What the last of them left to do is done by then.
    crowd.attend(Duration::from_secs(5))?;
    ensure!(!crowd.waits(), "a device with nothing to send has a timer");
    let (packets, woken) = (crowd.packets(), gateway::wake_ups(&gateway)?);
    crowd.attend(Duration::from_secs(arguments.seconds))?;
    figure(PACKETS, "", (crowd.packets() - packets) as f64);
    figure(WAKE_UPS, "", (gateway::wake_ups(&gateway)? - woken) as f64);
    figure("active_peers", "", arguments.active_peers.into());
    figure("idle_for", "s", arguments.seconds as f64);
    figure(RESIDENT, "MB", gateway.memory()? as f64 / 1e6);
    figure("resident_per_peer", "B", gateway.memory()? as f64 / f64::from(peers));

    let (begun, packets) = (clock::wall(), crowd.packets());
    crowd.speak()?;
    figure(SPOKEN, "s", begun.elapsed().as_secs_f64());
    figure("packets_for_a_record", "", (crowd.packets() - packets) as f64 / f64::from(peers));
    figure(PEAK, "MB", gateway::peak(&gateway)? as f64 / 1e6);
    figure(ENDED, "", crowd.sessions_ended() as f64);
    gateway.stop()?;
    figure(LOST, "", gateway::stored(&home)?.abs_diff(2 * u64::from(peers)) as f64);

    let machine = Machine::here(arguments.seed, 1, arguments.seconds < 600);
    report::publish(BENCH, machine, &figures, || marks(&case), &arguments.output)
}

fn marks(case: &str) -> Vec<Mark> {
    let mark = |metric: &str, most| Mark {
        case: case.into(),
        side: SIDE.into(),
        metric: metric.into(),
        bound: Bound::AtMost(most),
    };
    vec![
        mark(RESIDENT, MEMORY_MB),
        mark(PACKETS, 0.0),
        mark(WAKE_UPS, 0.0),
        mark(SPOKEN, SPOKEN_S),
        mark(PEAK, MEMORY_MB),
        mark(ENDED, 0.0),
        mark(LOST, 0.0),
    ]
}
