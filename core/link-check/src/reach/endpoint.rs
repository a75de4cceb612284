//! Every call of an endpoint, on the arrays of a sensor.

use core::hint::black_box;
use core::mem::MaybeUninit;
use core::net::SocketAddr;

use tallylink_core::crypto::{Psk, Soft, SoftKey};
use tallylink_core::wire::{Open, Previous};
use tallylink_core::{
    Accept, Batch, BootSeed, Config, ConfigError, Deliver, Ecn, End, Endpoint, Epoch, EpochSource, Fixed, Full, InIx,
    Instant, KeyId, Name, OutIx, Path, PeerId, PeerIx, Priority, Provision, Refusal, SendFault,
};

/// One gateway, two streams each way, and `Config::small`'s limits.
pub(crate) const PEERS: usize = 1;
pub(crate) const STREAMS: usize = 2;
pub(crate) const IN_FLIGHT: usize = 8;
pub(crate) const RING: usize = 1536;
pub(crate) const HELD: usize = 2;
pub(crate) const DATAGRAM: usize = 1200;
pub(crate) const WORDS: usize = 1;

pub(crate) type Arrays = Fixed<SoftKey, PEERS, STREAMS, STREAMS, IN_FLIGHT, RING, HELD, DATAGRAM, WORDS>;
pub(crate) type Sensor = Endpoint<Soft, Arrays>;

/// Where firmware would keep it, so that the image shows what it takes.
static mut SENSOR: MaybeUninit<Sensor> = MaybeUninit::uninit();

pub(crate) fn everything() {
    let Ok(endpoint) = sensor() else {
        return;
    };
    // SAFETY: called once, from the only thread there is; nothing else refers to the static.
    let sensor = unsafe { (*(&raw mut SENSOR)).write(endpoint) };
    provision(sensor);
    send(sensor);
    receive(sensor);
    run(sensor);
    look(sensor);
    sleep(sensor);
}

fn sensor() -> Result<Sensor, ConfigError> {
    let seed = match black_box(true) {
        true => BootSeed::entropy(black_box([0; 16])),
        false => BootSeed::counter(black_box(1), black_box(2)),
    };
    Endpoint::new(black_box(Config::small()), Soft, Fixed::new(), seed)
}

fn provision(sensor: &mut Sensor) {
    let (now, peer) = black_box((Instant::from_micros(1), PeerIx(0)));
    let key = Psk::from_bytes(black_box([0; Psk::LEN]));
    let of = Provision::new(PeerId(black_box([0; 8])), black_box(End::Device), KeyId(black_box(0)), key);
    let _ = black_box(sensor.add_peer(peer, black_box(of.clone())));
    let _ = black_box(sensor.set_keys(now, peer, black_box(of)));
    let _ = black_box(sensor.connect(now, peer, path()));
    sensor.poll(now, peer);
    sensor.end_session(now, peer);
    sensor.end_sessions(now);
    sensor.remove_peer(now, peer);
}

fn send(sensor: &mut Sensor) {
    let (now, peer, stream) = black_box((Instant::from_micros(1), PeerIx(0), OutIx(0)));
    if let Some(name) = Name::new(black_box("s")) {
        let source = black_box(EpochSource::FirstSession);
        let _ = black_box(sensor.open(now, stream, peer, name, source, black_box(0), black_box(0..RING as u32)));
    }
    let _ = black_box(sensor.set_priority(now, stream, black_box(Priority::Backlog)));
    let previous = Previous { epoch: Epoch([0; 8]), end: 1 };
    let _ = black_box(sensor.begin_epoch(now, stream, black_box(Epoch([1; 8])), black_box(Some(previous))));
    let record = black_box([0; 64]);
    let _ = black_box(sensor.push(now, stream, black_box(&record)));
    let _ = black_box(sensor.push_batch(now, stream, black_box(&record)));
    let _ = black_box(sensor.push_with(now, stream, black_box(9), |a, b| {
        a.fill(black_box(1));
        b.fill(black_box(2));
    }));
    sensor.skip(now, stream, black_box(3), black_box(1));
    let _ = black_box(sensor.close(now, stream));
}

fn receive(sensor: &mut Sensor) {
    let now = black_box(Instant::from_micros(2));
    let mut datagram = black_box([0; DATAGRAM]);
    if let Some(datagram) = datagram.get_mut(..black_box(DATAGRAM)) {
        let _ = black_box(sensor.handle_datagram(now, &path(), black_box(Ecn::Ce), datagram, &mut Application));
    }
    sensor.stored(now, black_box(InIx(0)), black_box(Epoch([0; 8])), black_box(4));
    sensor.room(now, &mut Application);
}

fn run(sensor: &mut Sensor) {
    let now = black_box(Instant::from_micros(3));
    let mut datagram = black_box([0; DATAGRAM]);
    black_box(sensor.wants_to_send());
    while let Some(envelope) = sensor.peek_transmit(now) {
        if let Some(out) = datagram.get_mut(..usize::from(envelope.len)) {
            black_box(sensor.seal_transmit(now, &envelope, out));
            black_box(&out);
        }
        sensor.transmit_failed(now, envelope.peer, black_box(SendFault::TooBig));
    }
    sensor.handle_timeout(now);
    black_box(sensor.next_timeout());
    while let Some(event) = sensor.next_event() {
        black_box(event);
    }
}

fn look(sensor: &mut Sensor) {
    black_box(sensor.counters());
    black_box(sensor.totals());
    black_box(sensor.config());
    black_box(sensor.newest_key(black_box(PeerIx(0))));
    black_box(sensor.storage());
    black_box(sensor.storage_mut());
}

fn sleep(sensor: &mut Sensor) {
    let (now, peer) = black_box((Instant::from_micros(4), PeerIx(0)));
    let mut image = black_box([0; 512]);
    black_box(sensor.image_len(peer));
    let _ = black_box(sensor.suspend(now, peer, &mut image));
    let _ = black_box(sensor.resume(now, peer, path(), &mut image, &mut Application));
}

fn path() -> Path {
    Path::to(black_box(SocketAddr::from(([10, 0, 2, 2], 1))))
}

/// An application that gives whatever answer there is.
struct Application;

impl Deliver for Application {
    fn open(&mut self, peer: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        black_box((peer, open));
        black_box(Ok(Accept { stream: InIx(0), stored_below: 0, next: 0 }))
    }

    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        black_box(batch);
        black_box(Ok(()))
    }

    fn gap(&mut self, stream: InIx, epoch: Epoch, from: u64, below: u64, reason: u8) -> Result<(), Full> {
        black_box((stream, epoch, from, below, reason));
        black_box(Ok(()))
    }
}
