//! Measures Tallylink against its peers in the same run.
//!
//! Every subcommand that measures runs its sides interleaved, round by round, and reports medians of the
//! rounds: as tables, as one JSON object a line (`--json`), or both (`--save`). With `--check` it
//! judges them by the project's marks, prints the worst figure last and fails when one is missed.

mod backlog;
mod clock;
mod disk_faults;
mod drain;
mod fairness;
mod faults;
mod fill;
mod idle;
mod journal;
mod lab;
mod latency;
mod machine;
mod many;
mod marks;
mod meter;
mod mqtt;
mod numbered;
mod options;
mod path;
mod process;
mod push;
mod queue;
mod raw_peer;
mod render;
mod report;
mod start_up;
mod statistics;
mod strace;
mod strangers;
mod syscalls;
mod tags;
mod tmpfs;
mod torture;
mod transport;
mod workload;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// CPU per record of sender and receiver while a backlog drains, beside quinn and s2n-quic.
    Transport(transport::Arguments),
    /// Goodput, CPU and repeats over a network with delay, losses and bottlenecks, beside quinn and TCP (needs root).
    Lab(lab::Arguments),
    /// Whether Tallylink and TCP share a bottleneck fairly, and use all of it (needs root).
    Fairness(fairness::Arguments),
    /// What Tallylink makes of a path that shrinks, of lies about it, and of changes of address (needs root).
    Path(path::Arguments),
    /// How long thousands of slow senders wait for STORED, without and with a fast one beside them.
    Many(many::Arguments),
    /// How fast a full outbox drains to a gateway's journal, beside quinn, which stores nothing, and the disk alone.
    Drain(drain::Arguments),
    /// A gateway, or a sender with an outbox, for `drain`.
    #[command(hide = true)]
    DrainTallylink(drain::DrainRole),
    /// An end of a QUIC connection, for `drain`.
    #[command(hide = true)]
    DrainQuinn(drain::QuinnRole),
    /// What it costs a thread to insert a record while the link sends, in CPU and, with valgrind, in instructions.
    Push(push::Arguments),
    /// Only inserts, for `push`.
    #[command(hide = true)]
    PushOnly(push::PushRole),
    /// Whether what a record costs depends on how many wait behind it, in CPU and, with valgrind, in instructions.
    Backlog(backlog::Arguments),
    /// Only drains, for `backlog`.
    #[command(hide = true)]
    BacklogOnly(backlog::BacklogRole),
    /// Calls of the system per packet by strace, and allocations, C's included, by valgrind, while records flow.
    Syscalls(syscalls::Arguments),
    /// Only carries records, for `syscalls`.
    #[command(hide = true)]
    SyscallsOnly(syscalls::CallsRole),
    #[command(hide = true)]
    MemoryOnly(syscalls::MemoryRole),
    /// From push to RECEIVED and STORED, idle and under load.
    Latency(latency::Arguments),
    /// Memory, packets and wake-ups of a gateway whose peers are silent, and what happens when all speak at once.
    Idle(idle::Arguments),
    /// The same records through mosquitto at QoS 1 and 2 (Debian's package), and to a Tallylink gateway.
    Mqtt(mqtt::Arguments),
    /// Publishes, for `mqtt`.
    #[command(hide = true)]
    MqttClient(mqtt::MqttRole),
    /// Pushes, for `mqtt`.
    #[command(hide = true)]
    MqttSender(mqtt::MqttSenderRole),
    /// The classic loss of plain datagrams behind a thread that writes, and Tallylink with the same payloads.
    Queue(queue::Arguments),
    /// A receiver, for `queue`.
    #[command(hide = true)]
    QueueReceiver(queue::QueueRole),
    /// What a gateway makes of whoever holds no key of it: wrong keys, replays and random datagrams.
    Strangers(strangers::Arguments),
    /// What an endpoint makes of a peer that holds a key and seals whatever it likes: each attack, its outcome and its cost.
    RawPeer(raw_peer::Arguments),
    /// How long, and with how much memory, a gateway and a sender open a large journal.
    StartUp(start_up::Arguments),
    /// An outbox's journal, opened for `start-up` in a process of its own.
    #[command(hide = true)]
    OpenOutbox(start_up::Open),
    /// The time to fill a sender's outbox, beside only writing and syncing the same bytes.
    Fill(fill::Arguments),
    /// CPU, rate and bytes written of appending to a journal, reading and recovering it, beside SQLite.
    Journal(journal::Arguments),
    /// What a gateway makes of a disk that fails: each call, each place, and what becomes of the records.
    DiskFaults(disk_faults::Arguments),
    /// What a gateway and its senders make of a machine that fails elsewhere than at its disk (needs root, strace and cc).
    Faults(faults::Arguments),
    /// Whether refusing a packet takes as many instructions wherever its tag is wrong (needs valgrind).
    Tags(tags::Arguments),
    /// Refuses a packet, for `tags`.
    #[command(hide = true)]
    RefuseOnly(tags::RefuseRole),
    /// The `tallylink` program, for benches that need a gateway in a process of its own.
    #[command(hide = true)]
    Tallylink(strangers::Tallylink),
    /// Pulls the plug on gateway and senders, over and over, and looks for what is lost, repeated or out of order.
    Torture(torture::Arguments),
    /// A gateway to be killed.
    #[command(hide = true)]
    TortureGateway(torture::GatewayRole),
    /// A sender to be killed.
    #[command(hide = true)]
    TortureSender(torture::SenderRole),
    /// Turns saved result lines into tables and plots.
    Render(render::Arguments),
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Succeeds when every mark that was to be checked was met.
fn run(arguments: &Arguments) -> Result<ExitCode> {
    let passed = match &arguments.bench {
        Bench::Transport(arguments) => transport::run(arguments)?,
        Bench::Lab(arguments) => lab::run(arguments)?,
        Bench::Fairness(arguments) => fairness::run(arguments)?,
        Bench::Path(arguments) => path::run(arguments)?,
        Bench::Many(arguments) => many::run(arguments)?,
        Bench::Drain(arguments) => drain::run(arguments)?,
        Bench::DrainTallylink(role) => role.run().map(|()| true)?,
        Bench::DrainQuinn(role) => role.run().map(|()| true)?,
        Bench::Push(arguments) => push::run(arguments)?,
        Bench::PushOnly(role) => role.run().map(|()| true)?,
        Bench::Backlog(arguments) => backlog::run(arguments)?,
        Bench::BacklogOnly(role) => role.run().map(|()| true)?,
        Bench::Syscalls(arguments) => syscalls::run(arguments)?,
        Bench::SyscallsOnly(role) => role.run().map(|()| true)?,
        Bench::MemoryOnly(role) => role.run().map(|()| true)?,
        Bench::Latency(arguments) => latency::run(arguments)?,
        Bench::Idle(arguments) => idle::run(arguments)?,
        Bench::Mqtt(arguments) => mqtt::run(arguments)?,
        Bench::MqttClient(role) => role.run().map(|()| true)?,
        Bench::MqttSender(role) => role.run().map(|()| true)?,
        Bench::Queue(arguments) => queue::run(arguments)?,
        Bench::QueueReceiver(role) => role.run().map(|()| true)?,
        Bench::Strangers(arguments) => strangers::run(arguments)?,
        Bench::RawPeer(arguments) => raw_peer::run(arguments)?,
        Bench::Fill(arguments) => fill::run(arguments)?,
        Bench::Journal(arguments) => journal::run(arguments)?,
        Bench::StartUp(arguments) => start_up::run(arguments)?,
        Bench::OpenOutbox(open) => open.run().map(|()| true)?,
        Bench::DiskFaults(arguments) => disk_faults::run(arguments)?,
        Bench::Faults(arguments) => faults::run(arguments)?,
        Bench::Tags(arguments) => tags::run(arguments)?,
        Bench::RefuseOnly(role) => role.run().map(|()| true)?,
        Bench::Tallylink(tallylink) => return Ok(tallylink.run()),
        Bench::Torture(arguments) => torture::run(arguments)?,
        Bench::TortureGateway(role) => role.run().map(|()| true)?,
        Bench::TortureSender(role) => role.run().map(|()| true)?,
        Bench::Render(arguments) => render::run(arguments).map(|()| true)?,
    };
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
