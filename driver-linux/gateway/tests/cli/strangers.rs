//! Nothing from a stranger has any effect, and each reason is counted.

use std::fs;
use std::net::UdpSocket;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::common::Home;
use crate::gateway::{Gateway, add_peer, count, raw, send, status, until};

#[test]
fn a_wrong_key_and_an_unknown_peer_store_nothing_and_are_counted() {
    let home = Home::new();
    add_peer(&home, "roof");
    let gateway = Gateway::on_loopback(&home);
    let key = fs::read_to_string(home.path("roof.key")).expect("the key file");
    let (before, digits) = key.split_once("\nkey = \"").expect("a key");
    let wrong = if digits.starts_with('0') { "1" } else { "0" };
    fs::copy(home.path("roof.key"), home.path("wrong.key")).expect("copied");
    fs::write(home.path("wrong.key"), format!("{before}\nkey = \"{wrong}{}", &digits[1..])).expect("written");
    let to = ["--to", &gateway.address, "--stream", "s", "--timeout", "300ms", "--key"];
    let ran = send(&home, &[&to[..], &["wrong.key"]].concat(), b"forged\n");
    assert_eq!(ran.code, 12);
    assert!(ran.err.contains("0 of 0 records are stored"), "{}", ran.err);

    let elsewhere = Home::new();
    add_peer(&elsewhere, "stranger");
    fs::copy(elsewhere.path("stranger.key"), home.path("stranger.key")).expect("copied");
    assert_eq!(send(&home, &[&to[..], &["stranger.key"]].concat(), b"strange\n").code, 12);

    let status = status(&home);
    assert!(count(&status, "discarded", "forged") > 0);
    assert!(count(&status, "discarded", "unknown_peer") > 0);
    assert_eq!(count(&status, "protocol", "sessions"), 0);
    assert!(count(&status, "socket", "bytes_sent") <= count(&status, "socket", "bytes_received"));
    assert_eq!(raw(&home, "s"), b"");
}

/// Passes datagrams between one sender and the gateway, and keeps what the sender sent.
fn record(gateway: &str) -> (String, mpsc::Receiver<Vec<u8>>) {
    let front = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let back = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    back.connect(gateway).expect("an address");
    let address = front.local_addr().expect("its address").to_string();
    let (tell, told) = mpsc::channel();
    let (home, from_gateway) = (front.try_clone().expect("a clone"), back.try_clone().expect("a clone"));
    let (tell_sender, sender) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        let mut sender = Some(tell_sender);
        while let Ok((len, from)) = front.recv_from(&mut buffer) {
            if let Some(tell) = sender.take() {
                tell.send(from).expect("heard");
            }
            if back.send(&buffer[..len]).is_err() || tell.send(buffer[..len].to_vec()).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        let sender = sender.recv().expect("a sender");
        while let Ok(len) = from_gateway.recv(&mut buffer) {
            home.send_to(&buffer[..len], sender).expect("sent");
        }
    });
    (address, told)
}

/// Sends datagrams, some at a time, so that the gateway sees most of them.
fn shower<'d>(gateway: &str, datagrams: impl Iterator<Item = &'d [u8]>) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    for (n, datagram) in datagrams.enumerate() {
        socket.send_to(datagram, gateway).expect("sent");
        if n % 64 == 63 {
            thread::sleep(Duration::from_micros(200));
        }
    }
}

fn discarded(status: &Value) -> u64 {
    let counts = status["counters"]["discarded"].as_object().expect("counters");
    counts.values().filter_map(Value::as_u64).sum()
}

#[test]
fn a_session_that_is_replayed_stores_nothing_new() {
    let home = Home::new();
    add_peer(&home, "roof");
    let gateway = Gateway::on_loopback(&home);
    let (relay, sent) = record(&gateway.address);
    let lines: Vec<u8> = (0..20_000).flat_map(|n| format!("{n}\n").into_bytes()).collect();
    assert_eq!(send(&home, &["--to", &relay, "--key", "roof.key", "--stream", "s"], &lines).code, 0);
    let capture: Vec<Vec<u8>> = sent.try_iter().collect();
    assert!(capture.len() > 50, "{} datagrams", capture.len());

    let before = status(&home);
    for _ in 0..3 {
        shower(&gateway.address, capture.iter().map(Vec::as_slice));
    }
    // A HELLO that is replayed is answered; nothing else is even that.
    until("most of it was seen", || discarded(&status(&home)) > discarded(&before) + capture.len() as u64);
    let after = status(&home);
    assert_eq!(count(&after, "protocol", "sessions"), 1);
    for (subject, name) in [("journal", "appended_records"), ("protocol", "records_delivered")] {
        assert_eq!(count(&after, subject, name), count(&before, subject, name), "{name}");
    }
    assert!(count(&after, "socket", "bytes_sent") <= count(&after, "socket", "bytes_received"));
    assert!(raw(&home, "s") == lines);

    // The sender's next start is not held up by it.
    assert_eq!(send(&home, &["--to", &gateway.address, "--key", "roof.key", "--stream", "s"], b"more\n").code, 0);
}

#[test]
fn random_datagrams_cost_no_memory_and_are_hardly_answered() {
    const SEED: u64 = 20_261_130;
    const COUNT: u64 = 100_000;
    let home = Home::new();
    add_peer(&home, "roof");
    let gateway = Gateway::on_loopback(&home);
    println!("seed {SEED}");
    let mut state = SEED;
    let mut draw = || {
        // Marsaglia, "Xorshift RNGs", 2003.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut noise = || -> Vec<u8> {
        let len = draw() % 1473;
        let mut bytes: Vec<u8> = (0..len).map(|_| draw() as u8).collect();
        // Half of them pass for long packets (wire-format §3), which random first bytes hardly ever do.
        if let ([first, second, ..], true) = (&mut bytes[..], draw() % 2 == 0) {
            (*first, *second) = (0, (draw() % 8) as u8);
        }
        bytes
    };
    let datagrams: Vec<Vec<u8>> = (0..1000).map(|_| noise()).collect();
    shower(&gateway.address, datagrams.iter().map(Vec::as_slice));
    let (memory, before) = (gateway.memory(), status(&home));
    shower(&gateway.address, (0..COUNT).map(|n| &datagrams[n as usize % datagrams.len()][..]));
    until("some of it was seen", || discarded(&status(&home)) > discarded(&before) + COUNT / 10);
    let after = status(&home);
    let grown = gateway.memory().saturating_sub(memory);
    assert!(grown < 4 << 20, "{grown} bytes more");
    assert_eq!(count(&after, "journal", "appended_records"), 0);
    assert_eq!(count(&after, "protocol", "sessions"), 0);
    let (sent, received) = (count(&after, "socket", "bytes_sent"), count(&after, "socket", "bytes_received"));
    assert!(sent < received / 100, "{sent} bytes answered {received}");
    println!("{}", after["counters"]["discarded"]);
    assert!(count(&after, "discarded", "malformed") > 0);
    // A label that names no session is answered, as long as the limit of answers allows.
    assert!(count(&after, "discarded", "unknown_label") + count(&after, "discarded", "reply_limit") > 0);
    assert_eq!(send(&home, &["--to", &gateway.address, "--key", "roof.key", "--stream", "s"], b"served\n").code, 0);
}
