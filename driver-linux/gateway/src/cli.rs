//! The commands and options of `tallylink`, and their help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::check::Check;
use crate::config::{Config, Place};
use crate::demo::{Demo, DemoSender};
use crate::ingest::Ingest;
use crate::keystore::KeyStore;
use crate::outbox::Outbox;
use crate::peer::PeerCommand;
use crate::push::Push;
use crate::query::Query;
use crate::receive::Receive;
use crate::send::Send;
use crate::serve::Serve;
use crate::status::Status;
use crate::{Error, Exit, check, demo, ingest, outbox, peer, push, query, receive, send, serve, status};

/// Carries records from sensors to a durable gateway: encrypted, in order, exactly once.
///
/// Without a configuration everything works on the data directory of this user; `tallylink config` shows where that
/// is and what else can be set.
#[derive(Debug, Parser)]
#[command(
    name = "tallylink",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  tallylink peer add roof             make a peer and print what its device needs
  tallylink peer list                 who may send
  tallylink config > tallylink.toml   a configuration file with every key explained",
    after_long_help = after_long_help()
)]
pub struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// Options that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
struct Common {
    /// Read the configuration from FILE (TOML); without it every key has its default
    #[arg(long, global = true, value_name = "FILE", env = "TALLYLINK_CONFIG")]
    config: Option<PathBuf>,
    /// Keep journal and key store in DIR; goes before the configuration's `data`
    #[arg(long, global = true, value_name = "DIR", env = "TALLYLINK_DATA")]
    data: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add, list and remove peers, and change their keys
    #[command(subcommand)]
    Peer(PeerCommand),
    /// Run the gateway
    ///
    /// Ends cleanly at SIGTERM or SIGINT. Needs no configuration. Peers may be added and removed while it runs.
    /// A disk that fails is tried until it works; `tallylink status` and http://127.0.0.1:7433/readyz say what is wrong.
    #[command(after_help = "\
Examples:
  tallylink serve
  tallylink serve --config /etc/tallylink.toml
  tallylink serve --listen 127.0.0.1:7433 --data ./try
  tallylink serve --http 127.0.0.1:9100     readiness and metrics on another TCP port")]
    Serve(Serve),
    /// Send records to a gateway, and end when every one is stored
    ///
    /// Records are the lines of standard input (the newline belongs to the record), frames, or whole files. The exit
    /// code is 0 only when all of them are on the gateway's disk.
    ///
    /// With --outbox they are on this machine's disk first, and leave only from there: the gateway may be away, and this
    /// program and the power may fail. The next run with the same outbox and stream delivers what is left before
    /// anything new. To go on with the same input after a crash, start again with --resume and all of the input, and
    /// give each input a stream or an outbox of its own.
    #[command(after_help = "\
Examples:
  tallylink send --to 192.0.2.1:7433 --key roof.key --stream images *.jpg
  seq 1 1000000 | tallylink send --to gw.example:7433 --key roof.key --stream numbers
  tail -f /var/log/messages | tallylink send --to [2001:db8::1]:7433 --key roof.key --stream log
  tallylink send --key roof.key --stream numbers --outbox ./outbox --resume <numbers.txt
      goes on with the same input after a crash, as often as it takes
  tallylink send --key roof.key --outbox ./outbox
      delivers what is left there")]
    Send(Send),
    /// Hand records to the gateway for a device
    ///
    /// Works on the gateway's data directory, whether `tallylink serve` runs or not, and ends when the records are on disk
    /// there: the gateway delivers them, in order and once, when the device is next heard or asks. With --wait it ends when
    /// the device's program has taken them.
    ///
    /// What waits for a device is bounded by downlink_limit; `tallylink status` shows how much that is. What waits for a peer
    /// that is removed goes with it.
    #[command(after_help = "\
Examples:
  echo 'interval 60' | tallylink push roof orders
  tallylink push roof images --wait --timeout 1h logo.png
  generate-frames | tallylink push 70b3d5fffe000001 table --frames")]
    Push(Push),
    /// Print what the gateway has for this device, as it comes
    ///
    /// Takes the records that `tallylink push` handed over there, in order. A record is free at the gateway once it was
    /// written out here. Ends cleanly at SIGTERM or SIGINT: the next run goes on behind what this one printed; after a crash
    /// it may begin with records that were printed already.
    #[command(after_help = "\
Examples:
  tallylink receive --key roof.key --stream orders
  tallylink receive --key roof.key --format jsonl --poll 10s | jq .data
  tallylink receive --key roof.key --stream images --format frames --count 1")]
    Receive(Receive),
    /// Take plain datagrams of devices that do not speak Tallylink, into a journal or to standard output
    ///
    /// Each datagram becomes a record, of peer 66726f6d2d756470. The journal is that of the data directory, which no gateway
    /// may use meanwhile: give --data. Ends cleanly at SIGTERM or SIGINT, with everything received stored.
    ///
    /// Such a device is not answered and does not repeat, so that a datagram that finds no room is lost. All of them are
    /// counted, those that found the kernel's buffer full and those that found the queue full, and the exit code is 12 if
    /// there are any: then raise --receive-buffer (and net.core.rmem_max) or --queue. Without a queue (--direct) the kernel's
    /// buffer alone has to hold what comes while the disk is busy.
    #[command(after_help = "\
Examples:
  tallylink ingest --udp 5140 --data ./legacy
  tallylink query --data ./legacy --follow            what came, while it comes
  tallylink ingest --udp 127.0.0.1:5140 --stdout | jq .data
  tallylink ingest --udp 5140 --stdout=frames | \\
      tallylink send --frames --to gw.example:7433 --key roof.key --stream legacy --outbox ./outbox
      carries them on to a gateway, exactly once from here on")]
    Ingest(Ingest),
    /// Show what waits in a directory of outboxes, also while a sender has it open
    ///
    /// Tells for each stream whose it is, how many records wait and since when, and how many it ever held.
    #[command(after_help = "\
Examples:
  tallylink outbox ./outbox
  tallylink outbox ./outbox --json | jq '.streams[] | {stream, waiting, ever}'")]
    Outbox(Outbox),
    /// Ask the running gateway for its counters, peers, sockets and disk
    #[command(after_help = "\
Examples:
  tallylink status
  tallylink status --json | jq .counters.discarded")]
    Status(Status),
    /// Print stored records, also while a gateway runs
    ///
    /// Records come in the order in which they were stored; those of one stream in the order of their index. Records
    /// that will never come are shown as missing, with the reason.
    #[command(after_help = "\
Examples:
  tallylink query --peer roof --stream temperature --since 10m
  tallylink query --follow --json | jq .data
  tallylink query --peer roof --stream images --from 7 --to 8 --format raw > image.jpg")]
    Query(Query),
    /// Look at every byte of a journal, an outbox or a data directory, also while a gateway runs
    ///
    /// Tells for each segment and stream what is whole, what is damaged, and which records that costs. Changes nothing
    /// unless asked: --repair copies damaged bytes to the file `set-aside` beside the segments (damaged lines of the key
    /// store to `keys/damaged`) and marks their places, touches nothing else, and needs the gateway or sender stopped.
    /// The exit code is 0 when all is whole and 13 when something is damaged.
    #[command(after_help = "\
Examples:
  tallylink check                       everything in this user's data directory
  tallylink check /var/lib/tallylink --json | jq 'select(.whole | not)'
  tallylink check ./outbox --repair     after a copy was made")]
    Check(Check),
    /// Show all of it on this machine: a bad network, a gateway that is killed, and what arrives
    ///
    /// Starts a gateway, senders and between them a relay that loses, reorders and duplicates datagrams; kills the
    /// gateway twice; then reads the journal and compares every record. Leaves the data for you to look at.
    #[command(after_help = "\
Examples:
  tallylink demo
  tallylink demo --loss 10 --senders 4 --data ./demo")]
    Demo(Demo),
    #[command(hide = true)]
    DemoSender(DemoSender),
    /// Check the configuration and print it with every key explained
    ///
    /// What is printed is itself a configuration file: the values of FILE where it names them, else the defaults.
    #[command(after_help = "\
Examples:
  tallylink config > tallylink.toml         begin a configuration
  tallylink config --config tallylink.toml  check one; a mistake is named with its line")]
    Config,
}

