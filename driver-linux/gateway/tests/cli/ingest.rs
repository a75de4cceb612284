//! Plain datagrams, from socket to journal or standard output, and what is said of those that found no room.

use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::process::{Child, ChildStderr, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::Home;
use crate::gateway::{program, raw, until};

/// A running `ingest`, killed when it goes out of scope.
struct Ingest {
    process: Child,
    out: BufReader<ChildStdout>,
    err: BufReader<ChildStderr>,
    to: String,
    from: UdpSocket,
}

impl Ingest {
    /// Starts one with `--json`; where datagrams go to standard output, what it says is on standard error.
    fn start(home: &Home, args: &[&str]) -> Self {
        let mut process = program(home)
            .args(["ingest", "--udp", "127.0.0.1:0", "--json"])
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a process");
        let mut out = BufReader::new(process.stdout.take().expect("its output"));
        let mut err = BufReader::new(process.stderr.take().expect("its messages"));
        let mut ready = String::new();
        let to_stdout = args.iter().any(|arg| arg.starts_with("--stdout"));
        if to_stdout { err.read_line(&mut ready) } else { out.read_line(&mut ready) }.expect("a line");
        let ready: Value = serde_json::from_str(&ready).unwrap_or_else(|_| panic!("not ready: {ready:?}"));
        let to = ready["listening"].as_str().expect("an address").to_owned();
        Self { process, out, err, to, from: UdpSocket::bind("127.0.0.1:0").expect("a socket") }
    }

    /// Over loopback a datagram is in the other socket's buffer, or dropped, when this returns.
    fn send(&self, datagram: &[u8]) {
        assert_eq!(self.from.send_to(datagram, &self.to).expect("sent"), datagram.len());
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).expect("a signal");
    }

    /// SIGTERM. Back come the exit code, what was still on standard output, and the same of standard error.
    fn stop(mut self) -> (i32, Vec<u8>, String) {
        self.signal(Signal::TERM);
        let (mut out, mut err) = (Vec::new(), String::new());
        self.out.read_to_end(&mut out).expect("its output");
        self.err.read_to_string(&mut err).expect("its messages");
        (self.process.wait().expect("ended").code().unwrap_or(-1), out, err)
    }
}

