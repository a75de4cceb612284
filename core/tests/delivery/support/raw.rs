//! A peer that a test plays itself: it holds the key, and may say whatever the test likes.

use super::{KEY, Node, at, peer_id};
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use tallylink_core::wire::{Frame, Hello, Limits, Packet};
use tallylink_core::*;
use tallylink_sim::hostile::{self, Channel};

pub(crate) use tallylink_sim::hostile::{WIDE, hello_packet};

/// One end of a session, without the rest of the protocol.
pub(crate) struct Raw {
    pub(crate) address: SocketAddr,
    channel: Channel,
}

impl Deref for Raw {
    type Target = Channel;

    fn deref(&self) -> &Channel {
        &self.channel
    }
}

impl DerefMut for Raw {
    fn deref_mut(&mut self) -> &mut Channel {
        &mut self.channel
    }
}

/// The HELLO of device 0 with this nonce and boot.
pub(crate) fn hello(nonce: u8, boot: u8, suites: u8, limits: Limits) -> Hello<'static> {
    hostile::hello(peer_id(0), [nonce; 16], Boot([boot; 8]), suites, limits)
}

impl Raw {
    /// Plays the device: asks `gateway` for a session.
    pub(crate) fn device(gateway: &mut Node, now: u64, nonce: u8, limits: Limits) -> Self {
        Self::device_with(gateway, now, &hello(nonce, nonce, 3, limits))
    }

    /// Plays a device with this nonce, of this boot.
    pub(crate) fn device_of_boot(gateway: &mut Node, now: u64, nonce: u8, boot: u8) -> Self {
        Self::device_with(gateway, now, &hello(nonce, boot, 3, WIDE))
    }

    fn device_with(gateway: &mut Node, now: u64, hello: &Hello<'_>) -> Self {
        let address = "127.0.0.1:1000".parse().unwrap();
        let mut packet = hello_packet(hello, KEY);
        let answer = gateway.take(now, address, &mut packet);
        let Ok(Handled::Reply(len)) = answer else { panic!("{answer:?}") };
        let channel = Channel::device(KEY, hello, &packet[..len]).expect("a WELCOME");
        Self { address, channel }
    }

    /// Plays the gateway: answers the HELLO that `device` sends now.
    pub(crate) fn gateway(device: &mut Node, now: u64, limits: Limits) -> Self {
        let address = "127.0.0.1:2000".parse().unwrap();
        let sent = device.transmit(now);
        let is_hello = |bytes: &[u8]| matches!(Packet::parse(bytes), Ok(Packet::Hello(_)));
        let (_, hello) = sent.first().filter(|(_, bytes)| is_hello(bytes)).expect("a HELLO");
        let (channel, mut welcome) = Channel::gateway(KEY, hello, limits).expect("a HELLO");
        assert_eq!(device.take(now, address, &mut welcome), Ok(Handled::Session));
        Self { address, channel }
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
        from.transmit(now).into_iter().filter_map(|(_, packet)| self.open(&packet)).collect()
    }

    /// Sends an ACK of what was received in order, and nothing else, with these frames besides.
    pub(crate) fn acknowledge(&mut self, to: &mut Node, now: u64, frames: &[Frame<'_>]) -> Result<Handled, Discard> {
        let bytes = [self.ack(), super::bytes_of(frames)].concat();
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
        self.use_label(label.expect("the gateway names its label"));
        frames
    }
}

/// Lets a node's timers fire up to `until`, and returns the frames of all packets that it sent.
pub(crate) fn frames_until(raw: &mut Raw, node: &mut Node, now: &mut u64, until: u64) -> Vec<Vec<u8>> {
    node.alone(now, until).iter().filter_map(|packet| raw.open(packet)).collect()
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
