//! A peer that a test plays itself: it holds the key, and may say whatever the test likes.

use super::{KEY, Node, at, peer_id};
use std::net::SocketAddr;
use tallylink_core::crypto::{self, Crypto, Label as KeyLabel, Psk, Soft, SoftKey, Suite, TAG_LEN, Tag};
use tallylink_core::wire::frame::write_ack;
use tallylink_core::wire::handshake::VERSION;
use tallylink_core::wire::{DataHeader, Frame, Hello, Limits, NoRoom, Packet, PacketRange, Welcome, Writer};
use tallylink_core::*;

/// One end of a session, without the rest of the protocol.
pub(crate) struct Raw {
    pub(crate) address: SocketAddr,
    tx: SoftKey,
    rx: SoftKey,
    /// What goes before each packet's frames.
    header: Header,
    /// The number of the next packet.
    pub(crate) next: u64,
    /// Numbers of the packets that the other end sent, as they were seen.
    pub(crate) seen: u64,
    /// What was received of the numbers below, as ranges.
    received: Vec<PacketRange>,
}

enum Header {
    Long { hello: Vec<u8>, gateway_nonce: [u8; 16] },
    Short(Label),
}

/// Limits that no test runs into.
pub(crate) const WIDE: Limits =
    Limits { max_record: 1 << 20, max_datagram: 1472, ack_window: 1024, credit: 1 << 20, held: 64 };

/// The HELLO of device 0 with this nonce and boot.
pub(crate) fn hello(nonce: u8, boot: u8, suites: u8, limits: Limits) -> Hello<'static> {
    Hello {
        version_min: VERSION,
        version_max: VERSION,
        key: KeyId(1),
        peer: peer_id(0),
        nonce: [nonce; 16],
        boot: Boot([boot; 8]),
        suites,
        label: Label(0x7700),
        limits,
        tlvs: &[],
    }
}

/// The whole HELLO packet, its tag made with `psk`.
pub(crate) fn hello_packet(hello: &Hello<'_>, psk: [u8; 16]) -> Vec<u8> {
    let mut packet = vec![0; hello.packet_len()];
    hello.write(&mut Writer::new(&mut packet)).unwrap();
    let (body, tag) = packet.split_last_chunk_mut::<TAG_LEN>().unwrap();
    *tag = *crypto::mac(&tag_key(psk, KeyLabel::HelloTag, hello), &[body]).as_bytes();
    packet
}

fn tag_key(psk: [u8; 16], label: KeyLabel, hello: &Hello<'_>) -> [u8; 16] {
    let mut key = [0; 16];
    crypto::derive(&Psk::from_bytes(psk), label, &[&[VERSION, hello.key.0], &hello.peer.0], &mut key);
    key
}

