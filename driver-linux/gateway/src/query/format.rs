//! The forms in which records are printed. Nothing is allocated per record.

use std::io::{self, Write};

use tallylink_journal::{Damage, Gap, Record};

use super::names::Names;
use super::{Format, escape, gap};
use crate::{PeerId, clock, hex, log};

/// What is written at once.
const WRITE_BYTES: usize = 256 << 10;

const CSV_HEADER: &str = "kind,time,peer,name,stream,epoch,number,index,end,encoding,data\r\n";

/// Prints records, many at a time.
#[derive(Debug)]
pub(super) struct Printer<'n, W> {
    out: W,
    buffer: Vec<u8>,
    format: Format,
    names: &'n Names,
    /// The stream of the last record, and how it is shown.
    stream: Option<Shown>,
    /// The time of the last record, and how it is shown.
    time: (u64, String),
    damaged: u64,
}

/// A stream and the part of a line that is the same for all of its records.
#[derive(Debug)]
struct Shown {
    peer: [u8; 8],
    name: Vec<u8>,
    epoch: [u8; 8],
    text: Vec<u8>,
}

impl<'n, W: Write> Printer<'n, W> {
    pub(super) fn new(out: W, format: Format, names: &'n Names) -> Self {
        let mut buffer = Vec::with_capacity(2 * WRITE_BYTES);
        if format == Format::Csv {
            buffer.extend_from_slice(CSV_HEADER.as_bytes());
        }
        Self { out, buffer, format, names, stream: None, time: (0, clock::rfc3339_micros(0)), damaged: 0 }
    }

