//! A sensor that delivers records of 61 B with one of the suites, for a counter of instructions to watch.
//!
//! `tallylink-sensor-cost SUITE EACH PACKETS` makes a sensor as `tallylink-smoltcp` makes it, pushes EACH records, lets it send them
//! and hear that they are STORED, and does so PACKETS times, a second apart. SUITE is a suite's name in lower case, or `none`.
//! Only the functions called `counted_…` are the sensor's work: `.ci/sensor-cost` counts in them alone, and takes what two runs of
//! different length differ by. Prints how many packets the sensor sent, and how many it heard.

#[path = "../plain.rs"]
mod plain;

use plain::Plain;
use std::net::SocketAddr;
use std::process::ExitCode;
use tallylink_core::crypto::{Crypto, Psk, Soft, Suite, Suites};
use tallylink_core::wire::Open;
use tallylink_core::{
    Accept, Batch, BootSeed, Config, Deliver, Duration, Ecn, End, Endpoint, Epoch, EpochSource, Fixed, Full, InIx,
    Instant, KeyId, Name, OutIx, Path, PeerId, PeerIx, Provision, Refusal, Storage,
};

/// Bytes of a record.
const RECORD: [u8; 61] = [0x55; 61];
/// The arrays of `tallylink-smoltcp`'s `Sensor`.
const IN_FLIGHT: usize = 8;
const DATAGRAM: usize = 1200;
const RING: usize = 4096;
/// Datagrams that one end may send in a turn, which is more than it has.
const ENOUGH: u32 = 8;
/// The time from one end to the other.
const DELAY: Duration = Duration::from_millis(5);
const SECOND_US: u64 = 1_000_000;

const PEER: PeerIx = PeerIx(0);
const STREAM: OutIx = OutIx(0);

type Device<C> = Endpoint<C, Fixed<<C as Crypto>::Key, 1, 0, 1, IN_FLIGHT, RING, 0, DATAGRAM, 1>>;
type Gateway<C> = Endpoint<C, Fixed<<C as Crypto>::Key, 1, 1, 1, 64, 64, 8, DATAGRAM, 16>>;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let [suite, each, packets] = &words[..] else {
        eprintln!(
            "say the suite, the records in a packet and the packets: tallylink-sensor-cost aes-128-gcm-siv 18 100"
        );
        return ExitCode::from(2);
    };
    let (Ok(each), Ok(packets)) = (each.parse(), packets.parse()) else {
        eprintln!("the records in a packet and the packets are numbers");
        return ExitCode::from(2);
    };
    let known = Suite::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(suite));
    let (sent, heard) = match (known, suite.as_str()) {
        (Some(known), _) => deliver(Soft, known, each, packets),
        (None, "none") => deliver(Plain, Suite::Aes128Gcm, each, packets),
        (None, other) => {
            eprintln!("no suite is called {other}; there are {:?} and none", Suite::ALL.map(Suite::name));
            return ExitCode::from(2);
        }
    };
    println!("{sent} {heard}");
    ExitCode::SUCCESS
}

/// Returns how many packets the sensor sent, and how many it heard.
fn deliver<C: Crypto + Copy>(crypto: C, suite: Suite, each: u64, packets: u64) -> (u64, u64) {
    let suites = Suites::from(suite);
    let limits = Config { held: 0, in_flight: IN_FLIGHT as u32, max_peers: 1, suites, ..Config::small() };
    let mut device: Device<C> = endpoint(limits, crypto, Fixed::new(), End::Device);
    let limits = Config {
        max_datagram: DATAGRAM as u16,
        ack_window: 1024,
        in_flight: 64,
        held: 8,
        max_peers: 1,
        suites,
        ..Config::default()
    };
    let mut gateway: Gateway<C> = endpoint(limits, crypto, Fixed::new(), End::Gateway);

    let mut now = Instant::from_micros(SECOND_US);
    let name = Name::new("temperature").expect("a name has 1 to 64 bytes");
    device.open(now, STREAM, PEER, name, EpochSource::FirstSession, 0, 0..RING as u32).expect("a free stream");
    device.connect(now, PEER, Path::to(address(End::Gateway))).expect("a known peer");

    let mut inbox = Inbox { epoch: Epoch::default(), next: 0 };
    let mut heard = 0;
    for round in 1..=packets {
        for _ in 0..each {
            counted_push(&mut device, now);
        }
        // HELLO and WELCOME, the records, and what confirms them.
        for _ in 0..8 {
            counted_timeout(&mut device, now);
            carry_up(&mut device, &mut gateway, now, &mut inbox);
            now = now + DELAY;
            gateway.handle_timeout(now);
            gateway.stored(now, InIx(0), inbox.epoch, inbox.next);
            heard += carry_down(&mut gateway, &mut device, now);
            now = now + DELAY;
            while gateway.next_event().is_some() {}
            if stored(&mut device) == round * each {
                break;
            }
        }
        assert_eq!(stored(&mut device), round * each, "stuck: {:?}", device.totals());
        now = now + Duration::from_micros(SECOND_US);
    }
    (device.totals().packets_sent, heard)
}

