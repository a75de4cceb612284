//! One end of a session without the rest of the protocol: honest until the keys are agreed on, and then whatever its owner likes.

use tallylink_core::crypto::{self, Crypto, Label as KeyLabel, Psk, Soft, SoftKey, Suite, TAG_LEN, Tag};
use tallylink_core::wire::frame::write_ack;
use tallylink_core::wire::handshake::VERSION;
use tallylink_core::wire::{DataHeader, Hello, Limits, NoRoom, Packet, PacketRange, Welcome, Writer, number};
use tallylink_core::{Boot, KeyId, Label, PeerId};

/// A pre-shared key.
pub type Key = [u8; 16];

/// Limits that nothing runs into.
pub const WIDE: Limits =
    Limits { max_record: 1 << 20, max_datagram: 1472, ack_window: 1024, credit: 1 << 20, held: 64 };

/// Seals any bytes as the frames of a packet, and opens what the other end sends.
pub struct Channel {
    tx: SoftKey,
    rx: SoftKey,
    header: Header,
    /// The number of the next packet.
    pub next: u64,
    /// One above the largest number that the other end was seen to use.
    pub seen: u64,
    received: Vec<PacketRange>,
}

/// What goes before each packet's frames.
enum Header {
    Long { hello: Vec<u8>, gateway_nonce: [u8; 16] },
    Short(Label),
}

/// The HELLO of a peer with this nonce and boot, which offers `suites`.
#[must_use]
pub fn hello(peer: PeerId, nonce: [u8; 16], boot: Boot, suites: u8, limits: Limits) -> Hello<'static> {
    Hello {
        version_min: VERSION,
        version_max: VERSION,
        key: KeyId(1),
        peer,
        nonce,
        boot,
        suites,
        label: Label(0x7700),
        limits,
        tlvs: &[],
    }
}

/// The whole HELLO packet, its tag made with `key`.
#[must_use]
pub fn hello_packet(hello: &Hello<'_>, key: Key) -> Vec<u8> {
    let mut packet = core_of(|w| hello.write(w));
    packet.resize(hello.packet_len() - TAG_LEN, 0);
    let tag = crypto::mac(&tag_key(key, KeyLabel::HelloTag, hello), &[&packet]);
    packet.extend_from_slice(tag.as_bytes());
    packet
}

fn tag_key(key: Key, label: KeyLabel, hello: &Hello<'_>) -> Key {
    let mut derived = [0; 16];
    crypto::derive(&Psk::from_bytes(key), label, &[&[VERSION, hello.key.0], &hello.peer.0], &mut derived);
    derived
}

