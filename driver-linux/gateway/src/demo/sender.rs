//! One sender of the demo, a process of its own: a hidden command of this program.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use serde::{Deserialize, Serialize};
use tallylink_core::{End, KeyId, PeerId, Provision, crypto::Psk};
use tallylink_linux::{Sender, Settings, sender::PushError, sender::Stream};

use super::latency::Latencies;
use super::plan::{Plan, STREAMS};
use crate::device::DeviceKey;
use crate::{Error, Exit, clock};

/// The arguments that the demo starts a sender with.
#[derive(Debug, Args)]
pub struct DemoSender {
    #[arg(long)]
    to: SocketAddr,
    #[arg(long)]
    key: PathBuf,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    senders: u32,
    #[arg(long)]
    records: u64,
    #[arg(long)]
    number: u32,
}

impl DemoSender {
    pub(super) fn args(plan: &Plan, number: u32, key: &std::path::Path, to: SocketAddr) -> Vec<String> {
        let mut args = vec!["demo-sender".to_owned(), "--key".to_owned(), key.display().to_string()];
        for (name, value) in [
            ("--to", to.to_string()),
            ("--seed", plan.seed.to_string()),
            ("--senders", plan.senders.to_string()),
            ("--records", plan.records.to_string()),
            ("--number", number.to_string()),
        ] {
            args.extend([name.to_owned(), value]);
        }
        args
    }
}

/// What a sender prints: one JSON object a line.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) stored: u64,
    pub(super) bytes: u64,
    /// From push to STORED; in the last line only.
    pub(super) latencies: Option<Latencies>,
}

/// Records of a stream that may be on their way at once.
const AHEAD: u64 = 128;
const TELL_EVERY: Duration = Duration::from_millis(100);
/// How long to sleep when nothing can be done.
const NAP: Duration = Duration::from_micros(500);

/// Sends everything that the plan has for this sender, and waits until it is stored.
///
/// # Errors
/// The key is of no use, or the system gives no socket.
pub fn run(args: &DemoSender) -> Result<(), Error> {
    let plan = Plan { seed: args.seed, senders: args.senders, records: args.records };
    let key = DeviceKey::read(&args.key)?;
    let provision =
        Provision::new(PeerId(key.peer.0), End::Device, KeyId(key.key_id), Psk::from_bytes(*key.secret.expose()));
    let sender = Sender::with(&Settings::sender(), &args.to.to_string(), provision)?;
    let mut lanes = Vec::new();
    for (at, (name, records)) in STREAMS.iter().zip(plan.records_of(args.number)).enumerate() {
        let stream = sender.open(name).map_err(|why| Error::Stream { name: (*name).to_owned(), why })?;
        lanes.push(Lane::new(at, stream, records));
    }

    let kills = count_kills()?;
    let mut record = Vec::new();
    let mut latencies = Latencies::default();
    let mut told_at = clock::monotonic();
    loop {
        let mut busy = false;
        for lane in &mut lanes {
            lane.confirm(&mut latencies);
            busy |= lane.push(&plan, args.number, kills.load(Ordering::Relaxed), &mut record)?;
        }
        let now = clock::monotonic();
        let done = lanes.iter().all(Lane::is_done);
        if done || now.saturating_duration_since(told_at) >= TELL_EVERY {
            told_at = now;
            tell(&lanes, done.then(|| latencies.clone()))?;
        }
        if done {
            return Ok(());
        }
        if !busy {
            thread::sleep(NAP);
        }
    }
}

/// Counts the lines that the demo writes: one for each kill. Without the demo there is nothing to do.
fn count_kills() -> Result<Arc<AtomicU64>, Error> {
    let kills = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&kills);
    let count = move || {
        for _ in io::stdin().lines().map_while(Result::ok) {
            counts.fetch_add(1, Ordering::Relaxed);
        }
        process::exit(i32::from(Exit::Interrupted as u8));
    };
    thread::Builder::new().name("kills".into()).spawn(count).map_err(Error::Network)?;
    Ok(kills)
}

/// One stream.
struct Lane {
    at: usize,
    stream: Stream,
    records: u64,
    bytes: u64,
    stored: u64,
    /// When the records that are not stored were pushed, the oldest first.
    pushed_at: VecDeque<Instant>,
}

impl Lane {
    fn new(at: usize, stream: Stream, records: u64) -> Self {
        Self { at, stream, records, bytes: 0, stored: 0, pushed_at: VecDeque::new() }
    }

    /// Pushes as many records as may be on their way. Returns whether there was any.
    fn push(&mut self, plan: &Plan, sender: u32, kills: u64, record: &mut Vec<u8>) -> Result<bool, Error> {
        let mut any = false;
        let until = Plan::allowed(self.records, kills).min(self.stored + AHEAD);
        while self.stream.next() < until {
            plan.record(sender, self.at, self.stream.next(), record);
            match self.stream.try_push(record) {
                Ok(_) => {}
                Err(PushError::Full) => break,
                Err(why) => return Err(Error::Demo(why.to_string())),
            }
            self.pushed_at.push_back(clock::monotonic());
            self.bytes += record.len() as u64;
            any = true;
        }
        Ok(any)
    }

    fn confirm(&mut self, latencies: &mut Latencies) {
        let stored = self.stream.stored_below();
        if stored == self.stored {
            return;
        }
        let now = clock::monotonic();
        for _ in self.stored..stored {
            let Some(pushed) = self.pushed_at.pop_front() else { break };
            let took = now.saturating_duration_since(pushed).as_micros();
            latencies.note(u64::try_from(took).unwrap_or(u64::MAX), 1);
        }
        self.stored = stored;
    }

    fn is_done(&self) -> bool {
        self.stored >= self.records
    }
}

fn tell(lanes: &[Lane], latencies: Option<Latencies>) -> Result<(), Error> {
    let sum = |of: fn(&Lane) -> u64| lanes.iter().map(of).sum();
    let told = Told {
        sent: sum(|lane| lane.stream.next()),
        received: sum(|lane| lane.stream.received_below()),
        stored: sum(|lane| lane.stored),
        bytes: sum(|lane| lane.bytes),
        latencies,
    };
    let line = serde_json::to_string(&told).map_err(|error| Error::Output(error.into()))?;
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(Error::Output)
}
