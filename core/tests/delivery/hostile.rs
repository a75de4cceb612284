//! Whoever holds the key and misbehaves loses that session, with a named fault, and harms nobody else (F17, F18).

use crate::support::raw::{WIDE, lone};
use crate::support::{Node, PEER, Raw, bytes_of, record, small_config};
use tallylink_core::wire::{Chunk, Frame, Open, QueryFor};
use tallylink_core::{Config, Discard, End, Epoch, Event, Fault, OutIx};

/// A gateway with a live session of a device that the test plays.
pub(crate) fn live() -> (Node, Raw) {
    live_with(small_config())
}

pub(crate) fn live_with(config: Config) -> (Node, Raw) {
    let mut gateway = lone(End::Gateway, config);
    let mut device = Raw::device(&mut gateway, 0, 1, WIDE);
    device.go_live(&mut gateway, 0);
    (gateway, device)
}

pub(crate) fn open(stream: u32) -> Open<'static> {
    Open { stream, name: "s", epoch: Epoch([1; 8]), first: 0, previous: None }
}

pub(crate) fn chunk(stream: u32, number: u64, bytes: &[u8]) -> Chunk<'_> {
    Chunk { stream, number, offset: 0, rest: 0, bytes }
}

/// Sends `frames` as a new session's packet and expects the session to end with `fault`.
fn ends_with(fault: Fault, frames: &[u8], what: &str) {
    let (mut gateway, mut device) = live();
    device.send_bytes(&mut gateway, 0, &bytes_of(&[Frame::Open(open(1))])).unwrap();
    let result = device.send_bytes(&mut gateway, 0, frames);
    ended(&mut gateway, result, fault, what);
    // The device cannot come back with the same session, but with a new one.
    assert!(device.send_bytes(&mut gateway, 0, &[1]).is_ok_and(|h| matches!(h, tallylink_core::Handled::Reply(14))));
    Raw::device(&mut gateway, 0, 2, WIDE).go_live(&mut gateway, 0);
}

fn ended(node: &mut Node, result: Result<tallylink_core::Handled, Discard>, fault: Fault, what: &str) {
    assert_eq!(result, Err(Discard::EndedByFault), "{what}");
    assert_eq!(node.faults(fault), 1, "{what}: {fault}");
    assert_eq!(Fault::ALL.iter().map(|f| node.faults(*f)).sum::<u64>(), 1, "{what}");
    assert!(!node.endpoint.storage().peers[0].has_session(), "{what}");
    node.transmit(0);
    assert!(node.told(Event::Ended(PEER, fault)), "{what}");
}

#[test]
fn f17_each_malformed_frame_ends_the_session_and_nothing_else() {
    let vectors = include_str!("../vectors/wire-malformed.hex");
    let frames: Vec<_> = vectors.lines().filter_map(|line| line.strip_prefix("wire = ")).collect();
    assert_eq!(frames.len(), 27);
    for hex in frames {
        let bytes = (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap());
        ends_with(Fault::BadFrame, &bytes.collect::<Vec<_>>(), hex);
    }
}

#[test]
fn f17_each_truncation_of_a_good_packet_is_refused_or_harmless() {
    let whole = bytes_of(&[
        Frame::Open(open(2)),
        Frame::Chunk(chunk(2, 0, &[3, 1, 2, 3])),
        Frame::Query(QueryFor::Credit(70_000)),
        Frame::Skip { stream: 2, below: 9, reason: 4 },
    ]);
    for cut in 1..whole.len() {
        let (mut gateway, mut device) = live();
        let result = device.send_bytes(&mut gateway, 0, &whole[..cut]);
        assert!(result.is_ok() || result == Err(Discard::EndedByFault), "cut to {cut}: {result:?}");
        gateway.transmit(0);
    }
}

#[test]
fn an_ack_of_a_packet_that_was_never_sent() {
    let mut ack = vec![0; 20];
    let ranges = [tallylink_core::wire::PacketRange { low: 50, high: 60 }];
    let mut w = tallylink_core::wire::Writer::new(&mut ack);
    tallylink_core::wire::frame::write_ack(&mut w, 0, &ranges).unwrap();
    ends_with(Fault::AckOfUnsent, w.into_written(), "ACK");
}

#[test]
fn an_open_that_differs_from_the_one_before() {
    for changed in [Open { epoch: Epoch([2; 8]), ..open(1) }, Open { first: 5, ..open(1) }] {
        ends_with(Fault::OpenChanged, &bytes_of(&[Frame::Open(changed)]), "OPEN");
    }
}

#[test]
fn a_record_above_the_limit_that_was_stated() {
    let config = small_config();
    let size = tallylink_core::wire::varint::encode(u64::from(config.max_record) + 1).unwrap();
    let bytes = [size.as_slice(), &[0; 100]].concat();
    ends_with(Fault::RecordTooLarge, &bytes_of(&[Frame::Chunk(chunk(1, 0, &bytes))]), "CHUNK");
}

