//! Streams with an outbox, each with its thread, over real sockets.

use crate::common::{open, segments};
use std::io::ErrorKind;
use std::time::Duration;
use tallylink_core::crypto::Psk;
use tallylink_core::{Config, End, Epoch, KeyId, Name, PeerId, Provision};
use tallylink_journal::SyncSite;
use tallylink_journal::testing::{Fault, MemStore, Operation};
use tallylink_linux::outbox::{Outbox, OutboxError, OutboxOptions, Owner};
use tallylink_linux::sender::{DurableError, OpenDurableError};
use tallylink_linux::{Receiver, Sender, Settings};

/// Longer than anything here takes on a loaded machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(60);
const PEER: PeerId = PeerId(*b"sensor-1");

fn key() -> Psk {
    Psk::from_bytes([7; 16])
}

fn sender(to: &str) -> Sender {
    Sender::connect(to, PEER, KeyId(0), key()).unwrap()
}

fn receiver(listen: &str) -> Receiver {
    let receiver = Receiver::bind(listen).unwrap();
    receiver.add_peer(PEER, KeyId(0), key()).unwrap();
    receiver
}

/// A receiver's address, for one that comes later.
fn later() -> String {
    receiver("127.0.0.1:0").local_addr().to_string()
}

fn outbox(store: &MemStore, name: &str, n: u8) -> Outbox<MemStore> {
    let owner = Owner { peer: PEER, stream: Name::new(name).unwrap() };
    let options = OutboxOptions { salt: 7, ..OutboxOptions::default() };
    Outbox::open(store.clone(), &owner, Epoch([n; 8]), &options).unwrap()
}

/// Takes `count` records of one stream while the others' are left alone; epochs, numbers and bytes come back.
fn take(receiver: &mut Receiver, count: usize) -> Vec<(Epoch, u64, Vec<u8>)> {
    let mut taken = Vec::new();
    while taken.len() < count {
        let came = receiver.take(PATIENCE, |r| taken.push((r.epoch, r.number, r.bytes.to_vec())));
        assert!(came > 0, "nothing came in time, {} of {count} before", taken.len());
    }
    taken
}

fn line(n: u64) -> Vec<u8> {
    format!("line {n} {}\n", "x".repeat((n % 300) as usize)).into_bytes()
}

#[test]
fn what_was_durable_when_a_program_ended_is_delivered_before_what_the_next_one_pushes() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("outbox");
    let to = later();
    let mut numbers = 0..;
    for count in [1_000, 1, 500] {
        let sender = sender(&to);
        let mut stream = sender.open_durable("s", &dir).unwrap();
        assert_eq!(stream.history(), numbers.start);
        for expected in 0..count {
            assert_eq!(stream.push(&line(numbers.next().unwrap())).unwrap(), expected);
        }
        stream.flush_durable(PATIENCE).unwrap();
        assert_eq!(stream.progress().durable_below(), count);
        let waits = stream.flush(Duration::ZERO).unwrap_err();
        assert!(
            matches!(waits, DurableError::Timeout { stored: 0, waiting, .. } if waiting == numbers.start),
            "{waits}"
        );
    }
    let mut receiver = receiver(&to);
    let sender = sender(&to);
    let mut stream = sender.open_durable("s", &dir).unwrap();
    let last: Vec<u8> = (0..2_000u64).flat_map(|_| [2, b'z', b'\n']).collect();
    assert_eq!(stream.push_batch(&last).unwrap(), 0..2_000);
    let taken = take(&mut receiver, 3_501);
    stream.flush(PATIENCE).unwrap();
    assert!((0..1_501).zip(&taken).all(|(n, (_, _, bytes))| *bytes == line(n)));
    assert!(taken[1_501..].iter().all(|(.., bytes)| bytes == b"z\n"));
    let mut starts: Vec<_> = taken.iter().filter(|(_, number, _)| *number == 0).map(|(epoch, ..)| *epoch).collect();
    starts.sort_unstable();
    starts.dedup();
    assert_eq!(starts.len(), 4, "each opening has an epoch of its own");
    assert_eq!((stream.progress().waiting(), stream.history()), (0, 1_501));
}

