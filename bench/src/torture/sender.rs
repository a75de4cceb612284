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

use anyhow::Result;
use clap::Args;
use tallylink_core::{End, KeyId, PeerId, Provision, crypto::Psk};
use tallylink_gateway::device::DeviceKey;
use tallylink_linux::{
    Sender, Settings,
    sender::{PushError, Stream},
};

use super::{
    check::stream_name,
    contents::{self, Origin},
    model::{Claim, Said},
    terms::{Drive, UP},
};
use crate::workload::SplitMix64;

/// The line that asks for an end: nothing more is pushed, and it ends when all is STORED.
pub(super) const FINISH: &str = "finish";

/// Records of a stream that may wait for STORED.
const AHEAD: u64 = 400;
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
        let provision = Provision::new(PeerId(key.peer.0), End::Device, KeyId(key.key_id), psk);
        let sender = Sender::with(&Settings::sender(), &self.to.to_string(), provision)?;
        let mut lanes = Vec::new();
        for stream in 0..self.streams {
            let origin = Origin { sender: self.sender, stream, life: self.life };
            lanes.push(Lane::new(origin, sender.open(&stream_name(stream))?));
        }
        println!("{UP}");

        let finish = listen()?;
        let mut random = SplitMix64(self.drive.chance);
        loop {
            let finishing = finish.load(Ordering::Relaxed);
            for lane in &mut lanes {
                if !finishing && random.next() % 3 == 0 {
                    lane.push(self.seed, 1 + random.next() % BURST)?;
                }
                lane.tell()?;
            }
            if finishing && lanes.iter().all(Lane::is_done) {
                return Ok(());
            }
            thread::sleep(Duration::from_micros(random.next() % 4_000));
        }
    }
}

/// Hears when to finish. Without the torturer there is nothing to do.
fn listen() -> Result<Arc<AtomicBool>> {
    let finish = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&finish);
    thread::Builder::new().name("orders".into()).spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            told.fetch_or(line == FINISH, Ordering::Relaxed);
        }
        process::exit(1);
    })?;
    Ok(finish)
}

/// One stream.
struct Lane {
    origin: Origin,
    stream: Stream,
    said: Option<Said>,
    record: Vec<u8>,
}

impl Lane {
    fn new(origin: Origin, stream: Stream) -> Self {
        Self { origin, stream, said: None, record: Vec::new() }
    }

    fn push(&mut self, seed: u64, records: u64) -> Result<()> {
        for _ in 0..records {
            if self.stream.next() >= self.stream.stored_below() + AHEAD {
                break;
            }
            contents::record(seed, self.origin, self.stream.next(), &mut self.record);
            match self.stream.try_push(&self.record) {
                Ok(_) => {}
                Err(PushError::Full) => break,
                Err(why) => return Err(why.into()),
            }
        }
        Ok(())
    }

    /// Says what is new.
    fn tell(&mut self) -> Result<()> {
        let claim = Claim {
            life: Some(self.origin.life),
            pushed: self.stream.next(),
            durable: 0,
            stored: self.stream.stored_below(),
        };
        let said = Some(Said { stream: self.origin.stream, epoch: None, claim });
        if said != self.said {
            self.said = said;
            if let Some(said) = said {
                let mut out = io::stdout().lock();
                writeln!(out, "{}", said.line())?;
                out.flush()?;
            }
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.stream.stored_below() >= self.stream.next()
    }
}
