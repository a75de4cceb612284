//! More peers than links: a link is lent to whoever has something outstanding.

use crate::support::{Fleet, KEY, PEER, at, peer_id, record, small_config};
use tallylink_core::crypto::Psk;
use tallylink_core::wire::RejectReason;
use tallylink_core::{Discard, End, EpochSource, Event, KeyId, Name, OutIx, PeerIx, Provision};

/// Forty devices share three links; each sends now and then, and nothing is lost.
#[test]
fn many_devices_share_few_links_and_lose_nothing() {
    let mut fleet = Fleet::new(&small_config(), 40, 3, 1 << 14);
    for round in 0..5 {
        for device in 0..40 {
            fleet.push(device, &record(round * 40 + device, 200)).unwrap();
            fleet.run(fleet.now + 20_000);
        }
        fleet.run(fleet.now + 1_000_000);
    }
    fleet.run(fleet.now + 120_000_000);
    for (device, node) in fleet.devices.iter().enumerate() {
        assert_eq!(node.outbound(0).stored_below(), 5, "device {device}");
    }
    assert_eq!(fleet.gateway.inbox.streams.len(), 40);
    for s in &fleet.gateway.inbox.streams {
        assert_eq!(s.records().len(), 5);
    }
}

/// All at once is more than three links hold: who finds none is told, or not heard, and comes back.
#[test]
fn a_storm_of_devices_is_served_in_the_end() {
    let mut fleet = Fleet::new(&small_config(), 30, 3, 1 << 14);
    for device in 0..30 {
        for i in 0..10 {
            fleet.push(device, &record(i, 300)).unwrap();
        }
    }
    fleet.run(300_000_000);
    for (device, node) in fleet.devices.iter().enumerate() {
        assert_eq!(node.outbound(0).stored_below(), 10, "device {device}");
    }
}

/// Sessions outlive links: an idle device that comes back needs no HELLO, even after many others had its link.
#[test]
fn a_session_outlives_its_link() {
    let mut fleet = Fleet::new(&small_config(), 20, 2, 1 << 14);
    for device in 0..20 {
        fleet.push(device, b"x").unwrap();
    }
    fleet.run(300_000_000);
    let hellos: Vec<_> = fleet.devices.iter().map(|d| d.endpoint.totals().hellos_sent).collect();
    for device in 0..20 {
        fleet.push(device, b"y").unwrap();
        fleet.run(fleet.now + 500_000);
        assert_eq!(fleet.devices[device].outbound(0).stored_below(), 2, "device {device}");
    }
    let after: Vec<_> = fleet.devices.iter().map(|d| d.endpoint.totals().hellos_sent).collect();
    assert_eq!(hellos, after);
    assert!(fleet.devices.iter().all(|d| !d.told(Event::Rejected(PEER, RejectReason::Version))));
}

/// Whoever replays the packets of idle devices takes no links away from the living.
#[test]
fn replays_of_idle_devices_take_no_link() {
    let mut fleet = Fleet::new(&small_config(), 8, 2, 1 << 14);
    let mut captured = vec![];
    for device in 0..8 {
        fleet.push(device, b"x").unwrap();
        for _ in 0..10 {
            fleet.run(fleet.now + 400);
            captured.extend(fleet.wire.iter().filter(|w| w.2).map(|w| w.3.clone()));
        }
        fleet.run(fleet.now + 2_000_000);
    }
    assert!(captured.len() >= 16);
    // Whoever found no link at first sent again: that packet is a new one still, and acknowledged to where the device is.
    for packet in captured {
        let _ = fleet.gateway.take(fleet.now, "10.9.9.9:9".parse().unwrap(), &mut packet.clone());
        let answers = fleet.gateway.transmit(fleet.now);
        assert!(answers.iter().all(|(to, _)| fleet.devices.iter().any(|d| d.address == *to)));
    }
    assert!(fleet.gateway.inbox.streams.iter().all(|s| s.records().len() == 1));
    for device in 0..8 {
        fleet.push(device, b"y").unwrap();
        fleet.run(fleet.now + 200_000);
        assert_eq!(fleet.devices[device].outbound(0).stored_below(), 2, "device {device}");
    }
}

