//! `mqtt`: the same records through mosquitto, at QoS 1 and 2, and to a Tallylink gateway.
//!
//! Client and server are processes of their own and shown apart. The MQTT client has 100 messages in flight; a subscriber that
//! is away makes the broker keep every message, in its persistent database, which it writes once a second. Afterwards the
//! subscriber comes back and gets them all, which is compared and not measured. Tallylink's sender pushes records one at a time, and
//! the gateway confirms only what an fdatasync covers.

mod broker;
mod client;
mod tallylink;

use std::{fs::File, path::PathBuf, sync::Arc};

use anyhow::{Context, Result};
use clap::Args;
use tempfile::TempDir;

pub(crate) use client::MqttRole;
pub(crate) use tallylink::MqttSenderRole;

use self::client::Qos;
use crate::{
    machine::Machine,
    marks::{Bound, Mark},
    options::Options,
    report::{self, Figure},
    statistics::median,
    workload::Workload,
};

/// The name in result lines.
const BENCH: &str = "mqtt";
const CASE: &str = "61 B";
/// Bytes of a record.
const RECORD: usize = 61;
const TALLYLINK: &str = "tallylink";
const TOTAL: &str = "cpu_per_record";
const ERRORS: &str = "errors";
/// Of client and broker at QoS 2: a fiftieth.
const BUDGET: f64 = 1.0 / 50.0;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Messages of a run through the broker.
    #[arg(long, default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1_000..=10_000_000))]
    messages: u64,
    /// Records of a run to the gateway.
    #[arg(long, default_value_t = 5_000_000, value_parser = clap::value_parser!(u64).range(1_000..=1_000_000_000))]
    records: u64,
    /// The broker; from Debian's package of that name.
    #[arg(long, value_name = "FILE", default_value = "/usr/sbin/mosquitto")]
    mosquitto: PathBuf,
    /// Where broker and gateway keep their data [default: where temporary files are].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// One side, once.
#[derive(Clone, Copy)]
struct Run {
    records: u64,
    seconds: f64,
    /// Seconds of CPU.
    client: f64,
    server: f64,
    errors: u64,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let options = &arguments.options;
    let part = if options.quick { 20 } else { 1 };
    let workload = Arc::new(Workload::new(options.seed, RECORD));
    let names = [Qos::AtLeastOnce.name(), Qos::ExactlyOnce.name(), TALLYLINK];
    let mut sides = names.map(|name| (name, Vec::new()));
    for _ in 0..options.rounds {
        for (index, (name, runs)) in sides.iter_mut().enumerate() {
            let dir = arguments.dir.clone().unwrap_or_else(std::env::temp_dir);
            let home = TempDir::with_prefix_in("tallylink-mqtt-", dir)?;
            let log = File::create(home.path().join("log"))?;
            let run = match index {
                2 => tallylink::run(&workload, arguments.records / part, options.seed, &log),
                _ => {
                    let qos = [Qos::AtLeastOnce, Qos::ExactlyOnce][index];
                    client::run(&arguments.mosquitto, qos, arguments.messages / part, options.seed, home.path(), &log)
                }
            };
            runs.push(run.with_context(|| (*name).to_owned())?);
        }
    }
    let figures = figures(&sides);
    let machine = Machine::here(options.seed, options.rounds, options.quick);
    report::publish(BENCH, machine, &figures, || marks(&names), &options.output)
}

/// CPU stands beside that of client and broker at QoS 2.
fn figures(sides: &[(&str, Vec<Run>)]) -> Vec<Figure> {
    let reference = sides.iter().find(|(name, _)| *name == Qos::ExactlyOnce.name()).map_or(&[][..], |(_, runs)| runs);
    let mut figures = Vec::new();
    for (name, runs) in sides {
        let cost = |run: &Run| (run.client + run.server) * 1e6 / run.records as f64;
        let all = |value: &dyn Fn(&Run) -> f64| median(runs.iter().map(value));
        let ratio = median(runs.iter().zip(reference).map(|(run, reference)| cost(run) / cost(reference)));
        let mut figure = |metric: &str, unit: &str, value: f64, ratio| {
            let (bench, case, side) = (BENCH.into(), CASE.into(), (*name).into());
            figures.push(Figure { bench, case, side, metric: metric.into(), value, unit: unit.into(), ratio });
        };
        figure(TOTAL, "µs", all(&cost), Some(ratio));
        figure("client_cpu_per_record", "µs", all(&|run| run.client * 1e6 / run.records as f64), None);
        figure("server_cpu_per_record", "µs", all(&|run| run.server * 1e6 / run.records as f64), None);
        figure("confirmed_per_second", "1/s", all(&|run| run.records as f64 / run.seconds), None);
        figure("records", "", all(&|run| run.records as f64), None);
        figure(ERRORS, "", runs.iter().map(|run| run.errors as f64).sum(), None);
    }
    figures
}

fn marks(names: &[&str]) -> Vec<Mark> {
    let mark =
        |side: &str, metric: &str, bound| Mark { case: CASE.into(), side: side.into(), metric: metric.into(), bound };
    let mut marks: Vec<_> = names.iter().map(|name| mark(name, ERRORS, Bound::AtMost(0.0))).collect();
    marks.push(mark(TALLYLINK, TOTAL, Bound::RatioAtMost(BUDGET)));
    marks
}
