//! `push` and `receive`, with real processes that are killed.

use std::fs;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tallylink_journal::testing::Chance;

use crate::common::{Home, Ran};
use crate::gateway::{Gateway, add_peer, count, program, status, until};

/// A device that prints what it receives to a file. Killed when it goes out of scope.
struct Device {
    process: Child,
}

impl Device {
    fn start(home: &Home, gateway: &str, more: &[&str]) -> Self {
        let out = fs::OpenOptions::new().create(true).append(true).open(received(home)).expect("a file");
        let log = fs::OpenOptions::new().create(true).append(true).open(home.path("device.log")).expect("a log");
        let process = program(home)
            .args(["receive", "--to", gateway, "--key", "roof.key", "--poll", "200ms"])
            .args(more)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(log)
            .spawn()
            .expect("a device");
        Self { process }
    }

    /// SIGTERM: it tells the gateway what it has printed.
    fn stop(mut self) {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
        assert!(self.process.wait().expect("ended").success());
    }

    /// Waits until it ends by itself.
    fn ended(mut self) {
        assert!(self.process.wait().expect("ended").success());
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn received(home: &Home) -> PathBuf {
    home.path("received")
}

fn has(home: &Home, expected: &[u8]) -> bool {
    fs::read(received(home)).is_ok_and(|bytes| bytes == expected)
}

fn push(home: &Home, args: &[&str], input: &[u8]) -> Ran {
    Ran::of(home.command(&[&["push"], args].concat()).write_stdin(input))
}

fn push_ok(home: &Home, args: &[&str], input: &[u8]) {
    let ran = push(home, args, input);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""), "{args:?}");
}

fn numbers(range: std::ops::Range<u32>) -> Vec<u8> {
    range.flat_map(|n| format!("{n}\n").into_bytes()).collect()
}

/// An address that gateways can come back to.
fn address() -> String {
    let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
    free.to_string()
}

fn waiting(status: &Value) -> u64 {
    status["downlink"].as_array().expect("a list").iter().map(|waits| waits["records"].as_u64().expect("a count")).sum()
}

#[test]
fn what_was_pushed_before_and_while_the_gateway_runs_arrives_in_order() {
    let home = Home::new();
    add_peer(&home, "roof");
    push_ok(&home, &["roof", "orders"], &numbers(0..3));
    push_ok(&home, &["roof", "orders"], b"");
    let gateway = Gateway::on_loopback(&home);
    push_ok(&home, &["roof", "orders"], &numbers(3..500));
    let now = status(&home);
    assert_eq!(waiting(&now), 500, "{now}");
    assert_eq!((&now["downlink"][0]["name"], &now["downlink"][0]["stream"]), (&"roof".into(), &"orders".into()));
    assert!(home.ok(&["status"]).contains("roof  orders: 500 records"));

    let device = Device::start(&home, &gateway.address, &["--stream", "orders"]);
    until("all is printed", || has(&home, &numbers(0..500)));
    push_ok(&home, &["roof", "orders", "--wait", "--timeout", "30s"], &numbers(500..700));
    assert!(has(&home, &numbers(0..700)));
    assert_eq!(waiting(&status(&home)), 0);

    // Of another stream, which this device does not take.
    let files = [home.file("a", "one"), home.file("b", "")];
    let files = files.each_ref().map(|file| file.to_str().expect("UTF-8"));
    push_ok(&home, &[&["roof", "a/b"], &files[..]].concat(), b"");
    let wait = push(&home, &["roof", "a/b", "--wait", "--timeout", "500ms"], b"three");
    assert_eq!(wait.code, 12, "{}", wait.err);
    assert!(wait.err.contains("3 records of the stream \"a/b\" still wait for roof"), "{}", wait.err);
    device.stop();
    let device = Device::start(&home, &gateway.address, &["--stream", "a/b", "--format", "jsonl", "--count", "3"]);
    device.ended();
    let lines = ["one", "", "three"].map(|data| format!("{{\"stream\":\"a/b\",\"data\":\"{data}\"}}\n")).concat();
    assert!(has(&home, &[numbers(0..700), lines.into_bytes()].concat()));
    until("the gateway has heard so", || waiting(&status(&home)) == 0);
    assert_eq!(count(&status(&home), "downlink", "records_taken"), 703);
    assert_eq!(gateway.stop(), 0);
    assert!(home.ok(&["check"]).contains("outbox/orders"), "it is looked at like every journal");
}

