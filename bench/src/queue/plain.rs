//! (a) and (b): `tallylink ingest`, and the sender of plain datagrams.
use std::{
    fs::File,
    net::{Ipv4Addr, UdpSocket},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{
    journal,
    receivers::{Experiment, Outcome},
};
use crate::{
    clock,
    process::Conversation,
    workload::{HEAD, Workload},
};

/// As `tallylink ingest --json` says it.
#[derive(Deserialize)]
struct Summary {
    received: u64,
    stored: u64,
    dropped_by_kernel: Option<u64>,
    dropped_by_queue: u64,
    seconds: f64,
}

impl Experiment<'_> {
    /// Sends all datagrams to an `ingest` with this queue, or without one.
    pub(super) fn plain(&self, queue: Option<u32>, home: &Path, log: &File) -> Result<Outcome> {
        let data = home.join("data");
        let mut arguments = vec!["queue-receiver".to_owned(), format!("--data={}", data.display())];
        arguments.extend(self.slow.then(|| "--slow".to_owned()));
        arguments.extend(["ingest", "--udp=127.0.0.1:0", "--json"].map(str::to_owned));
        arguments.push(format!("--receive-buffer={}", self.receive_buffer));
        arguments.push(queue.map_or("--direct".to_owned(), |datagrams| format!("--queue={datagrams}")));
        let mut receiver = Conversation::start(&arguments, log)?;
        let address = receiver.hear("{\"listening\":\"")?;
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(address.trim_end_matches("\"}"))?;
        self.each(|datagram| {
            ensure!(socket.send(datagram)? == datagram.len(), "a datagram was cut");
            Ok(())
        })?;
        let said = receiver.stop_and_hear("{")?;
        let summary: Summary = serde_json::from_str(&format!("{{{said}")).context("no summary")?;

        let (stored, altered) = journal::look(&data.join("journal"), self.workload)?;
        let lost_in_kernel = summary.dropped_by_kernel.context("the kernel does not tell what it drops")?;
        ensure!(stored == summary.stored, "{stored} records are in the journal, ingest says {}", summary.stored);
        ensure!(summary.received + lost_in_kernel == self.datagrams, "datagrams are unaccounted for");
        ensure!(stored + summary.dropped_by_queue == summary.received, "records are unaccounted for");
        let lost_in_queue = summary.dropped_by_queue;
        Ok(Outcome { stored, lost_in_kernel, lost_in_queue, altered, seconds: summary.seconds })
    }

    /// Makes each payload in turn, and pauses behind it.
    pub(super) fn each(&self, mut send: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut payload = vec![0; self.workload.size()];
        let begun = clock::wall();
        for number in 0..self.datagrams {
            fill(&mut payload, self.workload, number);
            send(&payload)?;
            pause_until(begun + self.pause * u32::try_from(number + 1)?);
        }
        Ok(())
    }
}

fn fill(payload: &mut [u8], workload: &Workload, number: u64) {
    payload[..HEAD].copy_from_slice(&workload.head(number));
    payload[HEAD..].copy_from_slice(workload.body(number));
}

/// Sleeps as long as sleeping is exact enough, and watches the clock for the rest.
fn pause_until(at: Instant) {
    const EXACT: Duration = Duration::from_micros(80);
    loop {
        let left = at.saturating_duration_since(clock::wall());
        if left.is_zero() {
            return;
        }
        if left > EXACT {
            thread::sleep(left - EXACT);
        } else {
            std::hint::spin_loop();
        }
    }
}