#[test]
fn a_directory_in_use_and_one_of_another_stream_are_refused() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("outbox");
    let to = later();
    let first = sender(&to);
    let mut stream = first.open_durable("s", &dir).unwrap();
    let refused = sender(&to).open_durable("s", &dir).unwrap_err();
    assert!(matches!(refused, OpenDurableError::Outbox(OutboxError::Locked { .. })), "{refused}");
    stream.push(b"x").unwrap();
    stream.flush_durable(PATIENCE).unwrap();
    drop((stream, first));
    let refused = sender(&to).open_durable("t", &dir).unwrap_err();
    assert!(matches!(refused, OpenDurableError::Outbox(OutboxError::Foreign { .. })), "{refused}");
    sender(&to).open_durable("s", &dir).unwrap();
}

#[test]
fn while_the_disk_fails_pushes_are_refused_and_what_is_durable_goes_out() {
    let store = MemStore::new(1);
    let to = later();
    let sender = sender(&to);
    let mut stream = sender.attach(outbox(&store, "s", 1)).unwrap();
    for n in 0..100 {
        stream.push(&line(n)).unwrap();
    }
    stream.flush_durable(PATIENCE).unwrap();
    let fault = Fault {
        operation: Operation::Sync(SyncSite::Group),
        after: 0,
        times: u32::MAX,
        kind: ErrorKind::ReadOnlyFilesystem,
    };
    store.add_fault(fault);
    stream.push(&line(100)).unwrap();
    let refused = stream.flush_durable(PATIENCE).unwrap_err();
    assert!(matches!(&refused, DurableError::Outbox(why) if why.to_string().contains("cannot sync")), "{refused}");
    assert!(matches!(stream.push(&line(101)), Err(DurableError::Outbox(_))));
    assert_eq!(stream.next(), 101);

    let mut receiver = receiver(&to);
    let mut taken = take(&mut receiver, 100);
    store.clear_faults();
    // What was taken before the failure is kept and tried again.
    while stream.push_timeout(&line(101), PATIENCE).is_err() {
        std::thread::sleep(Duration::from_millis(5));
    }
    taken.extend(take(&mut receiver, 2));
    stream.flush(PATIENCE).unwrap();
    assert!((0..102).zip(&taken).all(|(n, (_, number, bytes))| *number == n && *bytes == line(n)));
}

#[test]
fn what_is_durable_goes_out_although_the_disk_could_not_say_so_at_first_and_nothing_more_is_pushed() {
    let store = MemStore::new(1);
    let mut receiver = receiver("127.0.0.1:0");
    let sender = sender(&receiver.local_addr().to_string());
    let mut stream = sender.attach(outbox(&store, "s", 1)).unwrap();
    // The segment's header and the group are written; how far they are durable is not, some times.
    store.add_fault(Fault { operation: Operation::Write, after: 2, times: 5, kind: ErrorKind::Other });
    stream.push(&line(0)).unwrap();
    stream.flush_durable(PATIENCE).unwrap();
    assert_eq!(take(&mut receiver, 1)[0].2, line(0));
    stream.flush(PATIENCE).unwrap();
}

#[test]
fn what_was_delivered_is_deleted_although_that_failed_at_first_and_nothing_more_is_pushed() {
    let store = MemStore::new(1);
    let mut receiver = receiver("127.0.0.1:0");
    let sender = sender(&receiver.local_addr().to_string());
    let mut stream = sender.attach(open(&store, 1)).unwrap();
    for operation in [Operation::Remove, Operation::Sync(SyncSite::Checkpoint)] {
        for _ in 0..100 {
            stream.push(&[1; 4000]).unwrap();
        }
        stream.flush_durable(PATIENCE).unwrap();
        assert!(segments(&store) > 5);
        store.add_fault(Fault { operation, after: 0, times: 2, kind: ErrorKind::Other });
        take(&mut receiver, 100);
        stream.flush(PATIENCE).unwrap();
        let few = std::iter::repeat_with(|| std::thread::sleep(Duration::from_millis(5)))
            .take(12_000)
            .any(|()| segments(&store) <= 2);
        assert!(few, "{operation:?}: {} segments", segments(&store));
    }
}

#[test]
fn one_streams_failing_disk_does_not_hold_up_another() {
    let (bad, good) = (MemStore::new(1), MemStore::new(2));
    let mut receiver = receiver("127.0.0.1:0");
    let sender = sender(&receiver.local_addr().to_string());
    let mut first = sender.attach(outbox(&bad, "bad", 1)).unwrap();
    let mut second = sender.attach(outbox(&good, "good", 2)).unwrap();
    bad.add_fault(Fault { operation: Operation::Create, after: 0, times: u32::MAX, kind: ErrorKind::Other });
    first.push(b"kept").unwrap();
    assert!(first.flush_durable(PATIENCE).is_err());
    for n in 0..1_000 {
        second.push(&line(n)).unwrap();
    }
    let taken = take(&mut receiver, 1_000);
    second.flush(PATIENCE).unwrap();
    assert!((0..1_000).zip(&taken).all(|(n, (_, _, bytes))| *bytes == line(n)));
    bad.clear_faults();
    assert_eq!(take(&mut receiver, 1)[0].2, b"kept");
    first.flush(PATIENCE).unwrap();
}

