//! Filling, round by round, each side in turn.

use std::{fs::File, io::Write as _, path::Path, time::Duration};

use anyhow::{Context, Result, ensure};
use tallylink_core::{KeyId, PeerId, crypto::Psk, wire::varint};
use tallylink_linux::Sender;

use crate::{
    meter::{Meter, Spent},
    workload::{HEAD, Packed, Workload},
};

/// Longer than any disk takes; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(600);
/// What is written to the plain file at once.
const WRITE_BYTES: usize = 1 << 20;
/// A loopback address where nobody listens: the gateway is away.
const NOWHERE: &str = "127.0.0.1:9";

/// What is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// An outbox, a record a call.
    OneByOne,
    /// An outbox, packed records in batches.
    Batches,
    /// A file, written and synced.
    File,
}

/// In the order of their turns.
pub(super) const SIDES: [Side; 3] = [Side::OneByOne, Side::Batches, Side::File];

impl Side {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::OneByOne => "outbox, one by one",
            Self::Batches => "outbox, in batches",
            Self::File => "write and sync only",
        }
    }
}

/// So many records of one size.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) records: u64,
    pub(super) workload: Workload,
}

/// One case.
pub(super) struct Measured {
    pub(super) case: String,
    /// Bytes of all records, their sizes not counted.
    pub(super) bytes: f64,
    pub(super) rounds: Vec<[Spent; SIDES.len()]>,
}

/// Fills everything, `rounds` times.
pub(super) fn measure(cases: &[Case], rounds: u32, dir: Option<&Path>) -> Result<Vec<Measured>> {
    let mut measured: Vec<Measured> = cases
        .iter()
        .map(|case| Measured {
            case: case.name.clone(),
            bytes: (case.records * case.workload.size() as u64) as f64,
            rounds: Vec::new(),
        })
        .collect();
    for _ in 0..rounds {
        for (case, measured) in cases.iter().zip(&mut measured) {
            let mut round = [Spent::default(); SIDES.len()];
            for (side, round) in SIDES.into_iter().zip(&mut round) {
                *round = fill(case, side, dir).with_context(|| format!("{}, {}", case.name, side.name()))?;
            }
            measured.rounds.push(round);
        }
    }
    Ok(measured)
}

fn fill(case: &Case, side: Side, dir: Option<&Path>) -> Result<Spent> {
    let home = match dir {
        Some(dir) => tempfile::tempdir_in(dir),
        None => tempfile::tempdir(),
    }?;
    let path = home.path().join("filled");
    match side {
        Side::File => write_and_sync(case, &path),
        Side::OneByOne | Side::Batches => push(case, side, &path),
    }
}

fn push(case: &Case, side: Side, path: &Path) -> Result<Spent> {
    let sender = Sender::connect(NOWHERE, PeerId(*b"the-fill"), KeyId(0), Psk::from_bytes([7; 16]))?;
    let mut stream = sender.open_durable("fill", path)?;
    let size = varint::encode(case.workload.size() as u64).ok().context("records longer than any can be")?;
    let mut packed = Packed::new(&case.workload, size.as_slice());
    let mut record = vec![0; case.workload.size()];
    let mut number = 0;
    let start = Meter::start()?;
    while number < case.records {
        if side == Side::OneByOne {
            let head = case.workload.head(number);
            record[..HEAD].copy_from_slice(&head);
            record[HEAD..].copy_from_slice(case.workload.body(number));
            stream.push(&record)?;
            number += 1;
        } else {
            let (many, batch) = packed.batch(&case.workload, number, case.records - number);
            stream.push_batch(batch)?;
            number += many;
        }
    }
    stream.flush_durable(PATIENCE)?;
    let round = start.spent()?;
    ensure!(stream.progress().durable_below() == case.records, "not everything is durable");
    Ok(round)
}

fn write_and_sync(case: &Case, path: &Path) -> Result<Spent> {
    let size = varint::encode(case.workload.size() as u64).ok().context("records longer than any can be")?;
    let mut packed = Packed::new(&case.workload, size.as_slice());
    let mut buffer = Vec::with_capacity(2 * WRITE_BYTES);
    let mut number = 0;
    let start = Meter::start()?;
    let mut file = File::create(path)?;
    while number < case.records {
        let (many, batch) = packed.batch(&case.workload, number, case.records - number);
        buffer.extend_from_slice(batch);
        number += many;
        if buffer.len() >= WRITE_BYTES || number == case.records {
            file.write_all(&buffer)?;
            buffer.clear();
        }
    }
    file.sync_data()?;
    start.spent()
}
