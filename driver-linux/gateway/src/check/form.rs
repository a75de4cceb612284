//! What `check --json` prints, one object for each thing that was checked.

use serde::Serialize;
use tallylink_journal::{Check, FileCheck, Lost, Repair, SegmentCheck, StreamCheck};

use super::Found;
use crate::PeerId;
use crate::hex;
use crate::keystore::Damaged;
use crate::query::Names;

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Form {
    Journal(JournalForm),
    Keys(KeysForm),
}

#[derive(Serialize)]
pub(super) struct JournalForm {
    path: String,
    whole: bool,
    damaged_places: u64,
    segments: Vec<SegmentForm>,
    missing_segments: Vec<String>,
    checkpoints: [&'static str; 2],
    position: &'static str,
    streams: Vec<StreamForm>,
    unproven_bytes: u64,
    set_aside_places: u64,
    set_aside_bytes: u64,
    repaired: Option<RepairForm>,
}

#[derive(Serialize)]
struct SegmentForm {
    segment: String,
    counted_bytes: u64,
    whole_headers: u32,
    damaged_places: u64,
    damaged_bytes: u64,
    damage: Vec<RangeForm>,
    set_aside_bytes: u64,
}

#[derive(Serialize)]
struct RangeForm {
    from: u64,
    to: u64,
}

#[derive(Serialize)]
struct StreamForm {
    peer: String,
    name: Option<String>,
    stream: String,
    records: u64,
    lost_records: u64,
    lost: Vec<LostForm>,
}

#[derive(Serialize)]
struct LostForm {
    epoch: String,
    next: u64,
    below: u64,
    index: u64,
}

#[derive(Serialize)]
struct RepairForm {
    places: u64,
    bytes: u64,
    headers: u64,
}

#[derive(Serialize)]
pub(super) struct KeysForm {
    path: String,
    whole: bool,
    peers: usize,
    damaged: Vec<LineForm>,
    unfinished_bytes: u64,
    repaired: u64,
}

#[derive(Serialize)]
struct LineForm {
    line: u64,
    from: u64,
    to: u64,
    reason: String,
}

pub(super) fn form(found: &Found, names: &Names) -> Form {
    match found {
        Found::Journal { path, check, repair } => {
            Form::Journal(journal(path.display().to_string(), check, repair.as_ref(), names))
        }
        Found::Keys { store, contents, set_aside } => Form::Keys(KeysForm {
            path: store.file().display().to_string(),
            whole: contents.is_whole(),
            peers: contents.peers.len(),
            damaged: contents.damaged.iter().map(line).collect(),
            unfinished_bytes: contents.unfinished,
            repaired: *set_aside,
        }),
    }
}

pub(super) fn state(file: FileCheck) -> &'static str {
    match file {
        FileCheck::Whole => "whole",
        FileCheck::Missing => "missing",
        FileCheck::Damaged => "damaged",
    }
}

pub(super) fn epoch(lost: &Lost) -> String {
    let mut digits = Vec::new();
    hex::push(&mut digits, &lost.epoch);
    String::from_utf8_lossy(&digits).into_owned()
}

fn journal(path: String, check: &Check, repair: Option<&Repair>, names: &Names) -> JournalForm {
    JournalForm {
        path,
        whole: check.is_whole(),
        damaged_places: check.damaged_places(),
        segments: check.segments.iter().map(segment).collect(),
        missing_segments: check.missing_segments.iter().map(|id| format!("{id:016x}")).collect(),
        checkpoints: check.checkpoints.map(state),
        position: state(check.position),
        streams: check.streams.iter().map(|found| stream(found, names)).collect(),
        unproven_bytes: check.unproven_bytes,
        set_aside_places: check.set_aside.places,
        set_aside_bytes: check.set_aside.bytes,
        repaired: repair.map(|done| RepairForm { places: done.places, bytes: done.bytes, headers: done.headers }),
    }
}

fn segment(found: &SegmentCheck) -> SegmentForm {
    SegmentForm {
        segment: format!("{:016x}", found.segment),
        counted_bytes: found.counted,
        whole_headers: found.whole_headers,
        damaged_places: found.damaged_places,
        damaged_bytes: found.damaged_bytes,
        damage: found.damage.iter().map(|damage| RangeForm { from: damage.from, to: damage.to }).collect(),
        set_aside_bytes: found.set_aside_bytes,
    }
}

fn stream(found: &StreamCheck, names: &Names) -> StreamForm {
    StreamForm {
        peer: PeerId(found.peer).to_string(),
        name: names.name(found.peer).map(str::to_owned),
        stream: String::from_utf8_lossy(&found.name).into_owned(),
        records: found.records,
        lost_records: found.lost_records,
        lost: found.lost.iter().map(lost).collect(),
    }
}

fn lost(lost: &Lost) -> LostForm {
    LostForm { epoch: epoch(lost), next: lost.next, below: lost.below, index: lost.index }
}

fn line(bad: &Damaged) -> LineForm {
    let place = bad.place();
    LineForm { line: bad.line, from: place.start, to: place.end, reason: bad.reason.to_string() }
}
