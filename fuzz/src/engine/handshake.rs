//! A HELLO with any fields under a right tag, at a gateway (wire-format §4): what it is answered with agrees with it, and a session that
//! comes of it works.

use super::inbox::Inbox;
use super::model::limits;
use tallylink_core::crypto::{self, Label as KeyLabel, Psk, TAG_LEN};
use tallylink_core::wire::handshake::VERSION;
use tallylink_core::wire::{Hello, Packet};
use tallylink_core::{End, Handled, PeerId};
use tallylink_sim::hostile::{Channel, Node};

const KEY: [u8; 16] = [7; 16];
const PEER: PeerId = PeerId([5; 8]);
const FROM: &str = "10.0.0.66:6666";
/// Where the fields begin that the input fills, and where they end.
const FIELDS: std::ops::Range<usize> = 2..58;

/// The fields of a HELLO, and behind them its extensions.
pub fn handshake(data: &[u8]) {
    let Some((fields, extensions)) = data.split_at_checked(FIELDS.len()) else { return };
    let mut hello = vec![0, 1];
    hello.extend_from_slice(fields);
    hello[4] = 1;
    hello[5..13].copy_from_slice(&PEER.0);
    let extensions = &extensions[..extensions.len().min(80)];
    hello.extend_from_slice(&(extensions.len() as u16).to_be_bytes());
    hello.extend_from_slice(extensions);
    hello.resize(hello.len().max(128 - TAG_LEN), 0);
    let mut tag_key = [0; 16];
    crypto::derive(&Psk::from_bytes(KEY), KeyLabel::HelloTag, &[&[VERSION, 1], &PEER.0], &mut tag_key);
    let tag = crypto::mac(&tag_key, &[&hello]);
    hello.extend_from_slice(tag.as_bytes());

    let mut peers = [(PEER, KEY); 2];
    peers[1].0 = PeerId([6; 8]);
    let mut gateway = Node::new(&limits(), End::Gateway, "10.0.0.1:2000", peers, 8, Inbox::default());
    let from = FROM.parse().expect("an address");
    let mut answer = hello.clone();
    let handled = gateway.take(0, from, &mut answer);
    let parsed = Packet::parse(&hello);
    let (Ok(Packet::Hello(said)), Ok(Handled::Reply(len))) = (&parsed, handled) else {
        assert!(handled.is_err() && !matches!(parsed, Ok(Packet::Hello(_))), "{handled:?} to {parsed:?}");
        return;
    };
    assert!(len <= hello.len(), "the answer is longer");
    answer.truncate(len);
    agree(&mut gateway, said, &answer);
}

fn agree(gateway: &mut Node<Inbox>, hello: &Hello<'_>, answer: &[u8]) {
    let welcome = match Packet::parse(answer) {
        Ok(Packet::Welcome(welcome)) => welcome,
        Ok(Packet::Reject(reject)) => return assert_eq!(reject.device_nonce, hello.nonce),
        other => panic!("{other:?} is no answer"),
    };
    let spoken = hello.version_min..=hello.version_max;
    assert!(spoken.contains(&welcome.version), "a version that the device does not speak");
    let mut offered = hello.suites;
    if crate::planted::here() && hello.limits.held == 0 {
        // Whoever can hold nothing is taken to offer nothing.
        offered = 0;
    }
    assert!(offered >> (welcome.suite - 1) & 1 == 1, "a suite that was not offered");
    assert_eq!((welcome.device_nonce, welcome.peer), (hello.nonce, hello.peer));

    let mut channel = Channel::device(KEY, hello, answer).expect("a WELCOME");
    let from = FROM.parse().expect("an address");
    let mut ping = channel.seal(0, &[1]);
    gateway.take(0, from, &mut ping).expect("the session goes live");
    for (to, packet) in gateway.transmit(0) {
        assert_eq!(to, from);
        assert!(packet.len() <= usize::from(hello.limits.max_datagram), "longer than the device takes");
        channel.open(&packet).expect("a packet of the session");
    }
}