impl Drop for Ingest {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[track_caller]
fn summary(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_else(|_| panic!("no summary: {}", String::from_utf8_lossy(text)))
}

fn count(summary: &Value, name: &str) -> u64 {
    summary[name].as_u64().unwrap_or_else(|| panic!("no {name} in {summary}"))
}

#[test]
fn all_that_was_received_before_the_signal_is_stored_whatever_its_size() {
    for mode in [&["--direct"][..], &["--queue", "5000"]] {
        let home = Home::new();
        let ingest = Ingest::start(&home, mode);
        let mut sent = Vec::new();
        let largest = vec![b'x'; 65_507];
        for datagram in [b"".as_slice(), b"one", &largest, b"", b"\xff\x00"] {
            ingest.send(datagram);
            sent.extend_from_slice(datagram);
        }
        for number in 0..200 {
            let datagram = format!("{number}\n");
            ingest.send(datagram.as_bytes());
            sent.extend_from_slice(datagram.as_bytes());
        }
        let (code, out, err) = ingest.stop();
        assert_eq!((code, err.as_str()), (0, ""), "{mode:?}");
        let summary = summary(&out);
        let counts = ["received", "received_bytes", "stored", "dropped_by_kernel", "dropped_by_queue"];
        assert_eq!(counts.map(|name| count(&summary, name)), [205, sent.len() as u64, 205, 0, 0], "{mode:?}");
        assert!(raw(&home, "udp") == sent, "{mode:?}: other bytes");
        assert_eq!(home.ok(&["query", "--stream", "udp", "--json"]).lines().count(), 205, "{mode:?}");
    }
}

#[test]
fn records_of_the_next_start_follow_those_of_the_last() {
    let home = Home::new();
    for text in ["first", "second"] {
        let ingest = Ingest::start(&home, &["--stream", "meters"]);
        ingest.send(text.as_bytes());
        assert_eq!(ingest.stop().0, 0);
    }
    let lines = home.ok(&["query", "--peer", "66726f6d2d756470", "--json"]);
    let shown: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let seen = |line: &Value| (line["index"].as_u64(), line["data"].as_str().map(str::to_owned));
    let wanted = [(Some(0), Some("first".to_owned())), (Some(1), Some("second".to_owned()))];
    assert_eq!(shown.iter().map(seen).collect::<Vec<_>>(), wanted);
    assert_ne!(shown[0]["epoch"], shown[1]["epoch"], "each start has a numbering of its own");
}

#[test]
fn what_the_kernel_drops_is_counted_to_the_last_datagram() {
    const SENT: u64 = 5000;
    for mode in [&["--direct"][..], &["--queue", "5000"]] {
        let home = Home::new();
        let ingest = Ingest::start(&home, &[mode, &["--receive-buffer", "64 KiB"]].concat());
        // It cannot take anything meanwhile.
        ingest.signal(Signal::STOP);
        (0..SENT).for_each(|_| ingest.send(&[7; 500]));
        ingest.signal(Signal::CONT);
        let (code, out, err) = ingest.stop();
        assert_eq!(code, 12, "{err}");
        let summary = summary(&out);
        let (stored, dropped) = (count(&summary, "stored"), count(&summary, "dropped_by_kernel"));
        assert!(stored > 0 && dropped > 0, "{summary}");
        assert_eq!((stored, stored + dropped), (count(&summary, "received"), SENT), "{summary}");
        assert_eq!(raw(&home, "udp").len() as u64, stored * 500);
        assert!(err.contains(&format!("{dropped} of {SENT} datagrams are not stored")), "{err}");
        assert!(err.contains("--receive-buffer"), "{err}");
    }
}

#[test]
fn what_the_queue_has_no_room_for_is_counted_to_the_last_datagram() {
    const SENT: u64 = 5000;
    let home = Home::new();
    // Nobody reads its output, so that the writing thread comes to stand still.
    let mut ingest = Ingest::start(&home, &["--stdout=frames", "--queue", "10"]);
    (0..SENT).for_each(|number| ingest.send(&[number as u8; 500]));
    ingest.signal(Signal::TERM);
    let mut frames = 0;
    let mut head = [0; 4];
    while ingest.out.read_exact(&mut head).is_ok() {
        let mut datagram = vec![0; u32::from_be_bytes(head) as usize];
        ingest.out.read_exact(&mut datagram).expect("a whole frame");
        assert!(datagram.len() == 500 && datagram.iter().all(|byte| *byte == datagram[0]));
        frames += 1;
    }
    let (code, _, err) = ingest.stop();
    let summary = summary(err.lines().find(|line| line.starts_with('{')).expect("a summary").as_bytes());
    assert_eq!((code, count(&summary, "stored")), (12, frames), "{err}");
    let (kernel, queue) = (count(&summary, "dropped_by_kernel"), count(&summary, "dropped_by_queue"));
    assert!(queue > 0, "{summary}");
    assert_eq!((frames + queue, frames + queue + kernel), (count(&summary, "received"), SENT), "{summary}");
    assert!(err.lines().last().is_some_and(|sentence| sentence.contains("--queue")), "{err}");
}

#[test]
fn lines_on_standard_output_tell_sender_and_payload_while_it_runs() {
    let home = Home::new();
    let mut ingest = Ingest::start(&home, &["--stdout"]);
    for (datagram, key, shown) in [(b"21.5 \"C\"\n".as_slice(), "data", "21.5 \"C\"\n"), (b"\xff\x01", "hex", "ff01")] {
        ingest.send(datagram);
        let mut line = String::new();
        ingest.out.read_line(&mut line).expect("a line");
        let line: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(line[key], shown);
        assert_eq!(line["from"], ingest.from.local_addr().expect("an address").to_string());
    }
    assert_eq!(ingest.stop().0, 0);
    assert!(!home.path("data").exists(), "no journal is made");
}

#[test]
fn datagrams_can_be_seen_before_it_ends() {
    let home = Home::new();
    let ingest = Ingest::start(&home, &[]);
    ingest.send(b"seen");
    until("it is stored", || raw(&home, "udp") == b"seen");
    assert_eq!(ingest.stop().0, 0);
}

#[test]
fn an_address_or_a_journal_in_use_is_named_with_what_to_do() {
    let home = Home::new();
    let ingest = Ingest::start(&home, &[]);
    let taken = home.refused(&["ingest", "--udp", &ingest.to, "--data", "other"], 15);
    assert!(taken.contains(&ingest.to) && taken.contains("--udp"), "{taken}");
    let locked = home.refused(&["ingest", "--udp", "127.0.0.1:0"], 14);
    assert!(locked.contains("another process"), "{locked}");
    home.refused(&["ingest", "--udp", "192.0.2.1:5140", "--data", "other"], 6);
    let long = "x".repeat(65);
    assert!(home.refused(&["ingest", "--udp", "127.0.0.1:0", "--stream", &long], 2).contains("--stream"));
    for args in
        [&["--udp", "host"][..], &[], &["--udp", "0", "--direct", "--queue", "5"], &["--udp", "0", "--queue", "0"]]
    {
        assert_eq!(home.run(&[&["ingest"], args].concat()).code, 2, "{args:?}");
    }
}
