//! Datagrams on standard output.

use std::io::{self, Write};

use tallylink_files::records;

use super::Format;
use super::receive::Datagram;
use super::write::Sink;
use crate::query::escape;
use crate::{Error, clock, hex};

/// Standard output in one of the formats.
#[derive(Debug)]
pub(super) struct ToStdout {
    format: Format,
    buffer: Vec<u8>,
    put: u64,
}

impl ToStdout {
    pub(super) fn new(format: Format) -> Self {
        Self { format, buffer: Vec::new(), put: 0 }
    }
}

impl Sink for ToStdout {
    fn put(&mut self, datagram: &Datagram<'_>) -> Result<(), Error> {
        let out = &mut self.buffer;
        self.put += 1;
        match self.format {
            Format::Frames => {
                // A datagram has less than 64 KiB.
                let _ = records::push_frame(out, datagram.bytes);
            }
            Format::Jsonl => {
                let (time, from) = (clock::rfc3339_micros(datagram.arrival_us), datagram.from);
                write!(out, "{{\"time\":\"{time}\",\"from\":\"{from}\",").map_err(Error::Output)?;
                if let Ok(text) = str::from_utf8(datagram.bytes) {
                    out.extend_from_slice(b"\"data\":");
                    escape::json(out, text);
                } else {
                    out.extend_from_slice(b"\"hex\":\"");
                    hex::push(out, datagram.bytes);
                    out.push(b'"');
                }
                out.extend_from_slice(b"}\n");
            }
        }
        Ok(())
    }

    fn pending_bytes(&self) -> u64 {
        self.buffer.len() as u64
    }

    fn commit(&mut self) -> Result<u64, Error> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(&self.buffer).and_then(|()| stdout.flush()).map_err(Error::Output)?;
        self.buffer.clear();
        Ok(self.put)
    }

    fn close(&mut self) -> Result<u64, Error> {
        self.commit()
    }
}
