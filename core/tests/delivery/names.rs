//! Every reason for a discard and every fault has a name of its own, and each is reached by what it is for.

use crate::hostile::{chunk, live, live_with, open};
use crate::support::raw::{WIDE, hello, hello_packet, lone};
use crate::support::{KEY, Node, PEER, Pair, Raw, at, bytes_of, record, small_config};
use std::collections::BTreeSet;
use tallylink_core::wire::{Frame, Hello, PacketRange, Writer, frame::write_ack, varint};
use tallylink_core::{Config, Discard, End, Epoch, Fault, KeyId, LARGEST_NUMBER, PeerId, Refusal};

#[test]
fn names_are_unique_and_fit_a_metric() {
    let names: Vec<_> = Discard::ALL.iter().map(|d| d.name()).chain(Fault::ALL.iter().map(|f| f.name())).collect();
    let unique: BTreeSet<_> = names.iter().collect();
    assert_eq!(unique.len(), names.len());
    assert!(names.iter().all(|n| n.chars().all(|c| c.is_ascii_lowercase() || c == '_')));
}

#[test]
fn every_discard_is_reached() {
    for why in Discard::ALL {
        let node = discarding(*why);
        assert!(node.discarded(*why) > 0, "{why}");
    }
}

fn take(node: &mut Node, packet: &[u8]) {
    let _ = node.take(0, "10.9.9.9:9".parse().unwrap(), &mut packet.to_vec());
}

fn gateway() -> Node {
    lone(End::Gateway, small_config())
}

/// A node that has discarded something for this reason.
fn discarding(why: Discard) -> Node {
    let good = hello(1, 1, 3, WIDE);
    match why {
        Discard::Malformed => fed(&[9, 9, 9]),
        Discard::UnknownPeer => fed(&hello_packet(&Hello { peer: PeerId([1; 8]), ..good }, KEY)),
        Discard::UnknownKey => fed(&hello_packet(&Hello { key: KeyId(3), ..good }, KEY)),
        Discard::Forged => fed(&hello_packet(&good, [1; 16])),
        Discard::UnknownLabel => fed(&[0x50; 40]),
        Discard::WrongEnd => {
            let mut device = lone(End::Device, small_config());
            take(&mut device, &hello_packet(&good, KEY));
            device
        }
        Discard::OtherBoot => {
            let mut node = gateway();
            let packet = Raw::device(&mut node, 0, 1, WIDE).seal(0, &[1]);
            node.restart();
            take(&mut node, &packet);
            node
        }
        Discard::EndedSession => {
            let mut node = gateway();
            let packet = Raw::device(&mut node, 0, 1, WIDE).seal(0, &[1]);
            Raw::device(&mut node, 0, 2, WIDE).go_live(&mut node, 0);
            take(&mut node, &packet);
            node
        }
        Discard::Duplicate | Discard::TooOld | Discard::BadNumber => numbered(why),
        Discard::Unasked | Discard::UnusedHint => unasked(),
        Discard::NoLink => without_a_link(),
        Discard::ReplyLimit => {
            let mut node = lone(End::Gateway, Config { replies_per_second: 1, ..small_config() });
            take(&mut node, &hello_packet(&good, KEY));
            take(&mut node, &hello_packet(&good, KEY));
            node
        }
        Discard::HeldFull => {
            let (mut node, mut device) = live_with(Config { held: 0, ..small_config() });
            device.send(&mut node, 0, &[Frame::Open(open(1)), Frame::Chunk(chunk(1, 5, &[0]))]).unwrap_err();
            node
        }
        Discard::DeliverFull => {
            let (mut node, mut device) = live();
            node.inbox.room = Some(0);
            device.send(&mut node, 0, &[Frame::Open(open(1)), Frame::Chunk(chunk(1, 0, &[0]))]).unwrap_err();
            node
        }
        Discard::BeforeOpen => {
            let (mut node, mut device) = live();
            device.send(&mut node, 0, &[Frame::Chunk(chunk(1, 0, &[0]))]).unwrap_err();
            node
        }
        Discard::RefusedStream => {
            let (mut node, mut device) = live();
            node.inbox.refuse = Some(Refusal::Name);
            device.send(&mut node, 0, &[Frame::Open(open(1)), Frame::Chunk(chunk(1, 0, &[0]))]).unwrap_err();
            node
        }
        Discard::EndedByFault => faulty(Fault::BadFrame),
    }
}

