//! What one world is like: drawn from the seed, so that a thousand deaths meet many settings.
use std::{io, path::Path, time::Duration};

use clap::Args;
use tallylink_journal::{SyncSite, testing::Volatile};

use super::BENCH;
use crate::workload::SplitMix64;

/// Where the processes of a world keep their files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Disk {
    /// In a real directory.
    Files,
    /// In a store that lacks what was not synced.
    Volatile,
}

/// One world.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    pub(super) number: u32,
    /// Its own, not the run's.
    pub(super) seed: u64,
    pub(super) disk: Disk,
    pub(super) deaths: u32,
    pub(super) ignore: Option<SyncSite>,
    pub(super) senders: u32,
    pub(super) streams: u32,
    pub(super) loss_percent: u8,
    /// Bytes of a segment, at both ends.
    pub(super) segment: u64,
    /// What the gateway keeps; all of it unless set.
    pub(super) retain: Option<u64>,
    pub(super) commit_interval: Duration,
    /// A sync takes up to so long, where the store can be slow.
    pub(super) slowest_sync: Duration,
}

impl Terms {
    pub(super) fn draw(seed: u64, number: u32, disk: Disk, deaths: u32, ignore: Option<SyncSite>) -> Self {
        let mut random = SplitMix64(seed ^ (u64::from(number) << 32));
        let own = random.next();
        let mut one_of = |choices: &[u64]| choices[(random.next() % choices.len() as u64) as usize];
        Self {
            number,
            seed: own,
            disk,
            deaths,
            ignore,
            senders: one_of(&[1, 2, 3]) as u32,
            streams: one_of(&[1, 2, 3]) as u32,
            loss_percent: one_of(&[0, 1, 3]) as u8,
            // Small, so that segments change and checkpoints are written all the time.
            segment: one_of(&[16 << 10, 64 << 10, 1 << 20]),
            retain: Some(one_of(&[0, 0, 128 << 10])).filter(|bytes| *bytes > 0),
            commit_interval: Duration::from_millis(one_of(&[0, 2, 10])),
            slowest_sync: Duration::from_millis(one_of(&[0, 10, 40])),
        }
    }
}

/// What a process says once its stores are made: from now on a kill leaves what was written.
pub(super) const UP: &str = "up";

/// What a process is told of its disk.
#[derive(Args, Clone, Debug)]
pub(super) struct Drive {
    #[arg(long)]
    pub(super) disk: Disk,
    /// Only the process before has died: what it wrote is still there.
    #[arg(long)]
    pub(super) resume: bool,
    /// What is written early, and how torn.
    #[arg(long)]
    pub(super) chance: u64,
    #[arg(long)]
    pub(super) slowest_us: u64,
    #[arg(long, value_parser = parse_site)]
    pub(super) ignore: Option<SyncSite>,
}

impl Drive {
    pub(super) fn arguments(&self) -> Vec<String> {
        let disk = match self.disk {
            Disk::Files => "files",
            Disk::Volatile => "volatile",
        };
        let mut all = vec![format!("--disk={disk}"), format!("--chance={}", self.chance)];
        all.push(format!("--slowest-us={}", self.slowest_us));
        all.extend(self.resume.then(|| "--resume".to_owned()));
        all.extend(self.ignore.map(|site| format!("--ignore={site:?}")));
        all
    }

    /// The store at `path`.
    pub(super) fn volatile(&self, path: &Path) -> io::Result<Volatile> {
        let store = if self.resume { Volatile::resume(path, self.chance) } else { Volatile::new(path, self.chance) }?;
        store.ignore(self.ignore);
        store.slow(Duration::from_micros(self.slowest_us));
        Ok(store)
    }
}

/// A sync site by its name in the code.
pub(super) fn parse_site(text: &str) -> Result<SyncSite, String> {
    let name = |site: &SyncSite| format!("{site:?}");
    SyncSite::ALL.into_iter().find(|site| name(site) == text).ok_or_else(|| {
        let names: Vec<String> = SyncSite::ALL.iter().map(name).collect();
        format!("{BENCH} knows the sites {}", names.join(", "))
    })
}
