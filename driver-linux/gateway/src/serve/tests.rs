//! What happens between the network thread and the disk when the disk fails, without threads: each turn is called.

mod allocations;
mod groups;
mod suites;

use std::io::ErrorKind;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tallylink_core::{Batch, Deliver, Epoch, Full, InIx, Open, PeerId, PeerIx, Position, Refusal};
use tallylink_journal::testing::{Fault, MemStore, Operation};
use tallylink_journal::{Item, Journal, Options, Reader, SyncSite};
use tallylink_linux::{Application, Stored};

use super::bridge::Bridge;
use super::downlink::Shared;
use super::ingest::Ingest;
use super::queue;
use super::streams::{Most, Refused, Streams};
use super::writer::{Next, Ways, Writer};

const PEER: PeerIx = PeerIx(0);
const EPOCH: Epoch = Epoch([5; 8]);

/// Both ends of the queue, on a disk that can fail.
struct Pair {
    disk: MemStore,
    ingest: Ingest,
    writer: Writer<MemStore>,
    bridge: Arc<Bridge>,
}

impl Pair {
    fn on(disk: &MemStore, queue_bytes: usize) -> Self {
        Self::with(disk, queue_bytes, 64 << 10)
    }

    fn with(disk: &MemStore, queue_bytes: usize, segment_bytes: u64) -> Self {
        Self::grouped(disk, queue_bytes, segment_bytes, Duration::ZERO)
    }

    fn grouped(disk: &MemStore, queue_bytes: usize, segment_bytes: u64, interval: Duration) -> Self {
        let options = Options { salt: 1, segment_bytes, ..Options::default() };
        let (journal, _) = Journal::open(disk.clone(), options).expect("a journal");
        let bridge = Arc::new(Bridge::default());
        let (put, take) = queue::queue(queue_bytes);
        let mut ingest = Ingest::new(
            Streams::of(&journal, Most { of_peer: 5, of_all: 8 }),
            put,
            Arc::clone(&bridge),
            thread::current(),
            Arc::new(Shared::new().expect("sockets")),
        );
        ingest.placed(PEER, PeerId([1; 8]));
        let ways = Ways { wake: Box::new(|| ()), check: Box::new(|| Ok(())) };
        let writer = Writer::new(journal, take, Arc::clone(&bridge), ways, interval, false);
        Self { disk: disk.clone(), ingest, writer, bridge }
    }

    fn new() -> Self {
        Self::on(&MemStore::new(1), 4096)
    }

    /// The peer opens its stream; back comes where delivery begins.
    fn open(&mut self, name: &str) -> Result<(InIx, u64), Refusal> {
        self.open_as(PEER, name)
    }

    fn open_as(&mut self, peer: PeerIx, name: &str) -> Result<(InIx, u64), Refusal> {
        let open = Open { stream: 1, name, epoch: EPOCH, first: 0, previous: None };
        self.ingest.open(peer, &open).map(|accept| (accept.stream, accept.next))
    }

    /// The disk works again.
    fn open_again(&mut self, name: &str) -> (InIx, u64) {
        self.write();
        assert!(self.bridge.is_mended());
        assert!(self.ingest.reopen());
        self.bridge.gone_on();
        self.open(name).expect("taken")
    }

    /// One record of one byte, its number.
    fn deliver(&mut self, stream: InIx, number: u64) -> Result<(), Full> {
        self.deliver_stored(stream, number, &[1, number as u8])
    }

    fn deliver_stored(&mut self, stream: InIx, number: u64, bytes: &[u8]) -> Result<(), Full> {
        let (from, to) = (Position::start_of(number), Position::start_of(number + 1));
        self.ingest.records(Batch { stream, epoch: EPOCH, from, to, first_start: 0, starts: 1, bytes })
    }

    /// The writer does all it can.
    fn write(&mut self) {
        while self.writer.turn() == Next::Again {}
    }

    /// What the network thread would confirm now.
    fn stored(&mut self) -> Option<u64> {
        std::iter::from_fn(|| self.ingest.stored()).map(|Stored { below, .. }| below).last()
    }

    fn fail(&self, operation: Operation, times: u32) {
        self.disk.add_fault(Fault { operation, after: 0, times, kind: ErrorKind::StorageFull });
    }

    /// What a reader finds.
    fn journal(&self) -> Vec<u8> {
        let mut reader = Reader::open(self.disk.clone()).expect("a journal");
        let mut found = Vec::new();
        while let Some(item) = reader.next().expect("readable") {
            match item {
                Item::Record(record) => found.extend_from_slice(record.bytes),
                other => panic!("{other:?}"),
            }
        }
        found
    }
}

