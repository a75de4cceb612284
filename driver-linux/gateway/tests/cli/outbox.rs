//! `send --outbox` and `outbox`, with real processes that are killed.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tallylink_journal::testing::Chance;
use tallylink_journal::{Dir, inspect};

use crate::common::Home;
use crate::gateway::{Gateway, add_peer, count, program, raw, send, status, until};

fn numbers(range: std::ops::Range<u32>) -> Vec<u8> {
    range.flat_map(|n| format!("{n}\n").into_bytes()).collect()
}

/// A loopback address where nobody listens.
const NOWHERE: &str = "127.0.0.1:9";

fn outbox(home: &Home) -> Value {
    let report: Value = serde_json::from_str(&home.ok(&["outbox", "box", "--json"])).expect("JSON");
    report["streams"].clone()
}

/// How many records an outbox ever held.
fn ever(dir: &Path) -> u64 {
    let now = Dir::open(dir).ok().and_then(|dir| inspect(&dir).ok());
    now.and_then(|streams| streams.first().map(|s| s.index_end)).unwrap_or(0)
}

fn interrupt(process: &Child, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(process), signal).expect("a signal");
}

#[test]
fn what_was_taken_while_the_gateway_was_away_is_delivered_later_and_first() {
    let home = Home::new();
    add_peer(&home, "roof");
    let box_args = ["--key", "roof.key", "--outbox", "box", "--to"];
    let away =
        send(&home, &[&box_args[..], &[NOWHERE, "--stream", "a/b", "--timeout", "300ms"]].concat(), &numbers(0..1000));
    assert_eq!(away.code, 12, "{}", away.err);
    assert!(away.err.contains("the time is over: 1000 records wait in box"), "{}", away.err);
    assert!(away.err.contains("`tallylink send --outbox box --key roof.key` delivers them"), "{}", away.err);
    assert!(home.path("box/a%2Fb/lock").is_file());

    let shown = home.ok(&["outbox", "box"]);
    assert!(shown.starts_with("a/b of ") && shown.contains("1000 of 1000 records wait"), "{shown}");
    let stream = &outbox(&home)[0];
    assert_eq!(
        (stream["ever"].as_u64(), stream["waiting"].as_u64(), stream["stored"].as_u64()),
        (Some(1000), Some(1000), Some(0))
    );
    assert_eq!(stream["waiting_bytes"].as_u64(), Some(numbers(0..1000).len() as u64 + 1000));
    assert_eq!((&stream["epochs"][0]["from"], &stream["epochs"][0]["below"]), (&0.into(), &1000.into()));
    assert_eq!(stream["in_use"], false);

    let gateway = Gateway::on_loopback(&home);
    let here = [&box_args[..], &[gateway.address.as_str()]].concat();
    let more = send(&home, &[&here[..], &["--stream", "a/b"]].concat(), &numbers(1000..1500));
    assert_eq!((more.code, more.err.as_str()), (0, ""));
    assert!(raw(&home, "a/b") == numbers(0..1500));
    assert_eq!((&outbox(&home)[0]["waiting"], &outbox(&home)[0]["ever"]), (&0.into(), &1500.into()));
    assert!(home.ok(&["outbox", "box"]).contains("nothing waits, all of 1500 records are stored"));

    // Two streams with something left, and a run without a stream.
    for stream in ["a/b", "c"] {
        let away = send(
            &home,
            &[&box_args[..], &[NOWHERE, "--stream", stream, "--timeout", "200ms"]].concat(),
            &numbers(1500..1600),
        );
        assert_eq!(away.code, 12, "{}", away.err);
    }
    let drained = send(&home, &here, b"is not read");
    assert_eq!((drained.code, drained.err.as_str()), (0, ""));
    assert!(raw(&home, "a/b") == numbers(0..1600) && raw(&home, "c") == numbers(1500..1600));
    let rollbacks = &status(&home)["counters"]["rollbacks"];
    assert!(rollbacks.as_object().expect("counts").values().all(|n| n == 0), "{rollbacks}");
}