#[test]
fn an_outbox_restored_from_an_older_copy_repeats_and_swallows_nothing() {
    let store = MemStore::new(1);
    let mut receiver = receiver("127.0.0.1:0");
    let to = receiver.local_addr().to_string();
    let send = |store: &MemStore, n: u8, range: std::ops::Range<u64>| {
        let sender = sender(&to);
        let mut stream = sender.attach(outbox(store, "s", n)).unwrap();
        range.for_each(|n| assert!(stream.push(&line(n)).is_ok()));
        stream.flush_durable(PATIENCE).unwrap();
        (sender, stream)
    };
    let (old_sender, mut stream) = send(&store, 1, 0..50);
    let copy = store.fork(2);
    (50..80).for_each(|n| assert!(stream.push(&line(n)).is_ok()));
    let mut taken = take(&mut receiver, 80);
    stream.flush(PATIENCE).unwrap();
    assert!(!stream.progress().was_rolled_back());
    drop((stream, old_sender));

    // The copy has 50 records of which it does not know that they are stored, as 30 more are.
    let (_sender, stream) = send(&copy, 2, 80..100);
    taken.extend(take(&mut receiver, 20));
    stream.flush(PATIENCE).unwrap();
    assert!(stream.progress().was_rolled_back());
    assert!((0..100).zip(&taken).all(|(n, (_, _, bytes))| *bytes == line(n)));
}

#[test]
fn a_wiped_outbox_begins_anew_and_everything_new_arrives() {
    let mut receiver = receiver("127.0.0.1:0");
    let to = receiver.local_addr().to_string();
    for round in 1..=3 {
        let sender = sender(&to);
        let mut stream = sender.attach(outbox(&MemStore::new(1), "s", round)).unwrap();
        assert_eq!((stream.history(), stream.push(&[round]).unwrap()), (0, 0));
        assert_eq!(take(&mut receiver, 1)[0].2, [round]);
        stream.flush(PATIENCE).unwrap();
    }
}

#[test]
fn what_no_stream_takes_is_refused_by_reason() {
    let store = MemStore::new(1);
    let sender = sender(&later());
    let mut stream = sender.attach(outbox(&store, "s", 1)).unwrap();
    assert!(matches!(stream.push(&vec![0; (1 << 20) + 1]), Err(DurableError::TooLarge { .. })));
    assert!(matches!(stream.push_batch(&[5, 1, 2]), Err(DurableError::NotPacked)));
    assert_eq!(stream.push_batch(&[]).unwrap(), 0..0);
    assert_eq!(stream.push(&vec![1; 1 << 20]).unwrap(), 0);
    assert_eq!(stream.push_batch(&[0, 1, 7]).unwrap(), 1..3);
    stream.flush_durable(PATIENCE).unwrap();
    assert!(sender.attach(outbox(&MemStore::new(1), "s", 2)).is_err(), "the name is taken");
    assert!(sender.open_durable("", "unused").is_err());
}

#[test]
fn a_batch_larger_than_the_memory_goes_in_part_by_part() {
    let settings = Settings { config: Config { max_record: 64, ..Settings::sender().config }, ..Settings::sender() };
    let provision = Provision::new(PeerId(*b"sensor-1"), End::Device, KeyId(0), Psk::from_bytes([7; 16]));
    let sender = Sender::with(&settings, &later(), provision).unwrap();
    let owner = Owner { peer: PeerId(*b"sensor-1"), stream: Name::new("s").unwrap() };
    let options = OutboxOptions { salt: 7, memory_bytes: 256, ..OutboxOptions::default() };
    let outbox = Outbox::open(MemStore::new(1), &owner, Epoch([1; 8]), &options).unwrap();
    let mut stream = sender.attach(outbox).unwrap();
    let batch: Vec<u8> = (0..3_000u64).flat_map(|_| [2, b'z', b'\n']).collect();
    assert_eq!(stream.push_batch(&batch).unwrap(), 0..3_000);
    stream.flush_durable(PATIENCE).unwrap();
    assert_eq!(stream.progress().durable_below(), 3_000);
}
