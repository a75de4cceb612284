//! The frames of a packet: whatever the bytes, parsing ends; and what it accepts has one spelling (wire-format §2, §6).

use tallylink_core::wire::frame::{write_ack, write_ack_ecn};
use tallylink_core::wire::{Frame, NoRoom, PacketRange, Reader, Writer};

/// Reads `data` as frames until one is refused, and writes each again: the bytes must be those that were read.
pub fn frames(data: &[u8]) {
    let mut reader = Reader::new(data);
    while !reader.is_empty() {
        let before = reader.rest();
        let Ok(frame) = Frame::parse(&mut reader) else {
            return;
        };
        let read = &before[..before.len() - reader.rest().len()];
        assert!(!read.is_empty(), "a frame took no bytes: {frame:?}");
        check_ranges(&frame);
        // A writer of ACKs keeps some room that it may not need.
        let mut buffer = vec![0xff; read.len() + 16];
        let mut writer = Writer::new(&mut buffer);
        write(&frame, &mut writer).expect("what was read can be written");
        assert_eq!(&*writer.into_written(), read, "{frame:?} has another spelling");
    }
}

/// `Frame::write` leaves ACKs with many ranges to `write_ack`, as the code that sends them does.
fn write(frame: &Frame<'_>, to: &mut Writer<'_>) -> Result<(), NoRoom> {
    let Frame::Ack { delay_us, ranges, ecn } = *frame else {
        return frame.write(to);
    };
    let ranges: Vec<PacketRange> = ranges.into_iter().collect();
    let written = match ecn {
        None => write_ack(to, delay_us, &ranges)?,
        Some(counts) => write_ack_ecn(to, delay_us, &ranges, &counts)?,
    };
    assert_eq!(written, ranges.len(), "ranges were left out though there was room");
    Ok(())
}

/// The ranges of an ACK descend and do not touch (wire-format §6.7).
fn check_ranges(frame: &Frame<'_>) {
    let Frame::Ack { ranges, .. } = *frame else {
        return;
    };
    let mut above: Option<u64> = None;
    for (at, mut range) in ranges.into_iter().enumerate() {
        if crate::planted::here() && at == 3 {
            // The fourth range is read as if it touched the third.
            range.high = above.unwrap_or(0).saturating_sub(1);
        }
        assert!(range.low <= range.high, "{range:?} is empty");
        let apart = above.is_none_or(|low| range.high + 1 < low);
        assert!(apart, "{range:?} touches the range above it, which begins at {above:?}");
        above = Some(range.low);
    }
}