impl Cli {
    /// Does what was asked.
    ///
    /// # Errors
    /// One sentence and an exit code.
    pub fn run(self) -> Result<(), Error> {
        let config = self.common.settle()?;
        let named = self.common.data;
        match self.command {
            Command::Peer(command) => peer::run(command, &KeyStore::in_data_dir(&config.data_dir())),
            Command::Serve(serve) => serve::run(serve, config),
            Command::Send(send) => send::run(&send, &config),
            Command::Push(args) => push::run(&args, &config),
            Command::Receive(args) => receive::run(&args, &config),
            Command::Ingest(args) => ingest::run(&args, &config),
            Command::Outbox(args) => outbox::run(&args),
            Command::Status(status) => status::run(&status, &config),
            Command::Query(query) => query::run(query, &config),
            Command::Check(args) => check::run(&args, &config),
            Command::Demo(demo) => demo::run(&demo, named),
            Command::DemoSender(args) => demo::run_sender(&args),
            Command::Config => peer::print(&config.to_toml()),
        }
    }
}

impl Common {
    /// The configuration file's values, and over them the options'.
    fn settle(&self) -> Result<Config, Error> {
        let mut config = match &self.config {
            Some(file) => Config::read(file)?,
            None => Config::default(),
        };
        if let Some(dir) = &self.data {
            config.data = Place::Path(dir.clone());
        }
        Ok(config)
    }
}

fn after_long_help() -> String {
    format!(
        "\
Examples:
  tallylink peer add roof
      make a peer with a random id and print what its device needs
  tallylink peer add roof --id 70-b3-d5-ff-fe-00-00-01 --out roof.key
      the same for a board with an EUI-64, into a file that only you can read
  tallylink peer add --from boards.txt --json --out keys.jsonl
      one peer for each line of a list
  tallylink config > tallylink.toml
      a configuration file with every key explained

{}",
        Exit::table()
    )
}
