//! What a datagram says, for traces: the cipher of most worlds leaves frames readable.

use std::fmt::Write;
use tallylink_core::crypto::TAG_LEN;
use tallylink_core::wire::{Frame, Packet, Reader};

/// One line.
pub(crate) fn describe(datagram: &[u8], readable: bool) -> String {
    let (head, number, header_len) = match Packet::parse(datagram) {
        Ok(Packet::Data(h)) => (format!("DATA {:x}", h.label.0), u64::from(h.truncated), h.len()),
        Ok(Packet::LongData(long)) => ("LONG".into(), long.number, long.header_len()),
        Ok(Packet::Hello(_)) => return "HELLO".into(),
        Ok(Packet::Welcome(_)) => return "WELCOME".into(),
        Ok(other) => return format!("{other:?}"),
        Err(_) => return format!("{} bytes of junk", datagram.len()),
    };
    let mut line = format!("{head} #{number}");
    let body = datagram.get(header_len..datagram.len().saturating_sub(TAG_LEN));
    if readable && let Some(body) = body {
        frames(body, &mut line);
    }
    line
}

fn frames(body: &[u8], line: &mut String) {
    let mut reader = Reader::new(body);
    while !reader.is_empty() {
        let _ = match Frame::parse(&mut reader) {
            Ok(Frame::Chunk(c)) => {
                let (stream, number, offset, len) = (c.stream, c.number, c.offset, c.bytes.len());
                write!(line, " CHUNK({stream} {number}+{offset} {len} B)")
            }
            Ok(Frame::Ack { ranges, .. }) => {
                let ranges: Vec<_> = ranges.into_iter().map(|r| format!("{}-{}", r.low, r.high)).collect();
                write!(line, " ACK({})", ranges.join(" "))
            }
            Ok(frame) => write!(line, " {frame:?}"),
            Err(_) => {
                let _ = write!(line, " malformed");
                return;
            }
        };
    }
}
