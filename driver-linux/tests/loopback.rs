//! Two networks in one process, over real sockets.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tallylink_core::crypto::Psk;
use tallylink_core::{Discard, End, EpochSource, Fault, KeyId, Name, OutIx, PeerId, Provision};
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
