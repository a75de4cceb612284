//! `syscalls`: how often both sides of a link ask the system for something, and for memory, while records flow.
//!
//! The same run as in `transport`, both threads in a process of its own. The driver's own counters tell sends and receives of
//! each side, and strace every call of each side's thread, and of the process.
//! Memory is counted by valgrind, which sees what C code allocates as well, with both ends on one thread: two runs of different
//! length differ by what the packets between them allocate, and the rest is what is set up, keys among it.
mod memory;
mod role;
mod traced;

use anyhow::Result;
use clap::Args;

pub(crate) use memory::MemoryRole;
pub(crate) use role::CallsRole;

use self::role::Counted;
use crate::{
    machine::Machine,
    marks::{Bound, Mark},
    options::Output,
    report::{self, Figure},
};

/// The name in result lines.
const BENCH: &str = "syscalls";
const SIDE: &str = "tallylink-gcm";
/// UDP payload of a run, near enough: so many packets that the calls of starting do not count.
const BYTES: u64 = 300_000_000;
const BYTES_QUICK: u64 = 30_000_000;

const BY_SENDER: &str = "send calls per packet, by the driver";
const BY_RECEIVER: &str = "receive calls per packet, by the driver";
const BY_STRACE: [&str; 2] =
    ["calls per packet of the sender, by strace", "calls per packet of the receiver, by strace"];
const ALLOCATED: &str = "allocations per packet, both sides";
/// Memory is counted with records of so many bytes.
const MEMORY_SIZE: u32 = 61;
/// Fewer than one call for twenty packets.
const CALLS: f64 = 0.05;
/// One allocation for a thousand packets is none for a packet: what waits may grow once more.
const ALLOCATIONS: f64 = 0.001;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Bytes of a record; one case each.
    #[arg(long, value_delimiter = ',', default_values_t = [61, 1_013, 16_013])]
    sizes: Vec<u32>,
    /// Decides the content of every record.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Short runs, to try things out: the figures mean little.
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    output: Output,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let bytes = if arguments.quick { BYTES_QUICK } else { BYTES };
    let mut figures = Vec::new();
    for &size in &arguments.sizes {
        let mut figure = |metric: &str, value| figures.push(figure(size, metric, value));
        let traced::Traced { calls, by_side, counted } = traced::run(size, bytes, arguments.seed)?;
        let Counted { packets, send_calls, receive_calls } = counted;
        let packets = packets as f64;
        figure("packets", packets);
        figure(BY_SENDER, send_calls as f64 / packets);
        figure(BY_RECEIVER, receive_calls as f64 / packets);
        for (metric, calls) in BY_STRACE.into_iter().zip(by_side) {
            figure(metric, calls as f64 / packets);
        }
        figure("calls per packet of the process, by strace", calls.values().sum::<u64>() as f64 / packets);
        for (name, count) in &calls {
            if *count as f64 >= packets / 1000.0 {
                figure(&format!("{name} per packet, by strace"), *count as f64 / packets);
            }
        }
    }
    if let Some(memory) = memory::measure(arguments.seed)? {
        figures.push(figure(MEMORY_SIZE, "allocations of set-up, both sides, C's included", memory.set_up));
        figures.push(figure(MEMORY_SIZE, ALLOCATED, memory.per_packet));
    }
    let machine = Machine::here(arguments.seed, 1, arguments.quick);
    report::publish(BENCH, machine, &figures, || marks(&figures), &arguments.output)
}

/// Memory is judged where valgrind counted it.
fn marks(figures: &[Figure]) -> Vec<Mark> {
    let most = |metric: &str| match metric {
        BY_SENDER | BY_RECEIVER => Some(CALLS),
        _ if BY_STRACE.contains(&metric) => Some(CALLS),
        ALLOCATED => Some(ALLOCATIONS),
        _ => None,
    };
    let mark = |figure: &Figure| {
        let (case, side, metric) = (figure.case.clone(), figure.side.clone(), figure.metric.clone());
        Some(Mark { case, side, bound: Bound::AtMost(most(&metric)?), metric })
    };
    figures.iter().filter_map(mark).collect()
}

fn figure(size: u32, metric: &str, value: f64) -> Figure {
    let (bench, case, side) = (BENCH.into(), format!("{size} B"), SIDE.into());
    Figure { bench, case, side, metric: metric.into(), value, unit: String::new(), ratio: None }
}
