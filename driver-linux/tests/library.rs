//! The library's sender and receiver, each with its thread, over real sockets.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;
use tallylink_core::crypto::Psk;
use tallylink_core::{KeyId, PeerId, Priority};
use tallylink_linux::sender::{FlushError, PushError};
use tallylink_linux::{Receiver, Sender};

/// Longer than anything here takes on a loaded machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(60);

fn id(n: u8) -> PeerId {
    PeerId([n; 8])
}

fn key(n: u8) -> Psk {
    Psk::from_bytes([n; 16])
}

fn sender(n: u8, to: &str) -> Sender {
    Sender::connect(to, id(n), KeyId(0), key(n)).unwrap()
}

fn receiver(listen: &str, peers: u8) -> Receiver {
    let receiver = Receiver::bind(listen).unwrap();
    for n in 0..peers {
        receiver.add_peer(id(n), KeyId(0), key(n)).unwrap();
    }
    receiver
}

/// Bytes that tell which record they belong to.
fn record(seed: u64, number: u64) -> Vec<u8> {
    let len = match number % 10 {
        0 => 0,
        9 => 40_000,
        n => 20 * n,
    };
    (0..len).map(|i| (seed * 131 + number * 31 + i * 7) as u8).collect()
}

#[test]
fn several_peers_with_several_streams_each_arrive_complete_and_in_order() {
    const RECORDS: u64 = 3_000;
    let mut receiver = receiver("127.0.0.1:0", 3);
    let to = receiver.local_addr().to_string();
    let senders: Vec<_> = (0..3)
        .map(|n| {
            let to = to.clone();
            thread::spawn(move || {
                let sender = sender(n, &to);
                let mut streams: Vec<_> = (0..4).map(|s| sender.open(&format!("s{s}")).unwrap()).collect();
                for number in 0..RECORDS {
                    for (s, stream) in (0..).zip(&mut streams) {
                        assert_eq!(stream.push(&record(u64::from(n) * 4 + s, number)), Ok(number));
                    }
                }
                sender.flush(PATIENCE).unwrap();
                assert!(streams.iter().all(|s| s.stored_below() == RECORDS));
            })
        })
        .collect();
    let mut next: HashMap<(u32, String), u64> = HashMap::new();
    let mut total = 0;
    while total < 3 * 4 * RECORDS {
        let came = receiver.take(PATIENCE, |r| {
            let expected = next.entry((r.peer.0, r.name.to_owned())).or_default();
            assert_eq!(r.number, *expected);
            let stream: u64 = r.name[1..].parse().unwrap();
            assert_eq!(r.bytes, record(u64::from(r.peer.0) * 4 + stream, r.number));
            *expected += 1;
        });
        assert!(came > 0, "nothing came in time, {total} before");
        total += came as u64;
    }
    // The last confirmations are on their way while the senders wait for them.
    senders.into_iter().for_each(|s| s.join().unwrap());
    assert_eq!(next.len(), 12);
}

#[test]
fn a_receiver_that_takes_nothing_stops_the_sender_and_loses_nothing() {
    let mut receiver = receiver("127.0.0.1:0", 1);
    let sender = sender(0, &receiver.local_addr().to_string());
    let mut stream = sender.open("slow").unwrap();
    let bytes = vec![7; 100_000];
    let mut pushed = 0;
    let refused = loop {
        if let Err(why) = stream.push_timeout(&bytes, Duration::from_millis(300)) {
            break why;
        }
        pushed += 1;
        assert!(pushed < 1_000, "100 MB without anybody to take them");
    };
    assert_eq!(refused, PushError::Full);
    assert_eq!(stream.flush(Duration::ZERO), Err(FlushError::Timeout { stored: 0, pushed }));
    let mut taken = 0;
    while taken < pushed {
        let came = receiver.take(PATIENCE, |r| assert_eq!(r.bytes, bytes));
        assert!(came > 0, "nothing came in time");
        taken += came as u64;
    }
    stream.flush(PATIENCE).unwrap();
}

#[test]
fn a_sender_started_before_its_receiver_delivers_when_that_comes() {
    let listen = Receiver::bind("127.0.0.1:0").unwrap().local_addr().to_string();
    let sender = sender(0, &listen);
    let mut stream = sender.open("early").unwrap();
    stream.push(b"first").unwrap();
    let mut receiver = receiver(&listen, 1);
    let taken = receiver.next(PATIENCE).unwrap();
    assert_eq!((taken.number, taken.bytes), (0, b"first".to_vec()));
    stream.flush(PATIENCE).unwrap();
}

#[test]
fn names_are_resolved_and_both_families_reach_one_receiver() {
    let mut receiver = receiver("[::]:0", 2);
    let port = receiver.local_addr().port();
    let (four, six) = (sender(0, &format!("localhost:{port}")), sender(1, &format!("[::1]:{port}")));
    for sender in [&four, &six] {
        let mut stream = sender.open("x").unwrap();
        stream.push(b"hello").unwrap();
        assert_eq!(receiver.next(PATIENCE).unwrap().bytes, b"hello");
        stream.flush(PATIENCE).unwrap();
    }
}

#[test]
fn what_a_sender_cannot_take_is_refused_by_reason() {
    let receiver = receiver("127.0.0.1:0", 1);
    let sender = sender(0, &receiver.local_addr().to_string());
    let mut stream = sender.open("s").unwrap();
    let max = 1 << 20;
    assert_eq!(stream.push(&vec![0; max + 1]), Err(PushError::TooLarge { len: max as u64 + 1, max: max as u32 }));
    assert_eq!(stream.push_batch(&[5, 1, 2]), Err(PushError::NotPacked));
    assert_eq!(stream.push_batch(&[]), Ok(0..0));
    assert!(sender.open("").is_err());
    assert!(sender.open("s").is_err(), "the name is taken");
}

/// Days of backlog wait when the gateway comes back: what is live arrives first, and all of it in the end.
#[test]
fn a_live_record_passes_a_backlog_that_was_there_before_it() {
    let mut receiver = receiver("127.0.0.1:0", 0);
    let sender = sender(0, &receiver.local_addr().to_string());
    let (mut backlog, mut live) = (sender.open("backlog").unwrap(), sender.open("live").unwrap());
    backlog.set_priority(Priority::Backlog).unwrap();
    let mut waiting = 0;
    while backlog.push_timeout(&[1; 1000], Duration::ZERO).is_ok() {
        waiting += 1;
    }
    assert!(waiting > 200);
    live.push(b"now").unwrap();
    // Between two answers of its thread both are put in core's hands.
    assert!(!sender.is_connected() && !sender.is_connected());
    receiver.add_peer(id(0), KeyId(0), key(0)).unwrap();
    let first = receiver.next(PATIENCE).unwrap();
    assert_eq!((first.name.as_ref(), first.bytes.as_slice()), ("live", &b"now"[..]));
    for number in 0..waiting {
        let taken = receiver.next(PATIENCE).unwrap();
        assert_eq!((taken.name.as_ref(), taken.number), ("backlog", number));
    }
    sender.flush(PATIENCE).unwrap();
}