fn core_of(write: impl FnOnce(&mut Writer<'_>) -> Result<(), NoRoom>) -> Vec<u8> {
    let mut buffer = [0; 200];
    let mut w = Writer::new(&mut buffer);
    write(&mut w).unwrap();
    w.into_written().to_vec()
}

fn keys(hello: &[u8], welcome: &[u8], suite: u8) -> [SoftKey; 2] {
    let mut key = [0; 16];
    crypto::derive(&Psk::from_bytes(KEY), KeyLabel::Session, &[hello, welcome], &mut key);
    [KeyLabel::DeviceToGateway, KeyLabel::GatewayToDevice].map(|label| {
        let secret = crypto::derive_secret(&Psk::from_bytes(key), label, &[]);
        let mut expanded = None;
        Soft.expand(Suite::from_number(suite).unwrap(), &secret, &mut expanded);
        expanded.unwrap()
    })
}

impl Raw {
    /// Plays the device: asks `gateway` for a session.
    pub(crate) fn device(gateway: &mut Node, now: u64, nonce: u8, limits: Limits) -> Self {
        Self::device_with(gateway, now, hello(nonce, nonce, 3, limits))
    }

    /// Plays a device with this nonce, of this boot.
    pub(crate) fn device_of_boot(gateway: &mut Node, now: u64, nonce: u8, boot: u8) -> Self {
        Self::device_with(gateway, now, hello(nonce, boot, 3, WIDE))
    }

    fn device_with(gateway: &mut Node, now: u64, hello: Hello<'_>) -> Self {
        let address = "127.0.0.1:1000".parse().unwrap();
        let mut packet = hello_packet(&hello, KEY);
        let answer = gateway.take(now, address, &mut packet);
        let Ok(Handled::Reply(len)) = answer else { panic!("{answer:?}") };
        let Ok(Packet::Welcome(welcome)) = Packet::parse(&packet[..len]) else { panic!("no WELCOME") };
        let hello_core = core_of(|w| hello.write(w));
        let [tx, rx] = keys(&hello_core, &packet[..welcome.core_len()], welcome.suite);
        let header = Header::Long { hello: hello_core, gateway_nonce: welcome.gateway_nonce };
        Self { address, tx, rx, header, next: 0, seen: 0, received: vec![] }
    }

    /// Plays the gateway: answers the HELLO that `device` sends now.
    pub(crate) fn gateway(device: &mut Node, now: u64, limits: Limits) -> Self {
        let address = "127.0.0.1:2000".parse().unwrap();
        let sent = device.transmit(now);
        let Some(Ok(Packet::Hello(hello))) = sent.first().map(|(_, bytes)| Packet::parse(bytes)) else {
            panic!("no HELLO")
        };
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
        let mut packet = core_of(|w| welcome.write(w));
        let hello_body = &sent[0].1[..hello.packet_len() - TAG_LEN];
        let tag = crypto::mac(&tag_key(KEY, KeyLabel::WelcomeTag, &hello), &[hello_body, &packet]);
        let [rx, tx] = keys(&core_of(|w| hello.write(w)), &packet, 1);
        packet.extend_from_slice(tag.as_bytes());
        assert_eq!(device.take(now, address, &mut packet), Ok(Handled::Session));
        Self { address, tx, rx, header: Header::Short(hello.label), next: 0, seen: 0, received: vec![] }
    }

    /// A packet with this number and these bytes as its frames.
    pub(crate) fn seal(&self, number: u64, frames: &[u8]) -> Vec<u8> {
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

    /// Sends a packet with these bytes as its frames.
    pub(crate) fn send_bytes(&mut self, to: &mut Node, now: u64, frames: &[u8]) -> Result<Handled, Discard> {
        let mut packet = self.seal(self.next, frames);
        self.next += 1;
        to.take(now, self.address, &mut packet)
    }

    /// Sends a packet with these frames.
    pub(crate) fn send(&mut self, to: &mut Node, now: u64, frames: &[Frame<'_>]) -> Result<Handled, Discard> {
        self.send_bytes(to, now, &super::bytes_of(frames))
    }

    /// The opened frames of all that `from` sends now; other packets than sealed ones are left out.
    pub(crate) fn receive(&mut self, from: &mut Node, now: u64) -> Vec<Vec<u8>> {
        from.transmit(now).into_iter().filter_map(|(_, packet)| self.opened(&packet)).collect()
    }

    /// The frames of a packet that the other end sealed in this session.
    pub(crate) fn opened(&mut self, packet: &[u8]) -> Option<Vec<u8>> {
        let (header_len, number) = match Packet::parse(packet) {
            Ok(Packet::Data(header)) => {
                let number = wire::number::expand(self.seen, header.truncated, header.number_len)?;
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

    /// Sends an ACK of what was received in order, and nothing else, with these frames besides.
    pub(crate) fn acknowledge(&mut self, to: &mut Node, now: u64, frames: &[Frame<'_>]) -> Result<Handled, Discard> {
        let mut buffer = [0; 64];
        let mut w = Writer::new(&mut buffer);
        let ranges: Vec<_> = self.received.iter().rev().take(10).copied().collect();
        write_ack(&mut w, 0, &ranges).unwrap();
        let bytes = [&*w.into_written(), &super::bytes_of(frames)].concat();
        self.send_bytes(to, now, &bytes)
    }

    /// Sends a PING, so that the session goes live, and returns what came back.
    pub(crate) fn go_live(&mut self, gateway: &mut Node, now: u64) -> Vec<Vec<u8>> {
        self.send(gateway, now, &[Frame::Ping]).expect("the session goes live");
        let frames = self.receive(gateway, now);
        // From now on labels are used.
        let label = frames.iter().flat_map(|f| super::frames_in(f)).find_map(|f| match f {
            Frame::Label(label) => Some(label),
            _ => None,
        });
        self.header = Header::Short(label.expect("the gateway names its label"));
        frames
    }
}

/// Lets a node's timers fire up to `until`, and returns the frames of all packets that it sent.
pub(crate) fn frames_until(raw: &mut Raw, node: &mut Node, now: &mut u64, until: u64) -> Vec<Vec<u8>> {
    node.alone(now, until).iter().filter_map(|packet| raw.opened(packet)).collect()
}

/// A gateway of its own, for a raw device.
pub(crate) fn lone(end: End, config: Config) -> Node {
    let name = match end {
        End::Device => "127.0.0.1:1000",
        End::Gateway => "127.0.0.1:2000",
    };
    let mut node = Node::new(config, end, name, [1, 1, 8, 1 << 18], 0);
    if end == End::Device {
        node.endpoint.connect(at(0), super::PEER, Path::to("127.0.0.1:2000".parse().unwrap())).unwrap();
    }
    node
}