#[test]
fn one_peer_cannot_take_the_streams_of_the_others_nor_get_more_by_a_restart() {
    let mut pair = Pair::new();
    let beside = [PeerIx(1), PeerIx(2)];
    beside.into_iter().for_each(|peer| pair.ingest.placed(peer, PeerId([peer.0 as u8 + 1; 8])));
    for number in 0..5 {
        let (stream, _) = pair.open(&format!("stream {number}")).expect("taken");
        pair.deliver(stream, 0).expect("room");
    }
    assert_eq!(pair.open("one more"), Err(Refusal::TooMany));
    assert!(pair.open("stream 3").is_ok());
    assert!(pair.open_as(beside[0], "one more").is_ok());
    assert_eq!(pair.ingest.streams().refused(), Refused { peer_streams: 1, all_streams: 0 });

    pair.write();
    let disk = pair.disk.clone();
    drop(pair);
    let mut pair = Pair::on(&disk, 4096);
    beside.into_iter().for_each(|peer| pair.ingest.placed(peer, PeerId([peer.0 as u8 + 1; 8])));
    assert_eq!(pair.open("one more"), Err(Refusal::TooMany));
    assert!(pair.open("stream 0").is_ok());
    // The bound of all comes first for whoever comes last.
    for number in 0..3 {
        assert!(pair.open_as(beside[number % 2], &format!("stream {number}")).is_ok());
    }
    assert_eq!(pair.open_as(beside[1], "one more"), Err(Refusal::TooMany));
    assert_eq!(pair.ingest.streams().refused(), Refused { peer_streams: 1, all_streams: 1 });
}

#[test]
fn f42_nothing_is_confirmed_before_the_sync_that_covers_it() {
    let mut pair = Pair::new();
    let (stream, next) = pair.open("s").expect("taken");
    assert_eq!(next, 0);
    pair.deliver(stream, 0).expect("room");
    assert_eq!(pair.stored(), None);
    pair.write();
    assert_eq!(pair.stored(), Some(1));
    assert_eq!(pair.journal(), [0]);
}

#[test]
fn f43_after_a_failed_sync_what_it_should_have_covered_comes_again() {
    let mut pair = Pair::new();
    let (stream, _) = pair.open("s").expect("taken");
    pair.deliver(stream, 0).expect("room");
    pair.write();
    assert_eq!(pair.stored(), Some(1));

    pair.fail(Operation::Sync(SyncSite::Group), 1);
    pair.deliver(stream, 1).expect("room");
    pair.write();
    assert!(pair.bridge.take_failure());
    // Told once more, and no further.
    assert_eq!(pair.stored(), Some(1));
    // It was put before the network thread heard of the failure.
    pair.deliver(stream, 2).expect("room");
    pair.ingest.close();
    assert_eq!(pair.open("s"), Err(Refusal::Storage));
    assert_eq!(pair.deliver(stream, 3), Err(Full));
    pair.write();
    assert_eq!((pair.stored(), pair.bridge.take_failure()), (None, false));

    assert!(pair.ingest.reopen());
    assert_eq!(pair.open("s"), Ok((stream, 1)));
    pair.deliver(stream, 1).expect("room");
    pair.deliver(stream, 2).expect("room");
    pair.write();
    assert_eq!(pair.stored(), Some(3));
    pair.disk.power_cut();
    assert_eq!(Pair::on(&pair.disk.fork(2), 4096).journal(), [0, 1, 2]);
}

#[test]
fn f47_a_full_disk_refuses_and_goes_on_when_space_returns() {
    let mut pair = Pair::new();
    let (stream, _) = pair.open("s").expect("taken");
    for round in 0..3 {
        pair.fail(Operation::Allocate, 2);
        pair.deliver(stream, 0).expect("room");
        pair.write();
        assert!(pair.bridge.take_failure(), "round {round}");
        // The trial meets the second.
        assert!(!pair.bridge.is_mended());
        pair.ingest.close();
        assert_eq!(pair.open("s"), Err(Refusal::Storage));
        while !pair.bridge.is_mended() {
            thread::yield_now();
            pair.write();
        }
        assert_eq!(pair.open_again("s"), (stream, 0));
    }
    pair.deliver(stream, 0).expect("room");
    pair.write();
    assert_eq!(pair.stored(), Some(1));
    assert_eq!(pair.journal(), [0]);
}

#[test]
fn f47_what_filled_the_last_segment_is_confirmed_and_the_next_goes_on_behind_it() {
    let disk = MemStore::new(1);
    let mut pair = Pair::on(&disk, 1 << 20);
    let (stream, _) = pair.open("s").expect("taken");
    pair.deliver(stream, 0).expect("room");
    pair.write();
    // One group that does not fit the segment, and no room for another segment.
    pair.fail(Operation::Create, 1);
    let given = (1..5000).take_while(|number| pair.deliver(stream, *number).is_ok()).count() as u64;
    pair.write();
    assert!(pair.bridge.take_failure());
    pair.ingest.close();
    let (_, stored) = pair.open_again("s");
    assert!(1 < stored && stored < given, "{stored} of {given}");
    for number in stored..=given {
        pair.deliver(stream, number).expect("room");
    }
    pair.write();
    assert!(!pair.bridge.take_failure());
    assert_eq!(pair.stored(), Some(given + 1));
    assert_eq!(pair.journal(), (0..=given).map(|number| number as u8).collect::<Vec<_>>());
}

