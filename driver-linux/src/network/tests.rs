use super::{DATAGRAMS_A_TURN, Network};
use crate::application::SendsOnly;
use crate::receiver::{InPlace, Record};
use crate::settings::Settings;
use crate::socket::io::Udp;
use crate::socket::testing::{Scripted, Send};
use rustix::io::Errno;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tallylink_core::crypto::Psk;
use tallylink_core::{BootSeed, End, EpochSource, KeyId, Name, PeerId, Provision};

fn scripted(io: &Scripted) -> Network<SendsOnly> {
    Network::over(Box::new(io.clone()), &Settings::sender(), SendsOnly, BootSeed::entropy([1; 16])).unwrap()
}

fn provision(end: End) -> Provision {
    Provision::new(PeerId(*b"sensor-1"), end, KeyId(0), Psk::from_bytes([7; 16]))
}

#[test]
fn f09_a_turn_that_stopped_early_knows_that_there_may_be_more() {
    let io = Scripted::new(|_| Ok(()));
    let mut network = scripted(&io);
    for _ in 0..2 {
        io.arrives(Ok(vec![(vec![0xff; DATAGRAMS_A_TURN], 1)]));
    }
    assert!(network.turn(), "one turn's worth, and the socket has not said that it is empty");
    network.wait(None, || panic!("asked whether to sleep")).unwrap();
    network.turn();
    assert_eq!(network.counters().datagrams_received, 2 * DATAGRAMS_A_TURN as u64);
    assert!(!network.turn(), "now it has said so");
}

#[test]
fn f09_timeouts_are_rounded_up_and_a_past_deadline_runs_once() {
    let io = Scripted::new(|_| Ok(()));
    let mut network = scripted(&io);
    let peer = network.add_peer(provision(End::Device)).unwrap();
    network.connect(peer, "192.0.2.1:7441".parse().unwrap()).unwrap();
    let stream = network.open(peer, Name::new("s").unwrap(), EpochSource::FirstSession, 0, 1024).unwrap();
    assert_eq!(network.timeout(None), Some(None), "nothing outstanding, no deadline");
    network.push(stream, b"x").unwrap();
    while network.turn() {}
    let timeout = network.timeout(None).flatten().unwrap();
    assert!(timeout >= Duration::from_millis(1) && timeout.subsec_micros().is_multiple_of(1000), "{timeout:?}");
    assert_eq!(network.timeout(Some(Duration::from_millis(1))), Some(Some(Duration::from_millis(1))));
    // A deadline that stays where it is after it was served.
    network.served = network.endpoint.next_timeout();
    let due = network.served.unwrap();
    while network.now() < due {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(network.timeout(None), Some(Some(Duration::from_millis(1))));
    assert_eq!(network.counters().deadlines_stuck, 1);
    network.served = None;
    assert_eq!(network.timeout(None), None, "a deadline that was not served needs no waiting");
}

#[test]
fn an_order_to_stop_that_comes_during_a_turn_is_not_slept_over() {
    let mut network = scripted(&Scripted::new(|_| Ok(())));
    network.remote().stop();
    // The turn takes it for one of the things that others ask for.
    while network.turn() {}
    network.wait(None, || true).unwrap();
    assert!(network.stopped());
}

#[test]
fn a_wake_up_from_another_thread_is_not_lost() {
    let io = Scripted::new(|_| Ok(()));
    let mut network = scripted(&io);
    let remote = network.remote();
    let caller = std::thread::spawn(move || {
        for n in 0..2_000u32 {
            assert_eq!(remote.call(move |_| n), Ok(n));
        }
        remote.stop();
        remote
    });
    network.run().unwrap();
    let remote = caller.join().unwrap();
    drop(network);
    assert!(remote.call(|_| ()).is_err(), "a call to a network that is gone is refused");
}

/// Carries 5,000 records from a network over `io` to another, and returns the sender's network.
fn carry(io: Scripted) -> Network<SendsOnly> {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&taken);
    let application = InPlace::new(8, move |r: Record<'_>| notes.lock().unwrap().push((r.number, r.bytes.to_vec())));
    let listen = "127.0.0.1:0".parse().unwrap();
    let mut receiver = Network::new(&Settings { listen, ..Settings::receiver() }, application).unwrap();
    receiver.add_peer(provision(End::Gateway)).unwrap();
    let mut sender = scripted(&io);
    let peer = sender.add_peer(provision(End::Device)).unwrap();
    sender.connect(peer, receiver.local_addr().unwrap()).unwrap();
    let stream = sender.open(peer, Name::new("s").unwrap(), EpochSource::FirstSession, 0, 1 << 20).unwrap();
    for n in 0..5_000u64 {
        sender.push(stream, &[n as u8; 100]).unwrap();
    }
    for _ in 0..5_000 {
        if sender.stream(stream).unwrap().stored_below() == 5_000 {
            let taken = taken.lock().unwrap();
            assert!(taken.iter().enumerate().all(|(n, r)| *r == (n as u64, vec![n as u8; 100])));
            assert_eq!(taken.len(), 5_000);
            return sender;
        }
        if !sender.turn() & !receiver.turn() {
            sender.wait(Some(Duration::from_millis(1)), || true).unwrap();
            receiver.wait(Some(Duration::ZERO), || true).unwrap();
        }
    }
    panic!("stuck: {:?} {:?}", sender.endpoint().totals(), sender.counters());
}

fn loopback() -> Udp {
    Udp::bind("127.0.0.1:0".parse().unwrap(), 1 << 20, 1 << 20).unwrap()
}

#[test]
fn f01_records_arrive_without_segmented_sends_and_nothing_is_lost() {
    let io = Scripted::over(loopback(), |s: &Send| if s.segment.is_some() { Err(Errno::IO) } else { Ok(()) });
    let sender = carry(io);
    assert_eq!(sender.counters().offload_broken, 1);
    assert_eq!(sender.endpoint().totals().packets_lost, 0);
}

#[test]
fn f04_f07_records_arrive_over_a_socket_that_keeps_failing() {
    let mut n = 0;
    let io = Scripted::over(loopback(), move |_| {
        n += 1;
        match n % 12 {
            3 => Err(Errno::NOBUFS),
            5 | 6 => Err(Errno::CONNREFUSED),
            9 => Err(Errno::AGAIN),
            _ => Ok(()),
        }
    });
    let counters = *carry(io).counters();
    assert!(counters.datagrams_no_buffers > 0 && counters.sends_repeated > 0 && counters.send_blocked > 0);
}