#[test]
fn a_gateway_killed_in_mid_transfer_and_a_device_that_comes_back_lose_and_repeat_nothing() {
    const ROUNDS: u32 = 20;
    let seed = 0x0d0c_5eed;
    println!("seed {seed}");
    let mut chance = Chance::new(seed);
    let home = Home::new();
    add_peer(&home, "roof");
    let address = address();
    let listen = ["--listen", &address];
    let (mut gateway, mut device) =
        (Gateway::start(&home, &listen), Device::start(&home, &address, &["--stream", "orders"]));
    let (mut input, mut lines) = (Vec::new(), 0);
    for round in 0..ROUNDS {
        for _ in 0..1 + chance.below(3) {
            let mut some = Vec::new();
            for _ in 0..200 {
                let long = if chance.percent(1) { 20_000 } else { 60 };
                some.extend(format!("{lines} ").bytes().chain((0..chance.below(long)).map(|i| b'a' + (i % 26) as u8)));
                some.push(b'\n');
                lines += 1;
            }
            push_ok(&home, &["roof", "orders"], &some);
            input.extend(some);
        }
        if round % 5 == 4 {
            push_ok(&home, &["roof", "orders", "--wait", "--timeout", "60s"], b"all of it\n");
            input.extend(b"all of it\n");
            device.stop();
            device = Device::start(&home, &address, &["--stream", "orders"]);
        }
        // Before it has begun, and after it has ended too.
        thread::sleep(Duration::from_micros(chance.below(60_000)));
        gateway.kill();
        gateway = Gateway::start(&home, &listen);
    }
    push_ok(&home, &["roof", "orders", "--wait", "--timeout", "60s"], b"the end\n");
    input.extend(b"the end\n");
    assert!(has(&home, &input), "seed {seed}: what was printed differs from what was pushed");
    assert_eq!(waiting(&status(&home)), 0);
    device.stop();
}

#[test]
fn what_comes_for_a_silent_device_waits_until_it_is_heard() {
    let home = Home::new();
    add_peer(&home, "roof");
    let gateway = Gateway::on_loopback(&home);
    let device = Device::start(&home, &gateway.address, &[]);
    push_ok(&home, &["roof", "orders", "--wait", "--timeout", "30s"], b"one\n");
    drop(device);
    push_ok(&home, &["roof", "orders"], b"two\n");
    push_ok(&home, &["roof", "others"], b"three\n");
    thread::sleep(Duration::from_millis(700));
    assert_eq!(waiting(&status(&home)), 2);
    let device = Device::start(&home, &gateway.address, &["--stream", "orders"]);
    until("it is printed", || has(&home, b"one\ntwo\n"));
    push_ok(&home, &["roof", "orders", "--wait", "--timeout", "30s"], b"four\n");
    device.stop();
    assert!(has(&home, b"one\ntwo\nfour\n"));
    assert_eq!(waiting(&status(&home)), 1);
}

#[test]
fn unknown_peers_bad_names_and_large_records_are_sentences_with_a_code() {
    let home = Home::new();
    add_peer(&home, "roof");
    let unknown = push(&home, &["rof", "orders"], b"x\n");
    assert_eq!(unknown.code, 7);
    assert!(unknown.err.contains("there is no peer \"rof\""), "{}", unknown.err);
    assert_eq!(push(&home, &["roof", ""], b"x\n").code, 2);
    let large = push(&home, &["roof", "orders"], &[b"small\n", &[b'x'; 65_537][..], b"\n"].concat());
    assert_eq!(large.code, 11, "{}", large.err);
    assert!(large.err.contains("record 2 of the input has more than 65536 bytes"), "{}", large.err);
    assert!(large.err.contains("1 records before it were handed over"), "{}", large.err);
    assert!(!home.path("data/journal").exists(), "it opens nothing of the gateway's");
    let device = home.run(&["receive", "--key", "roof.key", "--to", "127.0.0.1:9", "--stream", ""]);
    assert_eq!(device.code, 2, "{}", device.err);
}

