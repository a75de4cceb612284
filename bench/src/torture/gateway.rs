//! The role of the gateway: the very code of `tallylink serve`, on a real directory or on one that lacks what was not synced.
use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use anyhow::Result;
use clap::Args;
use tallylink_gateway::{
    config::{Bytes, Config, Level, Limit, Place, Span},
    serve,
};
use tallylink_journal::Dir;

use super::terms::{Disk, Drive, UP};

/// What the torturer starts a gateway with.
#[derive(Args)]
pub(crate) struct GatewayRole {
    #[command(flatten)]
    drive: Drive,
    #[arg(long)]
    data: PathBuf,
    #[arg(long)]
    segment: u64,
    #[arg(long)]
    retain: Option<u64>,
    #[arg(long)]
    commit_interval_us: u64,
}

impl GatewayRole {
    /// Runs until SIGTERM.
    pub(crate) fn run(&self) -> Result<()> {
        let config = Config {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            data: Place::Path(self.data.clone()),
            segment: Bytes(self.segment),
            retain_bytes: self.retain.map_or(Limit::Unlimited, |bytes| Limit::At(Bytes(bytes))),
            commit_interval: Span(Duration::from_micros(self.commit_interval_us)),
            log: Level::Warn,
            ..Config::default()
        };
        let path = config.journal_dir();
        match self.drive.disk {
            Disk::Files => serve::run_on(Dir::create(path)?, &config)?,
            Disk::Volatile => {
                let store = self.drive.volatile(&path)?;
                println!("{UP}");
                serve::run_on(store, &config)?;
            }
        }
        Ok(())
    }
}
