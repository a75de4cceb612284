//! What is measured: one way to bring records from a sending thread to a receiving one.
use std::{
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, Result, anyhow};

use super::{ground::Ground, watch::Watch};
use crate::{
    clock,
    workload::{Checked, Workload},
};

/// A transport that can be measured.
pub(crate) trait Side {
    /// How result lines call it.
    fn name(&self) -> &'static str;

    /// Carries all records of `job` from one thread to another and checks each there. Ends sooner when the job's watch says so.
    ///
    /// # Errors
    /// When the transport fails, or stands still. Wrong content is no error: it is counted.
    fn run(&self, job: &Job) -> Result<Run>;
}

/// What to carry.
#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) workload: Arc<Workload>,
    pub(crate) records: u64,
    pub(crate) ground: Ground,
    pub(crate) watch: Arc<Watch>,
}

impl Job {
    /// All of these records, over loopback.
    pub(crate) fn over_loopback(workload: Arc<Workload>, records: u64) -> Self {
        Self { workload, records, ground: Ground::loopback(), watch: Arc::new(Watch::default()) }
    }
}

/// What carrying it took.
pub(crate) struct Run {
    /// Every thread that worked for this side.
    pub(crate) threads: Vec<ThreadCpu>,
    /// From the sender's first write until it knew that all had arrived.
    pub(crate) elapsed: Duration,
    pub(crate) checked: Checked,
    pub(crate) wire: Wire,
}

/// The sender's and receiver's own counters. `None` where a side does not count it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wire {
    /// Datagrams from the sender to the receiver.
    pub(crate) datagrams: u64,
    /// UDP payload of the largest, in bytes.
    pub(crate) largest: u64,
    /// Packets declared lost, whose content was therefore sent again.
    pub(crate) lost: u64,
    pub(crate) send_calls: Option<u64>,
    pub(crate) receive_calls: Option<u64>,
    /// What only Tallylink counts.
    pub(crate) repairs: Option<Repairs>,
}

/// How a Tallylink sender fared with losses.
#[derive(Clone, Copy)]
pub(crate) struct Repairs {
    /// Packets declared lost that had arrived.
    pub(crate) spurious: u64,
    /// Chunks sent again.
    pub(crate) repeated: u64,
    /// Probe timeouts.
    pub(crate) probes: u64,
}

/// Which end of the transport a thread worked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Sender,
    Receiver,
}

/// CPU of one thread.
pub(crate) struct ThreadCpu {
    pub(crate) end: End,
    /// Between [`Meter::start`] and [`Meter::stop`].
    pub(crate) work: Duration,
    /// All of it: also connecting and closing.
    pub(crate) total: Duration,
}

/// Tells set-up from work, on the thread that does both.
#[derive(Default)]
pub(crate) struct Meter {
    begun: Duration,
    work: Duration,
}

impl Meter {
    pub(crate) fn start(&mut self) {
        self.begun = clock::thread_cpu();
    }

    pub(crate) fn stop(&mut self) {
        self.work += clock::thread_cpu().saturating_sub(self.begun);
    }
}

/// A thread whose CPU is measured.
pub(crate) struct Metered<T>(JoinHandle<Result<(T, ThreadCpu)>>);

impl<T: Send + 'static> Metered<T> {
    /// Starts one end of a job, in its place.
    pub(crate) fn spawn(
        job: &Job,
        end: End,
        body: impl FnOnce(&Job, &mut Meter) -> Result<T> + Send + 'static,
    ) -> Result<Self> {
        let name = match end {
            End::Sender => "sender",
            End::Receiver => "receiver",
        };
        let job = job.clone();
        let run = move || {
            let mut meter = Meter::default();
            job.ground.place(end).enter().context("cannot enter the network namespace")?;
            let result = body(&job, &mut meter).with_context(|| format!("thread `{name}`"));
            if result.is_err() {
                // The other end would wait for ever.
                job.watch.end();
            }
            let result = result?;
            let cpu = ThreadCpu { end, work: meter.work, total: clock::thread_cpu() };
            Ok((result, cpu))
        };
        let thread = thread::Builder::new().name(name.into()).spawn(run)?;
        Ok(Self(thread))
    }

    /// Waits for the end of both ends. When both failed, the receiver did so first: without it there is nobody to send to.
    pub(crate) fn join_both<R: Send + 'static>(self, receiver: Metered<R>) -> Result<((T, ThreadCpu), (R, ThreadCpu))> {
        let (sent, received) = (self.join(), receiver.join()?);
        Ok((sent?, received))
    }

    fn join(self) -> Result<(T, ThreadCpu)> {
        self.0.join().map_err(|_| anyhow!("a thread panicked"))?
    }
}