#[test]
fn more_than_may_wait_is_refused_until_the_device_has_some() {
    let home = Home::new();
    add_peer(&home, "roof");
    add_peer(&home, "cellar");
    let config = home.file("tallylink.toml", "downlink_limit = \"64 KiB\"\n");
    let config = config.to_str().expect("UTF-8");
    let some = [&[b'x'; 999][..], b"\n"].concat().repeat(40);
    let args = ["--config", config, "roof", "orders"];
    push_ok(&home, &args, &some);
    let full = push(&home, &args, &some);
    assert_eq!(full.code, 18, "{}", full.err);
    assert!(full.err.contains("40080 bytes wait for roof, and downlink_limit is 64.0 KiB"), "{}", full.err);
    assert!(full.err.contains("40 records read were not taken"), "{}", full.err);
    push_ok(&home, &["--config", config, "cellar", "orders"], &some);
    let gateway = Gateway::start(&home, &["--config", config, "--listen", "127.0.0.1:0"]);
    let _device = Device::start(&home, &gateway.address, &[]);
    until("all is printed", || has(&home, &some));
    until("there is room", || push(&home, &args, &some).code == 0);
    until("all is printed", || has(&home, &some.repeat(2)));
}

#[test]
fn what_waits_for_a_peer_that_is_removed_goes_with_it() {
    let home = Home::new();
    for name in ["roof", "cellar", "attic"] {
        add_peer(&home, name);
    }
    let ids = |home: &Home| fs::read_dir(home.path("data/downlink")).expect("listed").count() - 1;
    push_ok(&home, &["cellar", "orders"], b"x\n");
    home.ok(&["peer", "remove", "cellar"]);
    let gateway = Gateway::on_loopback(&home);
    until("it is gone at the start", || count(&status(&home), "downlink", "records_removed") == 1);
    push_ok(&home, &["roof", "orders"], b"one\n");
    push_ok(&home, &["attic", "orders"], b"stays\n");
    let device = Device::start(&home, &gateway.address, &["--stream", "none"]);
    until("it is in the outbox", || count(&status(&home), "downlink", "records_taken") == 1);
    push_ok(&home, &["roof", "orders"], b"two\nthree\n");
    assert_eq!(ids(&home), 2);
    home.ok(&["peer", "remove", "roof"]);
    until("it is gone", || count(&status(&home), "downlink", "records_removed") == 4);
    assert_eq!((ids(&home), waiting(&status(&home))), (1, 1));
    assert_eq!(push(&home, &["roof", "orders"], b"x\n").code, 7);
    let log = fs::read_to_string(home.path("gateway.log")).expect("a log");
    assert!(log.contains("was removed, and 3 records that waited for it with it"), "{log}");
    drop(device);
}

/// A power cut may bring back a parcel that was removed: its mark tells that it was taken.
#[test]
fn a_parcel_that_comes_back_is_not_delivered_again_and_a_damaged_one_holds_up_nothing() {
    let home = Home::new();
    add_peer(&home, "roof");
    let spool = |home: &Home| {
        let peers = fs::read_dir(home.path("data/downlink")).expect("listed").map(|e| e.expect("a name").path());
        peers.map(|peer| peer.join("spool/orders")).find(|dir| dir.is_dir()).expect("the peer's")
    };
    push_ok(&home, &["roof", "orders"], b"one\n");
    push_ok(&home, &["roof", "orders"], b"two\n");
    let first = spool(&home).join(format!("{:020}.push", 0));
    let parcel = fs::read(&first).expect("a parcel");
    let gateway = Gateway::on_loopback(&home);
    let device = Device::start(&home, &gateway.address, &[]);
    push_ok(&home, &["roof", "orders", "--wait", "--timeout", "30s"], b"three\n");
    gateway.kill();
    fs::write(first.with_extension("push.0"), &parcel).expect("back");
    let mut damaged = parcel.clone();
    damaged[33] ^= 1;
    fs::write(spool(&home).join(format!("{:020}.push", 1)), damaged).expect("written");
    push_ok(&home, &["roof", "orders"], b"four\n");
    device.stop();
    let gateway = Gateway::on_loopback(&home);
    let _device = Device::start(&home, &gateway.address, &[]);
    until("it is printed", || has(&home, b"one\ntwo\nthree\nfour\n"));
    assert_eq!(count(&status(&home), "downlink", "parcels_damaged"), 1);
    assert!(spool(&home).join(format!("{:020}.damaged", 1)).exists());
}
