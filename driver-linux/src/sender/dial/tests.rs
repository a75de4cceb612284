use super::Dial;
use crate::network::Network;
use crate::sender::outlets::Outlets;
use crate::settings::Settings;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tallylink_core::crypto::Psk;
use tallylink_core::{End, KeyId, PeerId, Provision};

fn address(n: u8) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, n], 9))
}

/// Lets the next try be due, and waits until the resolver has answered it.
fn try_now(dial: &mut Dial, network: &mut Network<Outlets>) {
    dial.next_try = network.now();
    dial.turn(network, true);
    while dial.answer.is_some() {
        std::thread::yield_now();
        dial.turn(network, true);
    }
}

#[test]
fn each_try_resolves_the_name_again_and_takes_the_next_address() {
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut network = Network::new(&Settings { listen, ..Settings::sender() }, Outlets::default()).unwrap();
    let provision = Provision::new(PeerId([1; 8]), End::Device, KeyId(0), Psk::from_bytes([1; 16]));
    let peer = network.add_peer(provision).unwrap();
    // Two addresses at first, none for a while, then a new one beside the second.
    let answers = [vec![address(1), address(2)], vec![address(1), address(2)], vec![], vec![address(2), address(3)]];
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let resolve = move |name: &str| {
        assert_eq!(name, "gateway.example:7441");
        Ok(answers[count.fetch_add(1, Ordering::Relaxed)].clone())
    };
    let mut dial = Dial::with("gateway.example:7441", peer, network.remote(), Arc::new(resolve));
    for expected in [address(1), address(2), address(2), address(3)] {
        try_now(&mut dial, &mut network);
        assert_eq!(network.peer(peer).unwrap().path().remote, expected);
    }
    assert_eq!(asked.load(Ordering::Relaxed), 4);
}

#[test]
fn without_anything_to_send_nobody_is_asked_again() {
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut network = Network::new(&Settings { listen, ..Settings::sender() }, Outlets::default()).unwrap();
    let provision = Provision::new(PeerId([1; 8]), End::Device, KeyId(0), Psk::from_bytes([1; 16]));
    let peer = network.add_peer(provision).unwrap();
    let mut dial = Dial::new("127.0.0.1:9", peer, network.remote());
    assert!(dial.turn(&mut network, false).is_some(), "the address is taken at once");
    assert_eq!(network.peer(peer).unwrap().path().remote, address(1));
    dial.next_try = network.now();
    assert_eq!(dial.turn(&mut network, false), None, "an idle sender wakes up for nothing");
}
