//! `many`: thousands of slow senders on one gateway, and what one fast sender does to them.
//!
//! The gateway is a process of its own on a journal of its own. The slow ones have a microcontroller's limits and share a thread; each pushes a small record
//! every second, and it is measured how long it takes from there to STORED: in turn without the fast one, and while
//! it sends as much as it can.

mod crowd;
mod fast;
mod slow;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Deserialize;
use tallylink_core::{End, KeyId, PeerId, Provision, crypto::Psk};

use self::crowd::{Crowd, Seen};
pub(crate) use self::fast::Fast;
use crate::{
    machine::Machine,
    marks::{Bound, Mark},
    options::Options,
    report::{self, Figure},
    statistics::{median, percentile},
    strangers::gateway::{Gateway, Home},
};

/// The name in result lines.
const BENCH: &str = "many";
const ALONE: &str = "without the fast one";
const BESIDE: &str = "with the fast one";
const P99: &str = "p99_push_to_stored";
const ERRORS: &str = "errors";
/// A sender whose last record is still under way pushes none: this share of records would be the slowest of all.
const MISSED: &str = "share_of_turns_missed";
const MISSED_MOST: f64 = 0.01;
/// Of its value without the fast one.
const P99_MOST: f64 = 3.0;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Senders, the fast one included.
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    peers: u32,
    /// How long each half of a round is watched.
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,
    #[command(flatten)]
    options: Options,
}

/// One half of a round.
struct Half {
    seen: Seen,
    /// Records per second that the fast one had stored.
    fast: f64,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let options = &arguments.options;
    let (alone, beside) = play(arguments)?;
    let figures = figures(arguments.peers, &alone, &beside);
    let machine = Machine::here(options.seed, options.rounds, options.quick);
    report::publish(BENCH, machine, &figures, || marks(arguments.peers), &options.output)
}

fn play(arguments: &Arguments) -> Result<(Vec<Half>, Vec<Half>)> {
    let home = Home::new()?;
    let mut keys = provision(&home, arguments.peers)?;
    let gateway = Gateway::start(&home)?;
    let of_fast = keys.pop().context("no peers")?;
    let mut crowd = Crowd::gather(&keys, gateway.address)?;

    let seconds = if arguments.options.quick { 2 } else { arguments.seconds };
    let watched = Duration::from_secs(seconds);
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..arguments.options.rounds {
        alone.push(Half { seen: crowd.watch(watched)?, fast: 0.0 });
        let fast = Fast::start(&of_fast, gateway.address)?;
        // Until its window has grown.
        crowd.watch(watched / 4)?;
        let before = fast.stored();
        let seen = crowd.watch(watched)?;
        let rate = (fast.stored() - before) as f64 / watched.as_secs_f64();
        fast.stop()?;
        beside.push(Half { seen, fast: rate });
    }
    Ok((alone, beside))
}

/// What a sender needs to know.
pub(crate) struct Provided {
    id: PeerId,
    key: [u8; 16],
}

impl Provided {
    fn psk(&self) -> Psk {
        Psk::from_bytes(self.key)
    }

    fn key_id() -> KeyId {
        KeyId(0)
    }

    /// What the device end is told.
    pub(crate) fn device(&self) -> Provision {
        Provision::new(self.id, End::Device, Self::key_id(), self.psk())
    }
}

/// As `tallylink peer add --json` prints it.
#[derive(Deserialize)]
struct Line {
    peer: String,
    key: String,
}

/// Adds so many peers to a home's key store.
pub(crate) fn provision(home: &Home, peers: u32) -> Result<Vec<Provided>> {
    let names: String = (0..peers).map(|number| format!("peer-{number}\n")).collect();
    let printed = home.ok(&["peer", "add", "--from", "-", "--json"], names.as_bytes())?;
    let printed = String::from_utf8(printed)?;
    printed
        .lines()
        .map(|line| {
            let line: Line = serde_json::from_str(line)?;
            Ok(Provided { id: PeerId(bytes(&line.peer)?), key: bytes(&line.key)? })
        })
        .collect()
}

fn bytes<const N: usize>(digits: &str) -> Result<[u8; N]> {
    ensure!(digits.len() == 2 * N && digits.is_ascii(), "`{digits}` has not {N} bytes");
    let mut bytes = [0; N];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * index..2 * index + 2], 16)?;
    }
    Ok(bytes)
}

fn case(peers: u32) -> String {
    format!("{} slow senders", peers - 1)
}

fn figures(peers: u32, alone: &[Half], beside: &[Half]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (side, halves) in [(ALONE, alone), (BESIDE, beside)] {
        let mut figure = |metric: &str, unit: &str, value, ratio| {
            let (bench, case, side) = (BENCH.into(), case(peers), side.into());
            figures.push(Figure { bench, case, side, metric: metric.into(), value, unit: unit.into(), ratio });
        };
        let at = |half: &Half, share| percentile(&half.seen.milliseconds, share);
        let over = |share| median(halves.iter().map(|half| at(half, share)));
        let ratio = |share| median(halves.iter().zip(alone).map(|(half, alone)| at(half, share) / at(alone, share)));
        figure(P99, "ms", over(0.99), Some(ratio(0.99)));
        figure("median_push_to_stored", "ms", over(0.5), Some(ratio(0.5)));
        figure("longest_push_to_stored", "ms", over(1.0), Some(ratio(1.0)));
        let stored = |half: &Half| half.seen.milliseconds.len() as f64;
        figure("records_stored", "", median(halves.iter().map(stored)), None);
        let missed = |half: &Half| half.seen.missed as f64 / (half.seen.missed as f64 + stored(half));
        figure(MISSED, "", median(halves.iter().map(missed)), None);
        figure("records_per_second_of_the_fast_one", "1/s", median(halves.iter().map(|half| half.fast)), None);
        figure(ERRORS, "", halves.iter().map(|half| half.seen.sessions_ended as f64).sum(), None);
    }
    figures
}

fn marks(peers: u32) -> Vec<Mark> {
    let mark =
        |side: &str, metric: &str, bound| Mark { case: case(peers), side: side.into(), metric: metric.into(), bound };
    vec![
        mark(BESIDE, P99, Bound::RatioAtMost(P99_MOST)),
        mark(ALONE, MISSED, Bound::AtMost(MISSED_MOST)),
        mark(BESIDE, MISSED, Bound::AtMost(MISSED_MOST)),
        mark(ALONE, ERRORS, Bound::AtMost(0.0)),
        mark(BESIDE, ERRORS, Bound::AtMost(0.0)),
    ]
}
