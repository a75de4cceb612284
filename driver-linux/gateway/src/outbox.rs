//! `outbox`: what waits in a directory of outboxes.

mod dirs;
mod look;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

pub(crate) use dirs::{dir_of, stream_of, streams_in};
pub(crate) use look::{Held, held};

use crate::output::Output;
use crate::{Error, clock};
use look::look;

/// The arguments of `outbox`.
#[derive(Debug, Args)]
pub struct Outbox {
    /// The directory that was given to `send --outbox`
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What a directory holds.
#[derive(Debug, Serialize)]
struct Report {
    dir: PathBuf,
    streams: Vec<StreamReport>,
}

/// One stream's outbox.
#[derive(Debug, Serialize)]
struct StreamReport {
    stream: String,
    /// Whose it is; absent while nothing was ever pushed.
    peer: Option<String>,
    dir: PathBuf,
    /// Whether a sender has it open.
    in_use: bool,
    /// Records that were ever made durable here: `send --resume` goes on behind so many of its input.
    ever: u64,
    /// Of those, how many the gateway has stored.
    stored: u64,
    waiting: u64,
    waiting_bytes: u64,
    /// Seconds since the oldest of them was pushed.
    oldest_waits_s: Option<u64>,
    /// Places that cannot be read; see `tallylink check`.
    damaged_places: u64,
    /// The epochs that have records waiting, in the order in which they go out.
    epochs: Vec<EpochReport>,
}

/// Records of one opening.
#[derive(Debug, Serialize)]
struct EpochReport {
    epoch: String,
    /// Number of the first that waits.
    from: u64,
    /// Number of the first that was not pushed.
    below: u64,
}

/// Prints what waits in a directory of outboxes.
///
/// # Errors
/// There is no such directory, nothing in it is an outbox, or it cannot be read.
pub fn run(outbox: &Outbox) -> Result<(), Error> {
    let dir = outbox.dir.clone();
    let streams = streams_in(&dir)?.into_iter().map(|(name, path)| look(name, path)).collect::<Result<_, _>>()?;
    let report = Report { dir, streams };
    let mut out = Output::new(None)?;
    let printed = if outbox.json {
        serde_json::to_string(&report).map_err(std::io::Error::from).and_then(|json| writeln!(out, "{json}"))
    } else {
        report.streams.iter().try_for_each(|stream| out.write_all(text(stream).as_bytes()))
    };
    printed.and_then(|()| out.flush()).map_err(Error::Output)
}

fn text(report: &StreamReport) -> String {
    let peer = report.peer.as_deref().unwrap_or("no peer yet");
    let mut text = format!("{} of {peer}: ", report.stream.escape_debug());
    if report.waiting == 0 {
        text += &format!("nothing waits, all of {} records are stored", report.ever);
    } else {
        let bytes = bytesize::ByteSize(report.waiting_bytes);
        text += &format!("{} of {} records wait, {bytes}", report.waiting, report.ever);
        if let Some(seconds) = report.oldest_waits_s {
            text += &format!(", the oldest for {}", humantime::format_duration(Duration::from_secs(seconds)));
        }
    }
    text += if report.in_use { "; a sender has it open\n" } else { "\n" };
    if report.damaged_places > 0 {
        text +=
            &format!("  {} places are damaged: `tallylink check {}`\n", report.damaged_places, report.dir.display());
    }
    for epoch in &report.epochs {
        text += &format!("  epoch {}: numbers {} to {}\n", epoch.epoch, epoch.from, epoch.below.saturating_sub(1));
    }
    text
}

fn seconds_since(arrival_us: u64) -> u64 {
    clock::unix_micros().saturating_sub(arrival_us) / 1_000_000
}