fn fed(packet: &[u8]) -> Node {
    let mut node = gateway();
    take(&mut node, packet);
    node
}

fn numbered(why: Discard) -> Node {
    let (mut node, mut device) = live();
    let (repeated, old) = (device.seal(700, &[1]), device.seal(1, &[1]));
    match why {
        Discard::Duplicate => {
            take(&mut node, &repeated);
            take(&mut node, &repeated);
        }
        Discard::TooOld => {
            device.next = 700;
            for _ in 0..3 {
                device.next += 1_000;
                device.send(&mut node, 0, &[Frame::Ping]).unwrap();
            }
            take(&mut node, &old);
        }
        _ => {
            // The largest number, in long DATA; then one that could only be the number after it.
            let mut fresh = Raw::device(&mut node, 0, 2, WIDE);
            take(&mut node, &fresh.seal(varint::MAX, &[1]));
            for packet in fresh.receive(&mut node, 0) {
                for frame in crate::support::frames_in(&packet) {
                    let Frame::Label(label) = frame else { continue };
                    let mut after = vec![0x50];
                    after.extend_from_slice(&label.0.to_be_bytes());
                    after.extend_from_slice(&[0; 30]);
                    take(&mut node, &after);
                }
            }
        }
    }
    node
}

/// A device that is sent an answer and a hint which it did not ask for.
fn unasked() -> Node {
    let mut pair = Pair::new(small_config(), 1 << 16);
    pair.capture = Some(vec![]);
    let stream = pair.open(0, "s", 1 << 16);
    pair.push(stream, &record(0, 10)).unwrap();
    pair.run(10_000_000);
    let welcome = pair.capture.take().unwrap().into_iter().find(|(_, bytes)| bytes[..2] == [0, 2]).unwrap().1;
    take(&mut pair.device, &welcome);
    take(&mut pair.device, &[0, 5, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
    pair.device
}

/// One link, which a device with an unstored record has; the long DATA of another finds none.
fn without_a_link() -> Node {
    let mut fleet = crate::support::Fleet::new(&small_config(), 2, 1, 1 << 14);
    fleet.gateway.storing = false;
    fleet.push(0, b"x").unwrap();
    fleet.run(2_000_000);
    fleet.gateway
}

#[test]
fn every_fault_is_reached() {
    for fault in Fault::ALL {
        // The one is tested where private state can be reached, and the other must never happen.
        if !matches!(fault, Fault::NumbersUsedUp | Fault::Internal) {
            assert_eq!(faulty(*fault).faults(*fault), 1, "{fault}");
        }
    }
}

/// A gateway whose session with a device has ended for this reason.
fn faulty(fault: Fault) -> Node {
    let (mut node, mut device) = live();
    device.send(&mut node, 0, &[Frame::Open(open(1))]).unwrap();
    let large = [varint::encode(u64::from(small_config().max_record) + 1).unwrap().as_slice(), &[0; 90]].concat();
    let begun = [&[0x40, 200][..], &[0; 98]].concat();
    let bytes = match fault {
        Fault::BadFrame => vec![0x0d],
        Fault::AckOfUnsent => {
            let mut buffer = [0; 40];
            let mut w = Writer::new(&mut buffer);
            write_ack(&mut w, 0, &[PacketRange { low: 9, high: 999 }]).unwrap();
            w.into_written().to_vec()
        }
        Fault::StoredUnsent => bytes_of(&[Frame::Stored { stream: 1, below: LARGEST_NUMBER }]),
        Fault::OpenChanged => bytes_of(&[Frame::Open(tallylink_core::Open { epoch: Epoch([8; 8]), ..open(1) })]),
        Fault::Contradiction => {
            device.send(&mut node, 0, &[Frame::Chunk(chunk(1, 0, &begun))]).unwrap();
            let other = tallylink_core::wire::Chunk { offset: 100, rest: 9, ..chunk(1, 0, &[0; 5]) };
            bytes_of(&[Frame::Chunk(other)])
        }
        Fault::RecordTooLarge => bytes_of(&[Frame::Chunk(chunk(1, 0, &large))]),
        Fault::Local => {
            node.endpoint.end_session(at(0), PEER);
            return node;
        }
        Fault::NumbersUsedUp | Fault::Internal => unreachable!("not reached here"),
    };
    let _ = device.send_bytes(&mut node, 0, &bytes);
    node
}
