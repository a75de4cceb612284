//! Two networks in one process, over real sockets.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tallylink_core::crypto::Psk;
use tallylink_core::{Discard, End, EpochSource, Fault, KeyId, Name, OutIx, PeerId, Provision, PushError};
use tallylink_linux::application::SendsOnly;
use tallylink_linux::receiver::{InPlace, Record};
use tallylink_linux::{Application, Network, Settings};

type Taken = Rc<RefCell<Vec<(String, u64, Vec<u8>)>>>;

fn settings(of: Settings) -> Settings {
    Settings { listen: "127.0.0.1:0".parse().unwrap(), ..of }
}

fn provision(end: End) -> Provision {
    Provision::new(PeerId(*b"sensor-1"), end, KeyId(0), Psk::from_bytes([7; 16]))
}

/// A sender of one stream and a receiver that notes what it takes.
struct Pair<A> {
    sender: Network<SendsOnly>,
    receiver: Network<A>,
    stream: OutIx,
}

impl<A: Application + 'static> Pair<A> {
    fn new(application: A, ring: u32) -> Self {
        let mut receiver = Network::new(&settings(Settings::receiver()), application).unwrap();
        receiver.add_peer(provision(End::Gateway)).unwrap();
        let mut sender = Network::new(&settings(Settings::sender()), SendsOnly).unwrap();
        let peer = sender.add_peer(provision(End::Device)).unwrap();
        sender.connect(peer, receiver.local_addr().unwrap()).unwrap();
        let name = Name::new("temperature").unwrap();
        let stream = sender.open(peer, name, EpochSource::FirstSession, 0, ring).unwrap();
        Self { sender, receiver, stream }
    }

    fn stored(&self) -> u64 {
        self.sender.stream(self.stream).unwrap().stored_below()
    }

    /// Turns both until `below` is stored.
    fn until_stored(&mut self, below: u64) {
        for _ in 0..3_000 {
            if self.stored() >= below {
                return;
            }
            if !self.sender.turn() & !self.receiver.turn() {
                self.sender.wait(Some(Duration::from_millis(1)), || true).unwrap();
                self.receiver.wait(Some(Duration::ZERO), || true).unwrap();
            }
        }
        panic!(
            "stuck at {} of {below}: sender {:?} {:?} receiver {:?} {:?}",
            self.stored(),
            self.sender.endpoint().totals(),
            discards(&self.sender),
            self.receiver.endpoint().totals(),
            discards(&self.receiver)
        );
    }
}

/// Every reason for a discard or fault that occurred.
fn discards<A: Application + 'static>(of: &Network<A>) -> Vec<(&'static str, u64)> {
    let counters = of.endpoint().counters();
    let discards = Discard::ALL.iter().map(|d| (d.name(), counters.discarded(*d)));
    let faults = Fault::ALL.iter().map(|f| (f.name(), counters.faults(*f)));
    discards.chain(faults).filter(|(_, n)| *n > 0).collect()
}

fn noting() -> (Taken, InPlace<impl FnMut(Record<'_>)>) {
    let taken = Taken::default();
    let notes = Rc::clone(&taken);
    let take = move |r: Record<'_>| {
        notes.borrow_mut().push((r.name.to_owned(), r.number, r.bytes.to_vec()));
    };
    (taken, InPlace::new(64, take))
}

#[test]
fn the_first_record_arrives_and_is_stored() {
    let (taken, application) = noting();
    let mut pair = Pair::new(application, 1 << 16);
    assert_eq!(pair.sender.push(pair.stream, b"21.5"), Ok(0));
    pair.until_stored(1);
    let expected = vec![("temperature".to_owned(), 0, b"21.5".to_vec())];
    assert_eq!(*taken.borrow(), expected);
}

/// Bytes that tell which record they belong to.
fn record(number: u64, len: usize) -> Vec<u8> {
    (0..len).map(|i| (number as usize * 31 + i * 7) as u8).collect()
}

#[test]
fn small_large_and_empty_records_arrive_in_order() {
    let (taken, application) = noting();
    let mut pair = Pair::new(application, 1 << 20);
    let lens = [0, 1, 61, 1013, 65_536, 0, 16_013, 63, 64, 200_000];
    let records: Vec<Vec<u8>> = (0..200).map(|n| record(n, lens[n as usize % lens.len()])).collect();
    let mut pushed = 0;
    while pushed < records.len() {
        match pair.sender.push(pair.stream, &records[pushed]) {
            Ok(n) => {
                assert_eq!(n, pushed as u64);
                pushed += 1;
            }
            Err(PushError::Full) => {
                let stored = pair.stored();
                pair.until_stored(stored + 1);
            }
            Err(e) => panic!("{e}"),
        }
    }
    pair.until_stored(records.len() as u64);
    let taken = taken.borrow();
    assert_eq!(taken.len(), records.len());
    for (n, (at, expected)) in taken.iter().zip(&records).enumerate() {
        assert_eq!((at.1, &at.2), (n as u64, expected), "record {n}");
    }
}

#[test]
fn a_batch_fills_segmented_sends() {
    let (taken, application) = noting();
    let mut pair = Pair::new(application, 8 << 20);
    let records = 50_000;
    let packed: Vec<u8> = (0..records).flat_map(|n| [vec![61], record(n, 61)].concat()).collect();
    let pushed = pair.sender.push_batch(pair.stream, &packed).unwrap();
    assert_eq!((pushed.first, pushed.records, pushed.bytes), (0, records, packed.len()));
    pair.until_stored(records);
    assert!(taken.borrow().iter().enumerate().all(|(n, r)| r.1 == n as u64 && r.2 == record(r.1, 61)));
    let counters = pair.sender.counters();
    assert!(
        counters.datagrams_sent >= 4 * counters.send_calls,
        "{} datagrams in {} calls",
        counters.datagrams_sent,
        counters.send_calls
    );
}