#[test]
fn a_full_queue_says_so_before_anything_is_taken_and_room_is_told_once() {
    let mut pair = Pair::new();
    let (stream, _) = pair.open("s").expect("taken");
    let taken = (0..).take_while(|number| pair.deliver(stream, *number).is_ok()).count() as u64;
    assert!(!pair.ingest.room());
    pair.write();
    assert!(pair.ingest.room());
    assert!(!pair.ingest.room());
    assert_eq!(pair.stored(), Some(taken));
    pair.deliver(stream, taken).expect("room");
    pair.write();
    assert_eq!(pair.stored(), Some(taken + 1));
    assert_eq!(pair.journal(), (0..=taken).map(|number| number as u8).collect::<Vec<_>>());
}

#[test]
fn a_slow_stream_is_stored_with_the_next_group_and_never_refused_however_much_a_fast_one_has_ahead() {
    let mut pair = Pair::with(&MemStore::new(1), 8 << 20, 64 << 20);
    let (fast, _) = pair.open("fast").expect("taken");
    let (slow, _) = pair.open("slow").expect("taken");
    // Records of 1,000 bytes.
    let stored = [&[0x43, 0xe8][..], &[7; 1000]].concat();
    let mut next = 0;
    for number in 0..20 {
        while pair.deliver_stored(fast, next, &stored).is_ok() {
            next += 1;
        }
        pair.ingest.begin_turn(0);
        pair.deliver(slow, number).expect("room");
        assert_eq!(pair.writer.turn(), Next::Again);
        let reports: Vec<_> = std::iter::from_fn(|| pair.ingest.stored()).collect();
        let below = |stream| reports.iter().filter(|stored| stored.stream == stream).map(|stored| stored.below).max();
        assert_eq!(below(slow), Some(number + 1));
        assert!(below(fast).is_some_and(|below| below + 5000 < next), "there is much ahead: {next}");
    }
    pair.write();
    assert_eq!(std::iter::from_fn(|| pair.ingest.stored()).map(|stored| stored.below).max(), Some(next));
}

#[test]
fn a_restart_goes_on_where_the_disk_stands() {
    let mut pair = Pair::new();
    let (stream, _) = pair.open("s").expect("taken");
    pair.deliver(stream, 0).expect("room");
    pair.write();
    pair.deliver(stream, 1).expect("room");
    let disk = pair.disk.clone();
    // A SIGKILL: the last record is only in the queue.
    drop(pair);
    let mut again = Pair::on(&disk, 4096);
    let (stream, next) = again.open("s").expect("taken");
    assert_eq!(next, 1);
    again.deliver(stream, 1).expect("room");
    let (other, next) = again.open("t").expect("taken");
    assert!(other != stream && next == 0);
    again.write();
    assert_eq!(again.journal(), [0, 1]);
}

#[test]
fn what_could_not_be_published_is_published_without_another_record() {
    let mut pair = Pair::new();
    let (stream, _) = pair.open("s").expect("taken");
    pair.deliver(stream, 0).expect("room");
    // The segment's header, the group, then the position, which is tried again at once.
    pair.disk.add_fault(Fault { operation: Operation::Write, after: 2, times: 2, kind: ErrorKind::Other });
    pair.write();
    assert_eq!(pair.stored(), Some(1));
    assert_eq!(pair.journal(), [0; 0]);
    assert_eq!(pair.bridge.health.troubles().len(), 1);
    while !pair.bridge.health.troubles().is_empty() {
        pair.write();
    }
    assert_eq!(pair.journal(), [0]);
}

#[test]
fn an_order_to_stop_is_not_lost_to_a_turn_that_looks_for_reports() {
    let mut pair = Pair::new();
    pair.bridge.stop();
    // In the middle of a turn, after its loop looked whether to stop.
    assert_eq!(pair.stored(), None);
    assert!(pair.bridge.has_news(), "the network thread would sleep");
}

#[test]
fn the_last_turn_stores_what_was_put_before_the_network_thread_ended() {
    let mut pair = Pair::new();
    let (stream, _) = pair.open("s").expect("taken");
    pair.deliver(stream, 0).expect("room");
    let Pair { disk, ingest, mut writer, .. } = pair;
    drop(ingest);
    while writer.turn() != Next::Over {}
    drop(writer);
    assert_eq!(Pair::on(&disk, 4096).journal(), [0]);
}
