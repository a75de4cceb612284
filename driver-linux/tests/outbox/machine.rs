//! What an outbox hands on, step by step.

use crate::common::{Receiver, drain, epoch, group, open, options, owner, push, record, segments};
use tallylink_core::wire::Previous;
use tallylink_core::{Name, PeerId};
use tallylink_journal::testing::MemStore;
use tallylink_journal::{Dir, Store};
use tallylink_linux::outbox::{Group, Outbox, OutboxError, OutboxOptions, Owner, What};

#[test]
fn epochs_are_handed_on_one_after_the_other_each_when_the_disk_knows_the_last_is_stored() {
    let store = MemStore::new(1);
    for n in 1..=3 {
        push(&mut open(&store, n), n, 0..n * 10).unwrap();
    }
    let mut outbox = open(&store, 4);
    push(&mut outbox, 4, 0..5).unwrap();
    assert_eq!((outbox.waiting(), outbox.begins()), (65, (epoch(1), 0, None)));
    let (mut block, mut previous) = (Vec::new(), None);
    for (n, count) in [(1, 10), (2, 20), (3, 30), (4, 5)] {
        let next = outbox.next(&mut block).unwrap().expect("its turn");
        assert_eq!((next.epoch, next.previous, next.what), (epoch(n), previous, What::Records { first: 0, count }));
        assert!(outbox.next(&mut block).unwrap().is_none());
        assert!(outbox.free(epoch(n), count));
        assert!(outbox.next(&mut block).unwrap().is_none(), "the disk does not know yet");
        assert_eq!(outbox.awaits_mark(), n < 4);
        outbox.commit().unwrap();
        previous = Some(Previous { epoch: epoch(n), end: count });
    }
    assert_eq!((outbox.waiting(), outbox.unmarked(), outbox.history()), (0, 0, 60));
    drop(outbox);
    let outbox = open(&store, 5);
    assert_eq!((outbox.waiting(), outbox.history(), outbox.begins()), (0, 65, (epoch(5), 0, previous)));
}

#[test]
fn an_opening_without_a_durable_record_leaves_no_epoch() {
    let store = MemStore::new(1);
    push(&mut open(&store, 1), 1, 0..1).unwrap();
    drop(open(&store, 2));
    let mut outbox = open(&store, 3);
    outbox.append(&group(3, 0..5), 0).unwrap();
    drop(outbox);
    store.power_cut();
    let epochs: Vec<_> = open(&store, 4).epochs().map(|e| e.epoch).collect();
    assert_eq!(epochs, [epoch(1)]);
}

#[test]
fn what_a_receiver_has_already_is_not_handed_on() {
    let store = MemStore::new(1);
    push(&mut open(&store, 1), 1, 0..1_000).unwrap();
    let mut outbox = open(&store, 2);
    // OPENED told more than the disk knew.
    assert!(outbox.free(epoch(1), 432));
    let mut receiver = Receiver::default();
    receiver.order.push(epoch(1));
    receiver.stored.insert(epoch(1), (0..432).map(|n| Some(record(1, n))).collect());
    drain(&mut outbox, &mut receiver);
    assert_eq!(receiver.stored[&epoch(1)].len(), 1_000);
    assert_eq!(outbox.waiting(), 0);
    assert!(!outbox.free(epoch(1), 1_001), "it never had so many");
}

#[test]
fn what_is_delivered_is_deleted_and_still_counted() {
    let store = MemStore::new(1);
    let mut receiver = Receiver::default();
    let mut history = 0;
    for n in 1..=30 {
        let mut outbox = open(&store, n);
        assert_eq!(outbox.history(), history);
        for part in 0..10 {
            push(&mut outbox, n, part * 50..(part + 1) * 50).unwrap();
            history += 50;
            if n % 3 > 0 {
                drain(&mut outbox, &mut receiver);
            }
        }
        assert!(segments(&store) <= 8 + 6 * (n % 3 == 0) as usize, "{}", segments(&store));
    }
    drain(&mut open(&store, 31), &mut receiver);
    assert!(segments(&store) <= 1, "the last mark needs one");
    assert_eq!(open(&store, 32).history(), 30 * 500);
    assert!((1..=30).all(|n| {
        let stored = &receiver.stored[&epoch(n)];
        stored.len() == 500 && (0..500).zip(stored).all(|(number, r)| r.as_ref() == Some(&record(n, number)))
    }));
}

#[test]
fn a_record_longer_than_an_entry_goes_in_and_out_whole() {
    let store = MemStore::new(1);
    let mut outbox = open(&store, 1);
    let long: Vec<u8> = (0..3_000_000u32).map(|i| (i * 7) as u8).collect();
    let mut group = Group::default();
    for record in [&b"before"[..], &long, b"", &long[..1 << 20], b"behind"] {
        assert!(group.push(record));
    }
    outbox.append(&group, 0).unwrap();
    outbox.commit().unwrap();
    drop(outbox);
    let mut receiver = Receiver::default();
    drain(&mut open(&store, 2), &mut receiver);
    let lens: Vec<_> = receiver.stored[&epoch(1)].iter().map(|r| r.as_ref().unwrap().len()).collect();
    assert_eq!(lens, [6, 3_000_000, 0, 1 << 20, 6]);
    assert_eq!(receiver.stored[&epoch(1)][1].as_ref(), Some(&long));
}

