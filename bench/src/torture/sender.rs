//! The role of a sender: pushes records as long as it lives, and says what it is told of them.
use std::{
    io::{self, Write as _},
    net::SocketAddr,
    path::PathBuf,
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use tallylink_core::{End, Epoch, KeyId, Name, PeerId, Provision, crypto::Psk};
use tallylink_gateway::device::DeviceKey;
use tallylink_journal::{Dir, Store};
use tallylink_linux::{
    Sender, Settings,
    outbox::{EpochNow, Outbox, OutboxOptions, Owner},
    sender::{DurableError, DurableStream, Progress},
};

use super::{
    check::stream_name,
    contents::{self, Origin},
    model::{Claim, Said},
    terms::{Disk, Drive, UP},
};
use crate::workload::SplitMix64;

/// The line that asks for an end: nothing more is pushed, and it ends when all is STORED.
pub(super) const FINISH: &str = "finish";
/// The line that asks what it waits for.
pub(super) const EXPLAIN: &str = "explain";

/// Records of a stream that may wait for STORED.
const AHEAD: u64 = 400;
/// A disk that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);
/// The most that are pushed at once.
const BURST: u64 = 60;

/// What the torturer starts a sender with.
#[derive(Args)]
pub(crate) struct SenderRole {
    #[command(flatten)]
    drive: Drive,
    #[arg(long)]
    to: SocketAddr,
    #[arg(long)]
    key: PathBuf,
    /// Where outboxes are.
    #[arg(long)]
    dir: PathBuf,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    sender: u32,
    #[arg(long)]
    life: u32,
    #[arg(long)]
    streams: u32,
    #[arg(long)]
    segment: u64,
}

impl SenderRole {
    /// Runs until it was asked to finish and everything is STORED.
    pub(crate) fn run(&self) -> Result<()> {
        let key = DeviceKey::read(&self.key)?;
        let psk = Psk::from_bytes(*key.secret.expose());
        let peer = PeerId(key.peer.0);
        let provision = Provision::new(peer, End::Device, KeyId(key.key_id), psk);
        let sender = Sender::with(&Settings::sender(), &self.to.to_string(), provision)?;
        let mut lanes = match self.drive.disk {
            Disk::Files => self.open(&sender, peer, |path| Ok(Dir::create(path)?))?,
            Disk::Volatile => self.open(&sender, peer, |path| Ok(self.drive.volatile(&path)?))?,
        };
        let finish = listen(lanes.iter().map(|lane| lane.progress.clone()).collect(), sender)?;
        let mut random = SplitMix64(self.drive.chance);
        loop {
            let finishing = finish.load(Ordering::Relaxed);
            for lane in &mut lanes {
                if !finishing && random.next().is_multiple_of(3) {
                    lane.push(self.seed, 1 + random.next() % BURST)?;
                }
                if finishing || random.next().is_multiple_of(8) {
                    lane.stream.flush_durable(PATIENCE)?;
                }
                lane.tell()?;
            }
            if finishing && lanes.iter().all(Lane::is_done) {
                return lanes.iter_mut().try_for_each(Lane::tell);
            }
            thread::sleep(Duration::from_micros(random.next() % 4_000));
        }
    }

    /// Opens each stream on an outbox of its own.
    fn open<S>(&self, sender: &Sender, peer: PeerId, make: impl Fn(PathBuf) -> Result<S>) -> Result<Vec<Lane>>
    where
        S: Store<File: Send, Lock: Send> + Clone + Send + 'static,
    {
        let stores = (0..self.streams).map(|stream| make(self.dir.join(stream.to_string())));
        let stores = stores.collect::<Result<Vec<S>>>()?;
        println!("{UP}");
        let mut lanes = Vec::new();
        for (stream, store) in (0..).zip(stores) {
            let origin = Origin { sender: self.sender, stream, life: self.life };
            let owner = Owner { peer, stream: Name::new(&stream_name(stream)).context("a name")? };
            let mut random = SplitMix64(self.drive.chance ^ (u64::from(stream) + 1));
            let options =
                OutboxOptions { salt: random.next() | 1, segment_bytes: self.segment, ..OutboxOptions::default() };
            let outbox = Outbox::open(store, &owner, Epoch(random.next().to_be_bytes()), &options)?;
            let inherited: Vec<EpochNow> = outbox.epochs().collect();
            let epoch = outbox.fresh();
            lanes.push(Lane::new(origin, sender.attach(outbox)?, epoch, inherited));
        }
        Ok(lanes)
    }
}

/// Hears when to finish. Without the torturer there is nothing to do.
fn listen(streams: Vec<Progress>, sender: Sender) -> Result<Arc<AtomicBool>> {
    let finish = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&finish);
    thread::Builder::new().name("orders".into()).spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            match line.as_str() {
                FINISH => told.store(true, Ordering::Relaxed),
                _ => explain(&streams, &sender),
            }
        }
        process::exit(1);
    })?;
    Ok(finish)
}