#[test]
fn an_interrupted_sender_keeps_what_it_read_and_says_how_to_go_on() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let home = Home::new();
        add_peer(&home, "roof");
        let mut sender = program(&home)
            .args(["send", "--to", NOWHERE, "--key", "roof.key", "--outbox", "box", "--stream", "s"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a sender");
        let mut input = sender.stdin.take().expect("its input");
        input.write_all(&numbers(0..300)).expect("taken");
        until("it has read them", || ever(&home.path("box/s")) == 300);
        assert_eq!(outbox(&home)[0]["in_use"], true);
        interrupt(&sender, signal);
        let ended = sender.wait_with_output().expect("ended");
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(130), "{told}");
        assert!(told.contains("interrupted: 300 records wait in box"), "{told}");
        assert_eq!((&outbox(&home)[0]["waiting"], &outbox(&home)[0]["in_use"]), (&300.into(), &false.into()));
    }
}

#[test]
fn a_sender_that_is_still_opening_its_outbox_heeds_signals_and_leaves_it_as_it_was() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let home = Home::new();
        add_peer(&home, "roof");
        let args = ["--key", "roof.key", "--outbox", "box", "--stream", "s", "--to"];
        let away = send(&home, &[&args[..], &[NOWHERE, "--timeout", "100ms"]].concat(), &numbers(0..300));
        assert_eq!(away.code, 12, "{}", away.err);
        // Much to look through: nothing tells where the last segment ends, and it is as long as a file can be sparse.
        let segments = fs::read_dir(home.path("box/s")).expect("listed").map(|entry| entry.expect("a name").path());
        let segment = segments.filter(|path| path.extension().is_some_and(|e| e == "segment")).max().expect("one");
        let whole = fs::metadata(&segment).expect("its length").len();
        for name in ["checkpoint-a", "checkpoint-b", "position", "lock"] {
            fs::remove_file(home.path(&format!("box/s/{name}"))).expect("removed");
        }
        let resize = |to| fs::OpenOptions::new().write(true).open(&segment).and_then(|file| file.set_len(to));
        resize(64 << 30).expect("longer");
        let sender = program(&home)
            .arg("send")
            .args(args)
            .arg(NOWHERE)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a sender");
        until("the outbox is locked", || home.path("box/s/lock").exists());
        interrupt(&sender, signal);
        let ended = sender.wait_with_output().expect("ended");
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(130), "{told}");
        assert!(told.contains("interrupted before the outbox was open: what waits in box is still there"), "{told}");
        resize(whole).expect("as it was");
        let gateway = Gateway::on_loopback(&home);
        let sent = send(&home, &[&args[..], &[&gateway.address]].concat(), b"");
        assert_eq!((sent.code, sent.err.as_str()), (0, ""));
        assert!(raw(&home, "s") == numbers(0..300));
    }
}

