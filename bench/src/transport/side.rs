//! What is measured: one way to bring records from a sending thread to a receiving one.
use std::{
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, Result, anyhow};

use crate::{
    clock,
    workload::{Checked, Workload},
};

/// A transport that can be measured.
pub(crate) trait Side {
    /// How result lines call it.
    fn name(&self) -> &'static str;

    /// Carries all records of `job` from one thread to another over loopback and checks each there.
    ///
    /// # Errors
    /// When the transport fails. Wrong content is no error: it is counted.
    fn run(&self, job: &Job) -> Result<Run>;
}

/// What to carry.
#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) workload: Arc<Workload>,
    pub(crate) records: u64,
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
}

/// Which end of the transport a thread worked for.
#[derive(Clone, Copy, PartialEq, Eq)]
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
    pub(crate) fn spawn(
        end: End,
        name: &'static str,
        body: impl FnOnce(&mut Meter) -> Result<T> + Send + 'static,
    ) -> Result<Self> {
        let run = move || {
            let mut meter = Meter::default();
            let result = body(&mut meter).with_context(|| format!("thread `{name}`"))?;
            let cpu = ThreadCpu { end, work: meter.work, total: clock::thread_cpu() };
            Ok((result, cpu))
        };
        let thread = thread::Builder::new().name(name.into()).spawn(run)?;
        Ok(Self(thread))
    }

    /// Waits for its end.
    pub(crate) fn join(self) -> Result<(T, ThreadCpu)> {
        self.0.join().map_err(|_| anyhow!("a thread panicked"))?
    }
}