/// Says how far everything is, for whoever wonders why it does not go on.
fn explain(streams: &[Progress], sender: &Sender) {
    for (stream, progress) in streams.iter().enumerate() {
        eprintln!(
            "stream {stream}: pushed {}, durable {}, RECEIVED {}, STORED {}, waiting {}, of earlier openings {}",
            progress.next(),
            progress.durable_below(),
            progress.received_below(),
            progress.stored_below(),
            progress.waiting(),
            progress.inherited()
        );
    }
    eprintln!("connected: {}; {:?}", sender.is_connected(), sender.counters());
}

/// One stream.
struct Lane {
    origin: Origin,
    stream: DurableStream,
    progress: Progress,
    epoch: Epoch,
    /// What earlier openings left, the oldest first.
    inherited: Vec<EpochNow>,
    said: Vec<Said>,
    record: Vec<u8>,
}

impl Lane {
    fn new(origin: Origin, stream: DurableStream, epoch: Epoch, inherited: Vec<EpochNow>) -> Self {
        let progress = stream.progress();
        Self { origin, stream, progress, epoch, inherited, said: Vec::new(), record: Vec::new() }
    }

    fn push(&mut self, seed: u64, records: u64) -> Result<()> {
        for _ in 0..records {
            if self.stream.next() >= self.progress.stored_below() + AHEAD {
                break;
            }
            contents::record(seed, self.origin, self.stream.next(), &mut self.record);
            match self.stream.try_push(&self.record) {
                Ok(_) => {}
                Err(DurableError::Full) => break,
                Err(why) => return Err(why.into()),
            }
        }
        Ok(())
    }

    /// Says what is new, of this opening and of what it inherited.
    fn tell(&mut self) -> Result<()> {
        ensure!(!self.progress.was_rolled_back(), "the gateway has more than the outbox ever had");
        let mut left = self.progress.inherited();
        let mut news = Vec::new();
        // They are delivered one after the other, the oldest first.
        for epoch in self.inherited.iter().rev() {
            let waits = left.min(epoch.durable_below - epoch.stored_below);
            left -= waits;
            let durable = epoch.durable_below;
            news.push(self.said(epoch.epoch, Claim { durable, stored: durable - waits, ..Claim::default() }));
        }
        // STORED is asked first: what is STORED was durable before, and pushed before that.
        let stored = self.progress.stored_below();
        let durable = self.progress.durable_below();
        let claim =
            Claim { life: Some(self.origin.life), pushed: self.stream.next(), durable, stored, ..Claim::default() };
        news.push(self.said(self.epoch, claim));
        let mut out = io::stdout().lock();
        for said in news.iter().filter(|said| !self.said.contains(said)) {
            writeln!(out, "{}", said.line())?;
        }
        out.flush()?;
        self.said = news;
        Ok(())
    }

    fn said(&self, epoch: Epoch, claim: Claim) -> Said {
        Said { stream: self.origin.stream, epoch: epoch.0, claim }
    }

    fn is_done(&self) -> bool {
        self.progress.inherited() == 0 && self.progress.stored_below() >= self.stream.next()
    }
}
