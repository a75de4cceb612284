//! Once a session is under way nothing is allocated: not for a record, not for a packet, by whoever pushes, sends or receives.
//!
//! The allocator of this program counts what each thread asks of it. What the C code of the suites asks of the system is not
//! in that: it makes two keys for a session, and none for a packet, as `allocations` of the bench shows.

use std::time::Duration;

use allocation_counter::measure;
use tallylink_core::crypto::{Psk, Suite, Suites};
use tallylink_core::{
    Accept, Batch, Deliver, End, Epoch, EpochSource, Full, InIx, KeyId, Name, Open, OutIx, PeerId, PeerIx, Provision,
    Refusal,
};
use tallylink_linux::{Application, Network, Receiver, Sender, SendsOnly, Settings, Stored};

/// Bytes of the ring, and of records in it.
const RING: u32 = 1 << 20;
const RECORD: [u8; 61] = [7; 61];
/// Records of a batch.
const BATCH: u64 = 512;
/// Records before anything is counted: everything has the size by then that it keeps.
const WARM_UP: u64 = 200_000;
const RECORDS: u64 = 200_000;
/// Longer than anything here takes on a loaded machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(60);

/// Takes every record and calls it stored.
#[derive(Default)]
struct Sink {
    epoch: Epoch,
    next: u64,
    told: u64,
}

impl Deliver for Sink {
    fn open(&mut self, _: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        self.epoch = open.epoch;
        Ok(Accept { stream: InIx(0), stored_below: self.told, next: self.next })
    }

    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        self.next = batch.to.number;
        Ok(())
    }

    fn gap(&mut self, _: InIx, _: Epoch, _: u64, _: u64, _: u8) -> Result<(), Full> {
        Err(Full)
    }
}

impl Application for Sink {
    fn streams(&self) -> u32 {
        1
    }

    fn stored(&mut self) -> Option<Stored> {
        let news = self.told < self.next;
        self.told = self.next;
        news.then_some(Stored { stream: InIx(0), epoch: self.epoch, below: self.told })
    }
}

/// Two networks on this thread, and what each allocated.
struct Pair {
    sender: Network<SendsOnly>,
    stream: OutIx,
    receiver: Network<Sink>,
    batch: Vec<u8>,
    pushed: u64,
    allocated: [u64; 2],
}

impl Pair {
    fn new(suite: Suite) -> Self {
        let settings = |mut base: Settings| {
            base.listen = ([127, 0, 0, 1], 0).into();
            base.config.suites = Suites::from(suite);
            base
        };
        let provision = |end| Provision::new(PeerId([1; 8]), end, KeyId(0), Psk::from_bytes([7; 16]));
        let mut receiver = Network::new(&settings(Settings::receiver()), Sink::default()).unwrap();
        receiver.add_peer(provision(End::Gateway)).unwrap();
        let mut sender = Network::new(&settings(Settings::sender()), SendsOnly).unwrap();
        let peer = sender.add_peer(provision(End::Device)).unwrap();
        sender.connect(peer, receiver.local_addr().unwrap()).unwrap();
        let stream = sender.open(peer, Name::new("s").unwrap(), EpochSource::FirstSession, 0, RING).unwrap();
        let batch = [&[RECORD.len() as u8][..], &RECORD].concat().repeat(BATCH as usize);
        Self { sender, stream, receiver, batch, pushed: 0, allocated: [0; 2] }
    }

    /// Until so many records more are STORED.
    fn carry(&mut self, records: u64) {
        let until = self.pushed + records.next_multiple_of(BATCH);
        let Self { sender, stream, receiver, batch, pushed, allocated } = self;
        while sender.stream(*stream).unwrap().stored_below() < until {
            let by_sender = measure(|| {
                while *pushed < until && sender.stream(*stream).unwrap().room() as usize >= batch.len() {
                    *pushed += sender.push_batch(*stream, batch).unwrap().records;
                }
                if !sender.turn() {
                    sender.wait(Some(Duration::from_millis(1)), || true).unwrap();
                }
            });
            let by_receiver = measure(|| {
                if !receiver.turn() {
                    receiver.wait(Some(Duration::ZERO), || true).unwrap();
                }
            });
            allocated[0] += by_sender.count_total;
            allocated[1] += by_receiver.count_total;
        }
    }
}

#[test]
fn network_threads_allocate_nothing_for_records_and_packets() {
    for suite in Suite::ALL {
        let mut pair = Pair::new(suite);
        pair.carry(WARM_UP);
        assert!(pair.allocated.iter().all(|count| *count > 0), "whatever is set up is counted");
        pair.allocated = [0; 2];
        let packets = pair.sender.counters().datagrams_sent;
        pair.carry(RECORDS);
        let packets = pair.sender.counters().datagrams_sent - packets;
        assert_eq!(pair.allocated, [0, 0], "allocations by sender and receiver for {packets} packets with {suite}");
    }
}

#[test]
fn a_thread_that_pushes_allocates_nothing_for_a_record() {
    let mut receiver = Receiver::bind("127.0.0.1:0").unwrap();
    receiver.add_peer(PeerId([1; 8]), KeyId(0), Psk::from_bytes([7; 16])).unwrap();
    let to = receiver.local_addr().to_string();
    let taking = std::thread::spawn(move || {
        let mut taken = 0;
        while taken < WARM_UP + RECORDS {
            taken += receiver.take(PATIENCE, |_| ()) as u64;
        }
        // It has yet to confirm the last.
        receiver
    });
    let sender = Sender::connect(&to, PeerId([1; 8]), KeyId(0), Psk::from_bytes([7; 16])).unwrap();
    let mut stream = sender.open("s").unwrap();
    let mut push = |count| measure(|| (0..count).for_each(|_| _ = stream.push(&RECORD).unwrap())).count_total;
    push(WARM_UP);
    assert_eq!(push(RECORDS), 0);
    stream.flush(PATIENCE).unwrap();
    drop(taking.join().unwrap());
}
