//! The receivers, each a process of its own.
use std::{
    fs::File,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use tallylink_gateway::{
    config::{Config, Door, Level, Place},
    ingest::{self, Ingest},
    serve,
};
use tempfile::TempDir;

use super::slow::Disk;
use crate::workload::Workload;

/// Who receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Direct,
    Queue(u32),
    Tallylink,
}

impl Side {
    pub(super) fn all(queues: &[u32]) -> Vec<Self> {
        let mut sides = vec![Self::Direct];
        sides.extend(queues.iter().copied().map(Self::Queue));
        sides.push(Self::Tallylink);
        sides
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Direct => "one thread".into(),
            Self::Queue(length) => format!("queue of {length}"),
            Self::Tallylink => "tallylink".into(),
        }
    }
}

/// What is sent, how, and to what disk.
pub(super) struct Experiment<'a> {
    pub(super) workload: &'a Workload,
    pub(super) datagrams: u64,
    pub(super) pause: Duration,
    pub(super) slow: bool,
    pub(super) receive_buffer: usize,
    pub(super) dir: &'a Path,
}

/// What became of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    pub(super) stored: u64,
    pub(super) lost_in_kernel: u64,
    pub(super) lost_in_queue: u64,
    pub(super) altered: u64,
    /// From the first datagram or record until the last was stored.
    pub(super) seconds: f64,
}

impl Experiment<'_> {
    pub(super) fn run(&self, side: Side) -> Result<Outcome> {
        let home = TempDir::with_prefix_in("tallylink-queue-", self.dir)?;
        let log = File::create(home.path().join("log"))?;
        match side {
            Side::Direct => self.plain(None, home.path(), &log),
            Side::Queue(datagrams) => self.plain(Some(datagrams), home.path(), &log),
            Side::Tallylink => self.tallylink(home.path(), &log),
        }
        .with_context(|| format!("{}; its messages: {}", side.name(), messages(home.path())))
    }
}

fn messages(home: &Path) -> String {
    std::fs::read_to_string(home.join("log")).unwrap_or_default()
}

/// A receiver, for `queue`.
#[derive(Args)]
pub(crate) struct QueueRole {
    #[arg(long)]
    data: PathBuf,
    #[arg(long)]
    slow: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Ingest(Ingest),
    Serve,
}

impl QueueRole {
    pub(crate) fn run(&self) -> Result<()> {
        let config = Config {
            listen: ([127, 0, 0, 1], 0).into(),
            data: Place::Path(self.data.clone()),
            log: Level::Warn,
            http: Door::Off,
            ..Config::default()
        };
        let disk = Disk::new(config.journal_dir(), self.slow)?;
        match &self.what {
            // That some were dropped is what is measured here.
            What::Ingest(ingest) => match ingest::run_on(disk, ingest, &config) {
                Err(tallylink_gateway::Error::Dropped { .. }) => Ok(()),
                ran => Ok(ran?),
            },
            What::Serve => Ok(serve::run_on(disk, &config)?),
        }
    }
}