fn core_of(write: impl FnOnce(&mut Writer<'_>) -> Result<(), NoRoom>) -> Vec<u8> {
    let mut buffer = [0; 256];
    let mut w = Writer::new(&mut buffer);
    write(&mut w).expect("no packet's unsealed part is as long");
    w.into_written().to_vec()
}

/// The keys of both directions, the device's first.
fn keys(key: Key, hello: &[u8], welcome: &[u8], suite: u8) -> Option<[SoftKey; 2]> {
    let suite = Suite::from_number(suite)?;
    let mut session = [0; 16];
    crypto::derive(&Psk::from_bytes(key), KeyLabel::Session, &[hello, welcome], &mut session);
    let expand = |label| {
        let secret = crypto::derive_secret(&Psk::from_bytes(session), label, &[]);
        let mut expanded = None;
        Soft.expand(suite, &secret, &mut expanded);
        expanded
    };
    Some([expand(KeyLabel::DeviceToGateway)?, expand(KeyLabel::GatewayToDevice)?])
}

impl Channel {
    /// The device end of what `hello` asked for and `answer` agreed to, if that is a WELCOME.
    #[must_use]
    pub fn device(key: Key, hello: &Hello<'_>, answer: &[u8]) -> Option<Self> {
        let Ok(Packet::Welcome(welcome)) = Packet::parse(answer) else { return None };
        let hello = core_of(|w| hello.write(w));
        let [tx, rx] = keys(key, &hello, answer.get(..welcome.core_len())?, welcome.suite)?;
        let header = Header::Long { hello, gateway_nonce: welcome.gateway_nonce };
        Some(Self { tx, rx, header, next: 0, seen: 0, received: vec![] })
    }

    /// The gateway end, if the packet is a HELLO, and the WELCOME that answers it.
    #[must_use]
    pub fn gateway(key: Key, packet: &[u8], limits: Limits) -> Option<(Self, Vec<u8>)> {
        let Ok(Packet::Hello(hello)) = Packet::parse(packet) else { return None };
        let welcome = Welcome {
            version: VERSION,
            key: hello.key,
            peer: hello.peer,
            device_nonce: hello.nonce,
            gateway_nonce: [0x66; 16],
            suite: 1,
            limits,
            tlvs: &[],
        };
        let mut answer = core_of(|w| welcome.write(w));
        let body = packet.get(..hello.packet_len() - TAG_LEN)?;
        let tag = crypto::mac(&tag_key(key, KeyLabel::WelcomeTag, &hello), &[body, &answer]);
        let [rx, tx] = keys(key, &core_of(|w| hello.write(w)), &answer, 1)?;
        answer.extend_from_slice(tag.as_bytes());
        Some((Self { tx, rx, header: Header::Short(hello.label), next: 0, seen: 0, received: vec![] }, answer))
    }

    /// From now on packets name their session by this label.
    pub fn use_label(&mut self, label: Label) {
        self.header = Header::Short(label);
    }

    /// A packet with this number and these bytes as its frames.
    #[must_use]
    pub fn seal(&self, number: u64, frames: &[u8]) -> Vec<u8> {
        let header = match &self.header {
            Header::Long { hello, gateway_nonce } => {
                [&[0, 3], &hello[2..], gateway_nonce, &number.to_be_bytes()].concat()
            }
            Header::Short(label) => {
                let header = DataHeader { label: *label, truncated: number as u32, number_len: 4 };
                core_of(|w| header.write(w))
            }
        };
        let mut body = frames.to_vec();
        let tag = Soft.seal(&self.tx, number, &header, &mut body);
        [header, body, tag.as_bytes().to_vec()].concat()
    }

    /// The frames of a packet that the other end sealed in this session.
    pub fn open(&mut self, packet: &[u8]) -> Option<Vec<u8>> {
        let (header_len, number) = match Packet::parse(packet) {
            Ok(Packet::Data(header)) => {
                let number = number::expand(self.seen, header.truncated, header.number_len)?;
                (header.len(), number)
            }
            Ok(Packet::LongData(long)) => (long.header_len(), long.number),
            _ => return None,
        };
        let (header, rest) = packet.split_at(header_len);
        let (body, tag) = rest.split_last_chunk::<TAG_LEN>()?;
        let mut body = body.to_vec();
        Soft.open(&self.rx, number, header, &mut body, &Tag::from_bytes(*tag)).ok()?;
        self.seen = self.seen.max(number + 1);
        match self.received.last_mut() {
            Some(last) if last.high + 1 == number => last.high = number,
            _ => self.received.push(PacketRange { low: number, high: number }),
        }
        Some(body)
    }

    /// Whether this packet of the other end arrived.
    #[must_use]
    pub fn got(&self, number: u64) -> bool {
        self.received.iter().any(|run| run.low <= number && number <= run.high)
    }

    /// The runs of packets that arrived from this number on, the newest first.
    #[must_use]
    pub fn runs_from(&self, number: u64) -> Vec<PacketRange> {
        let runs = self.received.iter().rev().filter(|run| run.high >= number);
        runs.map(|run| PacketRange { low: run.low.max(number), high: run.high }).collect()
    }

    /// The largest number that arrived.
    #[must_use]
    pub fn newest(&self) -> Option<u64> {
        self.received.iter().map(|run| run.high).max()
    }

    /// An ACK frame of the newest ten runs of packets that were received in order, if any was.
    #[must_use]
    pub fn ack(&self) -> Vec<u8> {
        let ranges: Vec<_> = self.received.iter().rev().take(10).copied().collect();
        if ranges.is_empty() { vec![] } else { ack_of(&ranges) }
    }
}

/// An ACK frame of these ranges: descending ones that do not touch.
#[must_use]
pub fn ack_of(ranges: &[PacketRange]) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 11];
    let mut w = Writer::new(&mut buffer);
    write_ack(&mut w, 0, ranges).expect("there is room");
    w.into_written().to_vec()
}