#[test]
fn f18_a_size_varint_that_is_cut_or_not_minimal() {
    for bytes in [&[0x40][..], &[0x40, 0x05, 0, 0, 0, 0, 0]] {
        ends_with(Fault::BadFrame, &bytes_of(&[Frame::Chunk(chunk(1, 0, bytes))]), "CHUNK");
    }
}

#[test]
fn a_part_that_contradicts_the_part_before() {
    let begun = [&[0x40, 200][..], &[0; 98]].concat();
    let (mut gateway, mut device) = live();
    let first = [Frame::Open(open(1)), Frame::Chunk(chunk(1, 0, &begun))];
    device.send(&mut gateway, 0, &first).unwrap();
    // 102 stored bytes are left, not 103.
    let next = Chunk { stream: 1, number: 0, offset: 100, rest: 103, bytes: &[0; 50] };
    let result = device.send(&mut gateway, 0, &[Frame::Chunk(next)]);
    ended(&mut gateway, result, Fault::Contradiction, "rest");
    // Another size for the same record is found where it matters: behind what was delivered.
    let (mut gateway, mut device) = live();
    device.send(&mut gateway, 0, &first).unwrap();
    let other = [&[0x40, 201][..], &[0; 120]].concat();
    let result = device.send(&mut gateway, 0, &[Frame::Chunk(chunk(1, 0, &other))]);
    ended(&mut gateway, result, Fault::Contradiction, "size");
}

/// A held chunk that is found to be nonsense when its gap closes ends the session as well.
#[test]
fn a_contradiction_among_held_chunks() {
    let (mut gateway, mut device) = live();
    let ahead = Chunk { stream: 1, number: 1, offset: 70, rest: 5, bytes: &[1, 2, 3, 4, 5] };
    device.send(&mut gateway, 0, &[Frame::Open(open(1)), Frame::Chunk(ahead)]).unwrap();
    let closing = [&[0][..], &[0x40, 90], &[0; 68]].concat();
    let result = device.send(&mut gateway, 0, &[Frame::Chunk(chunk(1, 0, &closing))]);
    ended(&mut gateway, result, Fault::Contradiction, "held");
}

#[test]
fn f18_record_numbers_above_the_largest() {
    let last = tallylink_core::LARGEST_NUMBER;
    let (mut gateway, mut device) = live();
    let far = Open { first: last, ..open(1) };
    device.send(&mut gateway, 0, &[Frame::Open(far)]).unwrap();
    let result = device.send(&mut gateway, 0, &[Frame::Chunk(chunk(1, last, &[0, 0, 0]))]);
    ended(&mut gateway, result, Fault::BadFrame, "three records from the last number on");
}

/// F19: what one packet costs does not grow with the ACKs that fit into it.
#[test]
fn a_second_ack_in_one_packet() {
    let ack = tallylink_sim::hostile::ack_of(&[tallylink_core::wire::PacketRange { low: 0, high: 0 }]);
    let (mut gateway, mut device) = live();
    device.send_bytes(&mut gateway, 0, &ack).unwrap();
    ends_with(Fault::BadFrame, &[&ack[..], &ack[..]].concat(), "two ACKs");
}

/// ... nor with the chunks, each of which may have to be put among all that are held.
#[test]
fn more_chunks_in_one_packet_than_any_has() {
    let frames: Vec<_> = (0..9).map(|number| Frame::Chunk(chunk(1, number, &[0]))).collect();
    let (mut gateway, mut device) = live();
    device.send(&mut gateway, 0, &[Frame::Open(open(1))]).unwrap();
    device.send(&mut gateway, 0, &frames[..8]).unwrap();
    ends_with(Fault::BadFrame, &bytes_of(&frames), "nine chunks");
}

/// F19: a gap that closes before a great many records lets them go a packet's work at a time, and each of them once.
#[test]
fn a_gap_that_closes_before_more_than_one_packet_lets_go() {
    const EACH: u64 = 1380;
    let config = Config { held: 256, ..small_config() };
    let (mut gateway, mut device) = live_with(config);
    device.send(&mut gateway, 0, &[Frame::Open(open(1))]).unwrap();
    let empty = vec![0; EACH as usize];
    for at in 1..200 {
        device.send(&mut gateway, 0, &[Frame::Chunk(chunk(1, at * EACH, &empty))]).unwrap();
    }
    device.send(&mut gateway, 0, &[Frame::Chunk(chunk(1, 0, &empty))]).unwrap();
    let first = gateway.endpoint.totals().records_delivered;
    assert!(first < 100 * EACH, "{first} records in one go");
    // Whatever comes next goes on with it.
    device.send(&mut gateway, 0, &[Frame::Query(QueryFor::Stored(1))]).unwrap();
    device.send(&mut gateway, 0, &[Frame::Chunk(chunk(1, 200 * EACH, &[0]))]).unwrap();
    assert_eq!(gateway.endpoint.totals().records_delivered, 200 * EACH + 1);
}

