//! `wire-frame.hex` and `wire-malformed.hex`: our encoder and decoder against those of another implementation.

use crate::vectors::{Case, cases};
use tallylink_core::wire::frame::{write_ack, write_ack_ecn};
use tallylink_core::wire::{Chunk, EcnCounts, Frame, Open, PacketRange, Previous, QueryFor, Reader, Writer};
use tallylink_core::{Epoch, Label};

fn number(case: &Case, name: &str) -> u64 {
    u64::from_be_bytes(case.array(name))
}

fn stream(case: &Case) -> u32 {
    u32::try_from(number(case, "stream")).unwrap()
}

/// The frame that the fields of a case describe; nothing for ACK, whose ranges are not a field of ours.
fn described(case: &Case) -> Option<Frame<'_>> {
    let reason = || case.array::<1>("reason")[0];
    Some(match case.get("frame") {
        b"padding" => Frame::Padding(number(case, "length") as usize),
        b"ping" => Frame::Ping,
        b"label" => Frame::Label(Label(u32::from_be_bytes(case.array("label")))),
        b"open" => {
            let previous = case
                .find("previous_epoch")
                .map(|_| Previous { epoch: Epoch(case.array("previous_epoch")), end: number(case, "previous_end") });
            let name = std::str::from_utf8(case.get("name")).unwrap();
            let epoch = Epoch(case.array("epoch"));
            Frame::Open(Open { stream: stream(case), name, epoch, first: number(case, "first"), previous })
        }
        b"opened" => Frame::Opened { stream: stream(case), stored_below: number(case, "stored_below") },
        b"stored" => Frame::Stored { stream: stream(case), below: number(case, "below") },
        b"chunk" => Frame::Chunk(Chunk {
            stream: stream(case),
            number: number(case, "number"),
            offset: number(case, "offset") as u32,
            rest: number(case, "rest") as u32,
            bytes: case.get("bytes"),
        }),
        b"skip" => Frame::Skip { stream: stream(case), below: number(case, "below"), reason: reason() },
        b"credit" => Frame::Credit(number(case, "window")),
        b"query" if case.find("stored").is_some() => Frame::Query(QueryFor::Stored(number(case, "stored") as u32)),
        b"query" => Frame::Query(QueryFor::Credit(number(case, "credit"))),
        b"busy" => Frame::Busy,
        b"refused" => Frame::Refused { stream: stream(case), reason: reason() },
        b"ack" => return None,
        other => panic!("frame {}", String::from_utf8_lossy(other)),
    })
}

#[test]
fn every_frame_is_written_and_read_as_in_the_vectors() {
    let cases = cases(include_str!("../vectors/wire-frame.hex"));
    assert_eq!(cases.len(), 57);
    for case in &cases {
        let wire = case.get("wire");
        let mut r = Reader::new(wire);
        let read = Frame::parse(&mut r).unwrap_or_else(|_| panic!("{wire:02x?}"));
        assert!(r.is_empty(), "{wire:02x?}");
        let mut buffer = [0; 512];
        let mut w = Writer::new(&mut buffer);
        match (described(case), read) {
            (Some(frame), read) => {
                assert_eq!(read, frame);
                frame.write(&mut w).unwrap();
            }
            (None, Frame::Ack { delay_us, ranges, ecn }) => {
                let each = case.get("ranges").chunks(16).map(|pair| PacketRange {
                    low: u64::from_be_bytes(pair[..8].try_into().unwrap()),
                    high: u64::from_be_bytes(pair[8..].try_into().unwrap()),
                });
                let expected: Vec<_> = each.collect();
                assert_eq!(delay_us, number(case, "delay_us"));
                assert_eq!(ranges.into_iter().collect::<Vec<_>>(), expected);
                let marks = case.find("ecn").map(|bytes| {
                    let count = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
                    EcnCounts { ect0: count(0), ect1: count(8), ce: count(16) }
                });
                assert_eq!(ecn, marks);
                match &marks {
                    None => assert_eq!(write_ack(&mut w, delay_us, &expected), Ok(expected.len())),
                    Some(marks) => assert_eq!(write_ack_ecn(&mut w, delay_us, &expected, marks), Ok(expected.len())),
                }
            }
            (None, other) => panic!("{other:?}"),
        }
        assert_eq!(w.into_written(), wire);
    }
}

#[test]
fn every_malformed_frame_of_the_vectors_is_refused() {
    let cases = cases(include_str!("../vectors/wire-malformed.hex"));
    assert_eq!(cases.len(), 27);
    for case in &cases {
        let why = String::from_utf8_lossy(case.get("why"));
        assert!(Frame::parse(&mut Reader::new(case.get("wire"))).is_err(), "{why}");
    }
}