    #[inline]
    pub(super) fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        if self.format == Format::Raw {
            self.buffer.extend_from_slice(record.bytes);
        } else {
            self.turn_to(record.peer, record.stream, record.epoch);
            self.set_time(record.arrival_us);
            self.line(record)?;
        }
        if self.buffer.len() >= WRITE_BYTES { self.flush() } else { Ok(()) }
    }

    pub(super) fn gap(&mut self, gap: &Gap<'_>) -> io::Result<()> {
        self.turn_to(gap.peer, gap.stream, gap.epoch);
        self.set_time(gap.arrival_us);
        let reason = gap::reason(gap.reason);
        let stream = self.stream.as_ref().map_or(&[][..], |stream| &stream.text);
        let (out, time) = (&mut self.buffer, &self.time.1);
        let (index, number) = (gap.index, gap.next);
        let end = index.saturating_add(gap.below.saturating_sub(number));
        match self.format {
            Format::Text => {
                write!(out, "{time} ")?;
                out.extend_from_slice(stream);
                writeln!(out, "{index} MISSING up to, not including, {end}: {reason}")
            }
            Format::Jsonl => {
                write!(out, "{{\"time\":\"{time}\",")?;
                out.extend_from_slice(stream);
                writeln!(out, "\"number\":{number},\"index\":{index},\"end\":{end},\"missing\":\"{reason}\"}}")
            }
            Format::Csv => {
                write!(out, "missing,{time},")?;
                out.extend_from_slice(stream);
                write!(out, "{number},{index},{end},utf8,{reason}\r\n")
            }
            Format::Raw => {
                log::say(format_args!(
                    "tallylink: warning: records {index} up to, not including, {end} of stream {} of {} are missing: {reason}",
                    String::from_utf8_lossy(gap.stream).escape_debug(),
                    PeerId(gap.peer)
                ));
                Ok(())
            }
        }
    }

    /// Tells of a damaged place; what it held cannot be said.
    pub(super) fn damage(&mut self, damage: &Damage) {
        const TOLD: u64 = 8;
        self.damaged += 1;
        if self.damaged <= TOLD {
            log::say(format_args!(
                "tallylink: warning: bytes {} to {} of segment {:016x} of the journal are damaged",
                damage.from, damage.to, damage.segment
            ));
        }
    }

    pub(super) fn damaged_places(&self) -> u64 {
        self.damaged
    }

    pub(super) fn out(&self) -> &W {
        &self.out
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        let written = self.out.write_all(&self.buffer);
        self.buffer.clear();
        written
    }

    fn line(&mut self, record: &Record<'_>) -> io::Result<()> {
        let stream = self.stream.as_ref().map_or(&[][..], |stream| &stream.text);
        let (out, time) = (&mut self.buffer, self.time.1.as_bytes());
        let Record { number, index, bytes, .. } = *record;
        match self.format {
            Format::Raw => {}
            Format::Text => {
                out.extend_from_slice(time);
                out.push(b' ');
                out.extend_from_slice(stream);
                write!(out, "{index} ")?;
                escape::text(out, bytes);
                out.push(b'\n');
            }
            Format::Jsonl => {
                out.extend_from_slice(b"{\"time\":\"");
                out.extend_from_slice(time);
                out.extend_from_slice(b"\",");
                out.extend_from_slice(stream);
                write!(out, "\"number\":{number},\"index\":{index},")?;
                if let Ok(text) = str::from_utf8(bytes) {
                    out.extend_from_slice(b"\"data\":");
                    escape::json(out, text);
                } else {
                    out.extend_from_slice(b"\"hex\":\"");
                    hex::push(out, bytes);
                    out.push(b'"');
                }
                out.extend_from_slice(b"}\n");
            }
            Format::Csv => {
                out.extend_from_slice(b"record,");
                out.extend_from_slice(time);
                out.push(b',');
                out.extend_from_slice(stream);
                write!(out, "{number},{index},{},", index.saturating_add(1))?;
                if str::from_utf8(bytes).is_ok() {
                    out.extend_from_slice(b"utf8,");
                    escape::csv(out, bytes);
                } else {
                    out.extend_from_slice(b"hex,");
                    hex::push(out, bytes);
                }
                out.extend_from_slice(b"\r\n");
            }
        }
        Ok(())
    }

    #[inline]
    fn turn_to(&mut self, peer: [u8; 8], stream: &[u8], epoch: [u8; 8]) {
        let same = |last: &Shown| last.name == stream && last.peer == peer && last.epoch == epoch;
        if !self.stream.as_ref().is_some_and(same) {
            self.stream = Some(Shown { peer, name: stream.to_owned(), epoch, text: self.show(peer, stream, epoch) });
        }
    }

    #[inline]
    fn set_time(&mut self, arrival_us: u64) {
        if self.time.0 != arrival_us {
            self.time = (arrival_us, clock::rfc3339_micros(arrival_us));
        }
    }

    fn show(&self, peer: [u8; 8], stream: &[u8], epoch: [u8; 8]) -> Vec<u8> {
        let name = self.names.name(peer);
        let id = PeerId(peer).to_string();
        let mut text = Vec::new();
        match self.format {
            Format::Raw => {}
            Format::Text => {
                text.extend_from_slice(name.unwrap_or(&id).as_bytes());
                text.push(b'/');
                escape::word(&mut text, stream);
                text.push(b' ');
            }
            Format::Jsonl => {
                text.extend([b"\"peer\":\"", id.as_bytes(), b"\","].concat());
                if let Some(name) = name {
                    text.extend([b"\"name\":\"", name.as_bytes(), b"\","].concat());
                }
                text.extend_from_slice(b"\"stream\":");
                escape::json(&mut text, &String::from_utf8_lossy(stream));
                text.extend_from_slice(b",\"epoch\":\"");
                hex::push(&mut text, &epoch);
                text.extend_from_slice(b"\",");
            }
            Format::Csv => {
                text.extend([id.as_bytes(), b",", name.unwrap_or_default().as_bytes(), b","].concat());
                escape::csv(&mut text, String::from_utf8_lossy(stream).as_bytes());
                text.push(b',');
                hex::push(&mut text, &epoch);
                text.push(b',');
            }
        }
        text
    }
}