#[test]
fn a_second_sender_and_another_peers_outbox_are_refused() {
    let home = Home::new();
    add_peer(&home, "roof");
    add_peer(&home, "cellar");
    let args = ["--to", NOWHERE, "--outbox", "box", "--stream", "s", "--timeout", "200ms", "--key"];
    let mut first = program(&home)
        .arg("send")
        .args(&args[..6])
        .args(["--key", "roof.key"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a sender");
    first.stdin.as_mut().expect("its input").write_all(b"x\n").expect("taken");
    until("it holds a record", || ever(&home.path("box/s")) == 1);
    let same_key = send(&home, &[&args[..], &["roof.key"]].concat(), b"y\n");
    assert_eq!(same_key.code, 14);
    assert!(same_key.err.contains("another sender uses the key in roof.key"), "{}", same_key.err);
    let same_outbox = send(&home, &[&args[..], &["cellar.key"]].concat(), b"y\n");
    assert_eq!(same_outbox.code, 14);
    assert!(same_outbox.err.contains("box/s") && same_outbox.err.contains("in use"), "{}", same_outbox.err);
    first.kill().expect("killed");
    first.wait().expect("ended");
    let foreign = send(&home, &[&args[..], &["cellar.key"]].concat(), b"y\n");
    assert_eq!(foreign.code, 1);
    assert!(foreign.err.contains("holds records of") && foreign.err.contains("box/s"), "{}", foreign.err);

    let nothing = home.refused(&["outbox", "none"], 1);
    assert!(nothing.contains("there is no outbox in none"), "{nothing}");
    home.refused(&["send", "--key", "roof.key", "--outbox", "none", "--to", NOWHERE], 1);
    let resume = home.run(&["send", "--key", "roof.key", "--stream", "s", "--resume"]);
    assert_eq!(resume.code, 2, "without an outbox nothing can be resumed: {}", resume.err);
}

#[test]
fn a_record_that_the_gateway_does_not_take_is_a_gap_and_told() {
    let home = Home::new();
    add_peer(&home, "roof");
    let config = home.file("tallylink.toml", "max_record = \"100 B\"\n");
    let gateway = Gateway::start(&home, &["--config", config.to_str().expect("UTF-8"), "--listen", "127.0.0.1:0"]);
    let args = ["--to", &gateway.address, "--key", "roof.key", "--outbox", "box", "--stream", "s"];
    let input = [&b"one\n"[..], &[b'x'; 200], b"\n", b"after\n"].concat();
    let ran = send(&home, &args, &input);
    assert_eq!(ran.code, 11, "{}", ran.err);
    assert!(ran.err.contains("it has a gap in their place"), "{}", ran.err);
    assert_eq!(raw(&home, "s"), b"one\nafter\n");
    let shown = home.ok(&["query", "--stream", "s", "--format", "csv"]);
    assert_eq!(shown.matches("above_limit").count(), 1, "{shown}");
    assert_eq!(outbox(&home)[0]["waiting"], 0);
    assert_eq!(send(&home, &args, b"more\n").code, 0, "and it goes on");
    assert_eq!(count(&status(&home), "rollbacks", "first_ahead"), 0);
}

/// Starts a sender on all of the input, and writes that to it on a thread.
fn start(home: &Home, address: &str, input: &[u8]) -> (Child, thread::JoinHandle<()>) {
    let mut command: Command = program(home);
    command.args(["send", "--to", address, "--key", "roof.key", "--outbox", "box", "--stream", "s", "--resume"]);
    let mut sender = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a sender");
    let (mut stdin, input) = (sender.stdin.take().expect("its input"), input.to_vec());
    // One that is killed reads no further.
    let writes = thread::spawn(move || drop(stdin.write_all(&input)));
    (sender, writes)
}

#[test]
fn a_sender_killed_fifty_times_and_started_again_delivers_every_line_once_and_in_order() {
    const KILLS: u64 = 50;
    const LINES_A_ROUND: u64 = 300;
    let seed = 0x0b0e_5eed;
    println!("seed {seed}");
    let mut chance = Chance::new(seed);
    let home = Home::new();
    add_peer(&home, "roof");
    let gateway = Gateway::on_loopback(&home);
    let (mut input, mut lines) = (Vec::new(), 0u64);
    for round in 0..KILLS {
        for _ in 0..LINES_A_ROUND {
            let long = if chance.percent(1) { 20_000 } else { 120 };
            input.extend(format!("{lines} ").bytes().chain((0..chance.below(long)).map(|i| b'a' + (i % 26) as u8)));
            input.push(b'\n');
            lines += 1;
        }
        let before = ever(&home.path("box/s"));
        let (mut sender, writes) = start(&home, &gateway.address, &input);
        if round % 2 == 0 {
            // Right when something new is durable.
            until("the outbox takes something", || ever(&home.path("box/s")) > before);
        } else {
            // Anywhere, before it has begun and after it has ended too.
            thread::sleep(Duration::from_micros(chance.below(30_000)));
        }
        sender.kill().expect("killed");
        sender.wait().expect("ended");
        writes.join().expect("written");
        assert!(ever(&home.path("box/s")) <= lines, "more than there are");
    }
    let (sender, writes) = start(&home, &gateway.address, &input);
    let ended = sender.wait_with_output().expect("ended");
    writes.join().expect("written");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert!(raw(&home, "s") == input, "seed {seed}: what is stored differs from the input");
    assert_eq!(ever(&home.path("box/s")), lines);
    assert!(!home.ok(&["query", "--stream", "s", "--format", "csv"]).contains("missing,"));
    let rollbacks = &status(&home)["counters"]["rollbacks"];
    assert!(rollbacks.as_object().expect("counts").values().all(|n| n == 0), "{rollbacks}");
}
