//! Once a stream is under way nothing is allocated for its records, on either side of the queue. The allocator of this program
//! counts what each thread asks of it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use allocation_counter::measure;
use tallylink_core::{Batch, Deliver, InIx, Open, PeerId, Position};
use tallylink_journal::{Dir, Journal, Options};
use tallylink_linux::Application;

use super::{EPOCH, PEER};
use crate::serve::bridge::Bridge;
use crate::serve::downlink::Shared;
use crate::serve::ingest::Ingest;
use crate::serve::queue;
use crate::serve::streams::{Most, Streams};
use crate::serve::writer::{Next, Ways, Writer};

/// Records of 61 bytes in a packet, and packets that wait for the disk together.
const RECORDS: u32 = 23;
const PACKETS: u64 = 20;
/// Groups before anything is counted, in which every ring wraps around, and then.
const WARM_UP: u64 = 200;
const GROUPS: u64 = 200;

#[test]
fn neither_the_network_threads_part_nor_the_journals_allocates_for_records() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = Dir::create(dir.path()).expect("a store");
    let (journal, _) = Journal::open(store, Options { salt: 1, ..Options::default() }).expect("a journal");
    let (bridge, (put, take)) = (Arc::new(Bridge::default()), queue::queue(1 << 20));
    let mut ingest = Ingest::new(
        Streams::of(&journal, Most { of_peer: 100, of_all: 100 }),
        put,
        Arc::clone(&bridge),
        thread::current(),
        Arc::new(Shared::new().expect("sockets")),
    );
    ingest.placed(PEER, PeerId([1; 8]));
    let ways = Ways { wake: Box::new(|| ()), check: Box::new(|| Ok(())) };
    let mut writer = Writer::new(journal, take, bridge, ways, Duration::ZERO, false);
    let open = Open { stream: 1, name: "s", epoch: EPOCH, first: 0, previous: None };
    let stream = ingest.open(PEER, &open).expect("taken").stream;

    let bytes = [&[61][..], &[7; 61]].concat().repeat(RECORDS as usize);
    let mut next = 0;
    let mut group = || {
        let received = measure(|| deliver(&mut ingest, stream, &bytes, &mut next));
        let written = measure(|| while writer.turn() == Next::Again {});
        let confirmed = measure(|| while ingest.stored().is_some() {});
        [received.count_total + confirmed.count_total, written.count_total]
    };
    let set_up = (0..WARM_UP).map(|_| group()).fold([0; 2], |[a, b], [c, d]| [a + c, b + d]);
    assert!(set_up[1] > 0, "whatever is set up is counted");
    for n in 0..GROUPS {
        assert_eq!(group(), [0, 0], "allocations on the network thread and the journal's, group {n}");
    }
}

/// What one turn receives.
fn deliver(ingest: &mut Ingest, stream: InIx, bytes: &[u8], next: &mut u64) {
    ingest.begin_turn(1_700_000_000_000_000);
    for _ in 0..PACKETS {
        let (from, to) = (Position::start_of(*next), Position::start_of(*next + u64::from(RECORDS)));
        let batch = Batch { stream, epoch: EPOCH, from, to, first_start: 0, starts: RECORDS, bytes };
        ingest.records(batch).expect("room");
        *next = to.number;
    }
    ingest.end_turn();
}
