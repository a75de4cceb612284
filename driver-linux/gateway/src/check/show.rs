//! How the findings of `check` are printed.

use std::io::{self, Write};
use std::path::Path;

use tallylink_journal::{Check, FileCheck, Repair, SET_ASIDE_FILE, SegmentCheck, StreamCheck};

use super::{Found, form};
use crate::PeerId;
use crate::keystore::{Contents, KeyStore};
use crate::query::Names;

pub(super) fn json(out: &mut impl Write, found: &Found, names: &Names) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &form::form(found, names))?;
    out.write_all(b"\n")
}

pub(super) fn text(out: &mut impl Write, found: &Found, names: &Names) -> io::Result<()> {
    match found {
        Found::Journal { path, check, repair } => journal(out, path, check, repair.as_ref(), names),
        Found::Keys { store, contents, set_aside } => keys(out, store, contents, *set_aside),
    }
}

fn journal(out: &mut impl Write, path: &Path, check: &Check, repair: Option<&Repair>, names: &Names) -> io::Result<()> {
    let bytes: u64 = check.segments.iter().map(|segment| segment.counted).sum();
    writeln!(out, "journal {}: {}", path.display(), verdict(check.is_whole()))?;
    writeln!(out, "  {} in {}", plural(bytes, "byte"), plural(check.segments.len() as u64, "segment"))?;
    if let Some(Repair { places, bytes, headers, .. }) = repair {
        let (places, bytes, headers) = (plural(*places, "place"), plural(*bytes, "byte"), plural(*headers, "header"));
        writeln!(out, "  repaired: {places} ({bytes}) set aside, {headers} written anew")?;
    }
    for (name, state) in ["checkpoint-a", "checkpoint-b"].into_iter().zip(check.checkpoints) {
        beside(out, name, state)?;
    }
    beside(out, tallylink_journal::POSITION_FILE, check.position)?;
    for id in &check.missing_segments {
        writeln!(out, "  {id:016x}.segment: missing")?;
    }
    for found in &check.segments {
        segment(out, found)?;
    }
    if check.set_aside.places > 0 {
        let (places, bytes) = (plural(check.set_aside.places, "place"), plural(check.set_aside.bytes, "byte"));
        writeln!(out, "  {SET_ASIDE_FILE}: keeps {places} of earlier repairs ({bytes})")?;
    }
    if check.unproven_bytes > 0 {
        writeln!(out, "  {} behind the last sync, whole", plural(check.unproven_bytes, "byte"))?;
    }
    for found in &check.streams {
        stream(out, found, names)?;
    }
    Ok(())
}

fn beside(out: &mut impl Write, name: &str, state: FileCheck) -> io::Result<()> {
    match state {
        FileCheck::Whole => Ok(()),
        FileCheck::Missing => writeln!(out, "  {name}: missing; the next start makes it again"),
        FileCheck::Damaged => {
            writeln!(out, "  {name}: damaged, or cut short by a power cut; the next start goes without it")
        }
    }
}

fn segment(out: &mut impl Write, found: &SegmentCheck) -> io::Result<()> {
    let SegmentCheck { segment, whole_headers, .. } = found;
    match whole_headers {
        0 => writeln!(out, "  {segment:016x}.segment: both copies of its header are damaged")?,
        1 => writeln!(out, "  {segment:016x}.segment: one of the two copies of its header is damaged")?,
        _ => {}
    }
    for damage in &found.damage {
        let (from, to) = (damage.from, damage.to);
        writeln!(out, "  {segment:016x}.segment: damaged from byte {from} up to, not including, {to}")?;
    }
    let more = found.damaged_places - found.damage.len() as u64;
    if more > 0 {
        writeln!(out, "  {segment:016x}.segment: damaged in {} more", plural(more, "place"))?;
    }
    Ok(())
}

fn stream(out: &mut impl Write, found: &StreamCheck, names: &Names) -> io::Result<()> {
    let id = PeerId(found.peer).to_string();
    let peer = names.name(found.peer).unwrap_or(&id);
    let name = String::from_utf8_lossy(&found.name);
    write!(out, "  {peer}/{}: {} whole", name.escape_debug(), plural(found.records, "record"))?;
    if found.lost_records > 0 {
        write!(out, ", {} lost", found.lost_records)?;
    }
    writeln!(out)?;
    for lost in &found.lost {
        let (next, below, index) = (lost.next, lost.below, lost.index);
        let epoch = form::epoch(lost);
        writeln!(out, "    lost: {next} up to, not including, {below} of epoch {epoch} (from index {index} on)")?;
    }
    Ok(())
}

fn keys(out: &mut impl Write, store: &KeyStore, contents: &Contents, set_aside: u64) -> io::Result<()> {
    let peers = plural(contents.peers.len() as u64, "peer");
    writeln!(out, "keys {}: {}, {peers}", store.file().display(), verdict(contents.is_whole()))?;
    if set_aside > 0 {
        let file = store.damage_file();
        writeln!(out, "  repaired: {} set aside in {}", plural(set_aside, "line"), file.display())?;
    }
    for bad in &contents.damaged {
        let place = bad.place();
        let (from, to) = (place.start, place.end);
        writeln!(out, "  line {}, bytes {from} up to, not including, {to}: {}", bad.line, bad.reason)?;
    }
    if contents.unfinished > 0 {
        writeln!(
            out,
            "  its last {} are no whole line: cut off, or not finished",
            plural(contents.unfinished, "byte")
        )?;
    }
    Ok(())
}

fn verdict(whole: bool) -> &'static str {
    if whole { "whole" } else { "DAMAGED" }
}

fn plural(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
