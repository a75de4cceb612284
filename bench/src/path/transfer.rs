//! A transfer that others watch.
use std::{
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};

use super::Arguments;
use crate::{
    clock,
    lab::{
        emulator::{Emulator, Profile, Script},
        milliseconds,
        router::{self, Router, Told},
    },
    transport::{
        side::{Job, Run},
        sides::SideName,
        watch::Watch,
    },
    workload::Workload,
};

/// Bytes of a record.
pub(super) const SIZE: usize = 1_013;
/// Bits per second of the network.
pub(super) const RATE: u64 = 20_000_000;
/// One way.
const DELAY_MS: f64 = 10.0;
/// UDP payload of the largest datagram that fits an Ethernet frame.
const LARGEST: (u16, u16) = (1_472, 1_452);
/// How often a transfer is looked at.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// What all trials of one family have in common.
pub(super) struct Stage {
    pub(super) v6: bool,
    pub(super) quick: bool,
    pub(super) rounds: u32,
    pub(super) seed: u64,
    initial_datagram: u16,
}

/// A transfer under way.
pub(super) struct Transfer {
    pub(super) router: Router,
    pub(super) watch: Arc<Watch>,
    pub(super) begun: Instant,
    thread: JoinHandle<Result<Run>>,
}

impl Stage {
    pub(super) fn new(arguments: &Arguments, v6: bool) -> Self {
        let options = &arguments.options;
        let rounds = if options.quick { 1 } else { options.rounds };
        let initial_datagram = arguments.initial_datagram;
        Self { v6, quick: options.quick, rounds, seed: options.seed, initial_datagram }
    }

    pub(super) fn case(&self, trial: &str) -> String {
        format!("{trial}, {}", if self.v6 { "IPv6" } else { "IPv4" })
    }

    /// Starts to carry `records`.
    pub(super) fn start(&self, seed: u64, script: Script, records: u64) -> Result<Transfer> {
        let profile = Profile { delay: milliseconds(DELAY_MS), rate: Some(RATE), icmp: false, ..Profile::default() };
        let profile = Profile { queue: profile.bandwidth_delay().unwrap_or(u64::MAX), ..profile };
        let (router, mut ground) = router::build(Emulator::new(profile, script, seed), self.v6)?;
        if let Some(room) = &mut ground.room {
            room.datagram = (self.initial_datagram, if self.v6 { LARGEST.1 } else { LARGEST.0 });
        }
        let watch = Arc::new(Watch::default());
        let job = Job { workload: Arc::new(Workload::new(seed, SIZE)), records, ground, watch: Arc::clone(&watch) };
        let run = move || SideName::TallylinkGcm.side().run(&job);
        let thread = thread::Builder::new().name("transfer".into()).spawn(run)?;
        Ok(Transfer { router, watch, begun: clock::wall(), thread })
    }
}

impl Transfer {
    /// Sleeps until so long after the beginning, looking at it now and then.
    pub(super) fn until(&self, after: Duration, mut look: impl FnMut(&Self)) {
        while self.begun.elapsed() < after {
            thread::sleep(LOOK);
            look(self);
        }
    }

    /// Ends it, whatever is under way.
    pub(super) fn end(self) -> Result<(Run, Told)> {
        self.watch.end();
        self.finish()
    }

    /// Waits until it has ended by itself.
    pub(super) fn finish(self) -> Result<(Run, Told)> {
        let run = self.thread.join().map_err(|_| anyhow!("the transfer panicked"))?;
        let told = self.router.stop()?;
        Ok((run?, told))
    }
}