/// One device's fault is nothing to another, whose session and records go on.
#[test]
fn a_fault_of_one_device_leaves_the_others_alone() {
    let mut fleet = crate::support::Fleet::new(&small_config(), 3, 3, 1 << 14);
    for device in 0..3 {
        fleet.push(device, b"before").unwrap();
    }
    fleet.run(1_000_000);
    let sessions = fleet.gateway.endpoint.totals().sessions;
    let mut bad = Raw::device(&mut fleet.gateway, fleet.now, 9, WIDE);
    bad.go_live(&mut fleet.gateway, fleet.now);
    assert_eq!(bad.send_bytes(&mut fleet.gateway, fleet.now, &[0xff]), Err(Discard::EndedByFault));
    for device in 1..3 {
        fleet.push(device, b"after").unwrap();
    }
    fleet.run(fleet.now + 1_000_000);
    for device in 1..3 {
        assert_eq!(fleet.devices[device].outbound(0).stored_below(), 2);
        assert_eq!(fleet.devices[device].endpoint.totals().sessions, 1);
    }
    assert_eq!(fleet.gateway.endpoint.totals().sessions, sessions + 1);
}

/// A device end, and a gateway that the test plays; one record of the device's stream has been pushed.
fn device_with_a_record() -> (Node, Raw) {
    let mut device = lone(End::Device, small_config());
    let mut gateway = Raw::gateway(&mut device, 0, WIDE);
    let name = tallylink_core::Name::new("s").unwrap();
    let source = tallylink_core::EpochSource::FirstSession;
    let now = crate::support::at(0);
    device.endpoint.open(now, OutIx(0), PEER, name, source, 0, 0..1 << 16).unwrap();
    device.endpoint.push(now, OutIx(0), &record(0, 61)).unwrap();
    let sent = gateway.receive(&mut device, 0);
    assert!(!sent.is_empty());
    (device, gateway)
}

#[test]
fn stored_beyond_what_was_pushed() {
    for frame in [Frame::Stored { stream: 1, below: 2 }, Frame::Stored { stream: 2, below: 0 }] {
        let (mut device, mut gateway) = device_with_a_record();
        let result = gateway.send(&mut device, 0, &[Frame::Opened { stream: 1, stored_below: 0 }, frame]);
        assert_eq!(result, Err(Discard::EndedByFault), "{frame:?}");
        assert_eq!(device.faults(Fault::StoredUnsent), 1, "{frame:?}");
        assert_eq!(device.outbound(0).stored_below(), 0, "the record is still held");
        // It asks for a new session at once.
        assert!(device.transmit(0).iter().any(|(_, packet)| packet[..2] == [0, 1]));
    }
}

#[test]
fn opened_of_a_stream_that_never_was() {
    let (mut device, mut gateway) = device_with_a_record();
    let result = gateway.send(&mut device, 0, &[Frame::Opened { stream: 7, stored_below: 0 }]);
    assert_eq!(result, Err(Discard::EndedByFault));
    assert_eq!(device.faults(Fault::StoredUnsent), 1);
}

/// The receiver has stored more than was ever pushed: the sender was rolled back. It says so and passes those numbers over.
#[test]
fn a_sender_that_was_rolled_back_is_told() {
    let (mut device, mut gateway) = device_with_a_record();
    gateway.send(&mut device, 0, &[Frame::Opened { stream: 1, stored_below: 500 }]).unwrap();
    device.transmit(0);
    assert!(device.told(Event::Ahead(OutIx(0), 500)));
    assert_eq!(device.endpoint.push(crate::support::at(0), OutIx(0), b"x"), Ok(500));
}

#[test]
fn a_receiver_that_has_stored_the_largest_number_leaves_none_to_push() {
    let (mut device, mut gateway) = device_with_a_record();
    let last = tallylink_core::LARGEST_NUMBER - 1;
    gateway.send(&mut device, 0, &[Frame::Opened { stream: 1, stored_below: last }]).unwrap();
    let now = crate::support::at(0);
    assert!(device.endpoint.push_batch(now, OutIx(0), &[0, 0]).is_err());
    assert_eq!(device.endpoint.push(now, OutIx(0), b"x"), Ok(last));
    assert!(device.endpoint.push(now, OutIx(0), b"y").is_err());
    assert!(device.endpoint.push_batch(now, OutIx(0), &[0]).is_err());
    device.transmit(0);
}

#[test]
fn what_the_gateway_says_of_no_stream_or_twice_changes_nothing() {
    let (mut device, mut gateway) = device_with_a_record();
    let frames = [
        Frame::Refused { stream: 99, reason: 1 },
        Frame::Query(QueryFor::Stored(12)),
        Frame::Opened { stream: 1, stored_below: 0 },
        Frame::Opened { stream: 1, stored_below: 0 },
        Frame::Stored { stream: 1, below: 1 },
        Frame::Stored { stream: 1, below: 1 },
        Frame::Stored { stream: 1, below: 0 },
        Frame::Credit(0),
        Frame::Busy,
    ];
    gateway.send(&mut device, 0, &frames).unwrap();
    assert_eq!(device.outbound(0).stored_below(), 1);
}