#[inline(never)]
fn counted_push<C: Crypto>(device: &mut Device<C>, now: Instant) {
    device.push(now, STREAM, &RECORD).expect("there is room");
}

#[inline(never)]
fn counted_timeout<C: Crypto>(device: &mut Device<C>, now: Instant) {
    if device.next_timeout().is_some_and(|due| due <= now) {
        device.handle_timeout(now);
    }
}

/// The next datagram of the sensor: its bytes.
#[inline(never)]
fn counted_send<C: Crypto>(device: &mut Device<C>, now: Instant, buffer: &mut [u8; DATAGRAM]) -> Option<usize> {
    let envelope = device.peek_transmit(now)?;
    let len = usize::from(envelope.len);
    device.seal_transmit(now, &envelope, buffer.get_mut(..len)?).then_some(len)
}

#[inline(never)]
fn counted_receive<C: Crypto>(device: &mut Device<C>, now: Instant, datagram: &mut [u8]) {
    let path = Path::to(address(End::Gateway));
    let mut none = Inbox { epoch: Epoch::default(), next: 0 };
    device.handle_datagram(now, &path, Ecn::NotEct, datagram, &mut none).expect("the gateway's");
    while device.next_event().is_some() {}
}

fn carry_up<C: Crypto>(device: &mut Device<C>, gateway: &mut Gateway<C>, now: Instant, inbox: &mut Inbox) {
    let mut buffer = [0; DATAGRAM];
    let path = Path::to(address(End::Device));
    for _ in 0..ENOUGH {
        let Some(len) = counted_send(device, now, &mut buffer) else { return };
        let datagram = &mut buffer[..len];
        let handled = gateway.handle_datagram(now, &path, Ecn::NotEct, datagram, inbox).expect("the sensor's");
        if let tallylink_core::Handled::Reply(len) = handled {
            counted_receive(device, now, &mut datagram[..len]);
        }
    }
}

/// Returns how many datagrams there were.
fn carry_down<C: Crypto>(gateway: &mut Gateway<C>, device: &mut Device<C>, now: Instant) -> u64 {
    let mut buffer = [0; DATAGRAM];
    let mut count = 0;
    while let Some(envelope) = gateway.peek_transmit(now) {
        let datagram = &mut buffer[..usize::from(envelope.len)];
        if !gateway.seal_transmit(now, &envelope, datagram) {
            break;
        }
        counted_receive(device, now, datagram);
        count += 1;
    }
    count
}

fn endpoint<C: Crypto, S: Storage<C::Key>>(config: Config, crypto: C, arrays: S, end: End) -> Endpoint<C, S> {
    let seed = BootSeed::entropy([end as u8 + 1; 16]);
    let mut endpoint = Endpoint::new(config, crypto, arrays, seed).expect("the limits fit the arrays");
    let provision = Provision::new(PeerId(*b"counting"), end, KeyId(0), Psk::from_bytes([7; 16]));
    endpoint.add_peer(PEER, provision).expect("a free place");
    endpoint
}

fn address(end: End) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], if end == End::Device { 1000 } else { 2000 }))
}

fn stored<C: Crypto>(device: &mut Device<C>) -> u64 {
    device.storage_mut().parts().outbound.first().map_or(0, |stream| stream.stored_below())
}

/// Takes every record.
struct Inbox {
    epoch: Epoch,
    next: u64,
}

impl Deliver for Inbox {
    fn open(&mut self, _: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        self.epoch = open.epoch;
        Ok(Accept { stream: InIx(0), stored_below: 0, next: 0 })
    }

    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        self.next = batch.to.number;
        Ok(())
    }

    fn gap(&mut self, _: InIx, _: Epoch, _: u64, _: u64, _: u8) -> Result<(), Full> {
        Err(Full)
    }
}