/// What was queued and then found to be stored already leaves nothing behind that keeps a link busy.
#[test]
fn a_stream_whose_records_turn_out_to_be_stored_frees_its_link() {
    use crate::support::at;
    use tallylink_core::{Epoch, EpochSource, Name, OutIx};
    let mut fleet = Fleet::new(&small_config(), 3, 1, 1 << 14);
    fleet.push(0, b"hello").unwrap();
    fleet.run(2_000_000);
    // The device has these records already, from an earlier gateway.
    let (now, source) = (at(fleet.now), EpochSource::Stored { epoch: Epoch([3; 8]), previous: None });
    let name = Name::new("down").unwrap();
    fleet.gateway.endpoint.open(now, OutIx(0), PEER, name, source, 0, 0..1 << 18).unwrap();
    fleet.devices[0].inbox.knows("down", Epoch([3; 8]), 150);
    for i in 0..150 {
        fleet.gateway.endpoint.push(now, OutIx(0), &record(i, 1000)).unwrap();
    }
    fleet.run(fleet.now + 2_000_000);
    assert_eq!(fleet.gateway.outbound(0).stored_below(), 150);
    for device in 1..3 {
        fleet.push(device, b"x").unwrap();
        fleet.run(fleet.now + 20_000_000);
        assert_eq!(fleet.devices[device].outbound(0).stored_below(), 1, "device {device} found a link");
    }
}

/// Two streams of a peer wait for a link to say STORED. The first that gets one says it for both; the second needs none then,
/// and must not keep one.
#[test]
fn a_link_that_turns_out_to_be_needless_is_given_back() {
    const RING: u32 = 1 << 14;
    let mut fleet = Fleet::new(&small_config(), 2, 1, RING as usize);
    let second = (OutIx(1), Name::new("t").unwrap());
    let first = &mut fleet.devices[0].endpoint;
    first.open(at(0), second.0, PEER, second.1, EpochSource::FirstSession, 0, RING..2 * RING).unwrap();
    let push_both = |fleet: &mut Fleet| {
        for stream in [OutIx(0), second.0] {
            fleet.devices[0].endpoint.push(at(fleet.now), stream, b"x").unwrap();
        }
    };
    push_both(&mut fleet);
    fleet.run(5_000_000);
    fleet.push(1, b"x").unwrap();
    fleet.run(10_000_000);
    // The disk is slow: both streams of one device wait for it, and the other device has the link by then.
    fleet.gateway.storing = false;
    push_both(&mut fleet);
    fleet.run(fleet.now + 200_000);
    fleet.push(1, b"y").unwrap();
    fleet.run(fleet.now + 5_000);
    fleet.gateway.store(fleet.now);
    fleet.gateway.storing = true;
    fleet.run(fleet.now + 1_000_000);
    assert_eq!([0, 1].map(|s| fleet.devices[0].outbound(s).stored_below()), [2, 2]);
    fleet.push(1, b"z").unwrap();
    fleet.run(fleet.now + 1_000_000);
    assert_eq!(fleet.devices[1].outbound(0).stored_below(), 3);
}

/// A peer that is removed gives its link back wherever that is listed, and the links behind it are not forgotten.
#[test]
fn links_are_still_lent_after_peers_come_and_go() {
    const DEVICES: usize = 6;
    const LINKS: usize = 3;
    const ROUNDS: u64 = 3;
    let mut fleet = Fleet::new(&small_config(), DEVICES, LINKS, 1 << 14);
    let push_and_run = |fleet: &mut Fleet, devices: std::ops::Range<usize>| {
        for device in devices {
            fleet.push(device, b"x").unwrap();
        }
        fleet.run(fleet.now + 60_000_000);
    };
    push_and_run(&mut fleet, 0..DEVICES);
    // Its link stands between those of the devices before and behind it.
    let n = DEVICES as u32 - 2;
    for _ in 0..ROUNDS {
        let again = Provision::new(peer_id(n), End::Gateway, KeyId(1), Psk::from_bytes(KEY));
        fleet.gateway.endpoint.remove_peer(at(fleet.now), PeerIx(n));
        fleet.gateway.endpoint.add_peer(PeerIx(n), again).unwrap();
        for device in 0..DEVICES {
            push_and_run(&mut fleet, device..device + 1);
        }
    }
    let refused = fleet.gateway.discarded(Discard::NoLink);
    push_and_run(&mut fleet, 0..LINKS);
    assert_eq!(fleet.gateway.discarded(Discard::NoLink), refused, "as many find a link as there are");
    assert!(fleet.devices[..LINKS].iter().all(|device| device.outbound(0).stored_below() == ROUNDS + 2));
}
