//! `demo`: the whole way once, on this machine, over a network that is bad on purpose.
//!
//! ```text
//! 8 sender processes ──> relay (loses, reorders, duplicates) ──> gateway process ──> journal
//!                                                                    ^ SIGKILL, twice
//! ```
//!
//! The gateway and the senders are this same program, started again. At the end the journal is read, and every record
//! in it compared with what should be there.

mod latency;
mod plan;
mod processes;
mod random;
pub mod relay;
mod report;
mod sender;
mod verify;

use std::env;
use std::fs;
use std::io::IsTerminal;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use crate::device::{DeviceKey, Form};
use crate::host_port::HostPort;
use crate::keystore::{KeyStore, NewPeer};
use crate::{Error, clock, log, peer, private_file};
use plan::{KILLS, Plan};
use processes::{Gateway, Senders};
use relay::{Impairment, Relay};

pub use sender::{DemoSender, run as run_sender};

/// The arguments of `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// How many records all senders send together
    #[arg(long, value_name = "COUNT", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    records: u64,
    /// How many senders there are
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    senders: u32,
    /// How many datagrams of a hundred the relay loses
    #[arg(long, value_name = "PERCENT", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=50))]
    loss: u8,
    /// What sizes, contents and losses are drawn from [default: drawn itself]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
}

/// How long it stays dead.
const DEAD: Duration = Duration::from_millis(300);
const TICK: Duration = Duration::from_millis(50);
/// No step towards the end for so long is a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the demo. `dir` is the data directory, if one was named; it must be new.
///
/// # Errors
/// Not everything arrived exactly once and in order, or the demo could not run.
pub fn run(demo: &Demo, dir: Option<PathBuf>) -> Result<(), Error> {
    let seed = demo.seed.map_or_else(random::seed, Ok)?;
    let plan = Plan { seed, senders: demo.senders, records: demo.records };
    let dir = make_dir(dir)?;
    say(&format!(
        "{} records of 0 to 64 KiB from {} senders, over a relay that loses {} %, reorders and duplicates (seed {seed})",
        plan.records, plan.senders, demo.loss
    ));
    let keys = make_keys(&plan, &dir)?;
    let mut gateway = Gateway::start(&dir, None)?;
    let relay = Relay::start(gateway.address(), Impairment::bad(demo.loss), seed).map_err(Error::Network)?;
    let mut senders = Senders::start(&plan, &keys, relay.address())?;

    let began = clock::monotonic();
    let done = carry(&plan, &dir, &mut gateway, &mut senders, began);
    let took = clock::monotonic().saturating_duration_since(began);
    let relayed = relay.stop();
    done?;
    gateway.stop()?;

    let found = verify::read(&plan, &keys, &dir)?;
    let text = report::text(&plan, &senders.ended()?, &found, &relayed, took, &dir);
    peer::print(&text)?;
    if found.iter().all(verify::Found::is_exact) { Ok(()) } else { Err(Error::NotExact { dir, seed }) }
}

/// Kills the gateway now and then, until every sender has ended.
fn carry(plan: &Plan, dir: &Path, gateway: &mut Gateway, senders: &mut Senders, began: Instant) -> Result<(), Error> {
    let bar = ProgressBar::new(plan.records);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos} of {len} stored  {elapsed}  {msg}") {
        bar.set_style(style);
    }
    let (mut kills, mut told, mut moved, mut last) = (0, 0, began, 0);
    while !senders.have_ended()? {
        thread::sleep(TICK);
        let stored = senders.stored();
        bar.set_position(stored);
        let now = clock::monotonic();
        if stored != last {
            (last, moved) = (stored, now);
        }
        if now.saturating_duration_since(moved) > PATIENCE {
            return Err(Error::Demo(format!(
                "nothing was stored for {} s, {stored} records are; see {}",
                PATIENCE.as_secs(),
                processes::log_file(dir).display()
            )));
        }
        if kills < KILLS && stored >= plan.kill_at(kills) {
            kills += 1;
            gateway.kill()?;
            thread::sleep(DEAD);
            let address = gateway.address();
            *gateway = Gateway::start(dir, Some(address))?;
            senders.go_on();
            bar.suspend(|| say(&format!("{stored} stored; the gateway was killed with SIGKILL and started again")));
        }
        let tenth = stored * 10 / plan.records;
        if !std::io::stderr().is_terminal() && tenth > told {
            told = tenth;
            say(&format!("{stored} stored"));
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// One line of how it goes.
fn say(line: &str) {
    log::say(format_args!("{line}"));
}

/// A new directory, for its owner only: the one that was named, or one of its own in it or among temporary files.
fn make_dir(named: Option<PathBuf>) -> Result<PathBuf, Error> {
    let own = format!("tallylink-demo-{}-{}", clock::unix_seconds(), std::process::id());
    let dir = match named {
        Some(dir) if dir.exists() => dir.join(own),
        Some(dir) => dir,
        None => env::temp_dir().join(own),
    };
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir);
    made.map_err(|error| Error::DataDir { dir: dir.clone(), error })?;
    Ok(dir)
}

/// Makes a peer for each sender and writes its key file.
fn make_keys(plan: &Plan, dir: &Path) -> Result<Vec<(PathBuf, DeviceKey)>, Error> {
    let mut peers = Vec::new();
    for sender in 1..=plan.senders {
        peers.push(NewPeer { name: format!("sensor-{sender}").parse()?, id: None });
    }
    let entries = KeyStore::in_data_dir(dir).edit()?.add(&peers, clock::unix_seconds())?;
    let mut keys = Vec::new();
    for entry in entries {
        let key = DeviceKey::new(entry, None::<HostPort>);
        let file = dir.join(format!("{}.key", key.name));
        let mut out = private_file::create_new(&file)?;
        key.write(Form::Toml, &mut out).map_err(Error::Output)?;
        keys.push((file, key));
    }
    Ok(keys)
}