#[test]
fn records_that_damage_took_are_told_and_everything_else_is_handed_on() {
    for at in [5_000, 9_000, 14_000] {
        let store = MemStore::new(1);
        push(&mut open(&store, 1), 1, 0..1_000).unwrap();
        push(&mut open(&store, 2), 2, 0..10).unwrap();
        let first = store.names().unwrap().into_iter().filter(|name| name.ends_with("segment")).min().unwrap();
        store.edit(&first, |bytes| bytes[at] ^= 4);
        let mut outbox = open(&store, 3);
        assert!(outbox.recovery().damaged_places > 0);
        let mut receiver = Receiver::default();
        drain(&mut outbox, &mut receiver);
        let stored = &receiver.stored[&epoch(1)];
        let lost = stored.iter().filter(|r| r.is_none()).count();
        assert!(lost > 0 && lost < 400 && stored.len() == 1_000, "{at}: {lost} of {}", stored.len());
        assert!((0..).zip(stored).all(|(n, r)| r.as_ref().is_none_or(|r| *r == record(1, n))));
        assert_eq!(receiver.stored[&epoch(2)].len(), 10);
        assert_eq!(outbox.waiting(), 0);
    }
}

#[test]
fn another_peers_or_streams_directory_and_a_second_writer_are_refused_by_name() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = Dir::create(temporary.path().join("outbox")).unwrap();
    let open = |owner: &Owner| Outbox::open(dir.clone(), owner, epoch(1), &options());
    let mut outbox = open(&owner()).unwrap();
    let locked = open(&owner()).unwrap_err();
    assert!(matches!(&locked, OutboxError::Locked { .. }), "{locked}");
    assert!(locked.to_string().contains("/outbox"), "{locked}");
    outbox.append(&group(1, 0..1), 0).unwrap();
    outbox.commit().unwrap();
    drop(outbox);
    let other = [Owner { peer: PeerId(*b"sensor-2"), ..owner() }, Owner { stream: Name::new("t").unwrap(), ..owner() }];
    for other in other {
        let foreign = open(&other).unwrap_err().to_string();
        assert!(foreign.contains(&format!("{}/s", owner().peer)), "{foreign}");
        assert!(foreign.contains(&format!("{}/{}", other.peer, other.stream.as_str())), "{foreign}");
        assert!(foreign.contains("/outbox"), "{foreign}");
    }
    assert_eq!(open(&owner()).unwrap().waiting(), 1);
}

#[test]
fn more_openings_than_are_remembered_are_refused_before_anything_is_forgotten() {
    let store = MemStore::new(1);
    let options = OutboxOptions { max_openings: 20, ..options() };
    let open = |n| Outbox::open(store.clone(), &owner(), epoch(n), &options).unwrap();
    for n in 1..=20 {
        push(&mut open(n), n, 0..1).unwrap();
    }
    let mut outbox = open(21);
    let refused = push(&mut outbox, 21, 0..1);
    assert!(matches!(refused, Err(OutboxError::TooManyOpenings { most: 20 })), "{refused:?}");
    assert_eq!(outbox.waiting(), 20);
    let mut receiver = Receiver::default();
    drain(&mut outbox, &mut receiver);
    assert_eq!(receiver.order.len(), 20);
    push(&mut outbox, 21, 0..1).unwrap();
}

#[test]
fn batches_and_single_records_make_the_same_outbox() {
    let records: Vec<_> = (0..5_000).map(|n| record(3, n)).collect();
    let packed: Vec<u8> = records.iter().flat_map(|r| crate::common::packed(r)).collect();
    let temporary = tempfile::tempdir().unwrap();
    let sender = tallylink_linux::Sender::connect(
        "127.0.0.1:9",
        owner().peer,
        tallylink_core::KeyId(0),
        tallylink_core::crypto::Psk::from_bytes([7; 16]),
    )
    .unwrap();
    let patience = std::time::Duration::from_secs(60);
    let mut stream = sender.open_durable("s", temporary.path().join("s")).unwrap();
    assert_eq!(stream.push_batch(&packed).unwrap(), 0..5_000);
    for r in &records {
        stream.push(r).unwrap();
    }
    stream.flush_durable(patience).unwrap();
    drop((stream, sender));
    let dir = Dir::open(temporary.path().join("s")).unwrap();
    let mut outbox = Outbox::open(dir, &owner(), epoch(9), &options()).unwrap();
    let (mut block, mut all) = (Vec::new(), Vec::new());
    while outbox.next(&mut block).unwrap().is_some() {
        all.extend(crate::common::unpack(&block));
    }
    assert!(all == [&records[..], &records[..]].concat());
}
