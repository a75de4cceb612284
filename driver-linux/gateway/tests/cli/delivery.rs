//! Records on their way through real processes, a real socket and a real disk.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::common::Home;
use crate::gateway::{Gateway, add_peer, program, raw, send, status, until};

fn numbers(range: std::ops::Range<u32>) -> Vec<u8> {
    range.flat_map(|n| format!("{n}\n").into_bytes()).collect()
}

#[test]
fn what_was_sent_is_what_query_gives() {
    let home = Home::new();
    add_peer(&home, "roof");
    let gateway = Gateway::on_loopback(&home);
    let to = ["--to", &gateway.address, "--key", "roof.key"];

    let lines = [numbers(0..50_000), b"\n\n\xff\xfe\0 no newline at the end".to_vec()].concat();
    let ran = send(&home, &[&to[..], &["--stream", "lines"]].concat(), &lines);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(raw(&home, "lines") == lines);
    assert_eq!(home.ok(&["query", "--stream", "lines"]).lines().count(), 50_003);

    let frames = b"\0\0\0\x03a\nb\0\0\0\0\0\0\0\x01c";
    assert_eq!(send(&home, &[&to[..], &["--stream", "frames", "--frames"]].concat(), frames).code, 0);
    assert_eq!(raw(&home, "frames"), b"a\nbc");
    assert_eq!(home.ok(&["query", "--stream", "frames"]).lines().count(), 3);

    let files: Vec<String> = (0..8).map(|n| format!("file-{n}")).collect();
    let content = |n: usize| vec![n as u8; n * 149_000];
    for (n, file) in files.iter().enumerate() {
        fs::write(home.path(file), content(n)).expect("a file");
    }
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    assert_eq!(send(&home, &[&to[..], &["--stream", "files"], &names].concat(), b"").code, 0);
    assert!(raw(&home, "files") == (0..8).flat_map(content).collect::<Vec<u8>>());

    assert_eq!(send(&home, &[&to[..], &["--stream", "nothing"]].concat(), b"").code, 0);
    assert_eq!(gateway.stop(), 0);
}

#[test]
fn a_gateway_that_is_killed_in_the_middle_loses_and_repeats_nothing() {
    let home = Home::new();
    add_peer(&home, "roof");
    let gateway = Gateway::on_loopback(&home);
    let address = gateway.address.clone();
    let mut sender = program(&home)
        .args(["send", "--to", &address, "--key", "roof.key", "--stream", "numbers"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("a sender");
    let mut input = sender.stdin.take().expect("its input");

    let (mut gateway, mut expected) = (Some(gateway), Vec::new());
    for round in 0..3 {
        let part = numbers(round * 20_000..(round + 1) * 20_000);
        input.write_all(&part).expect("taken");
        input.flush().expect("taken");
        let stored_before = expected.len();
        expected.extend_from_slice(&part);
        // In the middle of the part, or right after it: both must do.
        until("some of the part is stored", || raw(&home, "numbers").len() > stored_before);
        if let Some(gateway) = gateway.take() {
            gateway.kill();
        }
        gateway = Some(Gateway::start(&home, &["--listen", &address]));
    }
    drop(input);
    assert!(sender.wait().expect("ended").success());
    assert!(raw(&home, "numbers") == expected);
    let shown = home.ok(&["query", "--stream", "numbers", "--format", "csv"]);
    assert!(!shown.contains("missing,"));
}

#[test]
fn peers_come_and_go_while_the_gateway_runs() {
    let home = Home::new();
    let gateway = Gateway::on_loopback(&home);
    add_peer(&home, "roof");
    let to = ["--to", &gateway.address, "--key", "roof.key", "--stream", "s"];
    assert_eq!(send(&home, &to, b"one\n").code, 0);

    home.ok(&["peer", "rotate", "roof", "--out", "new.key"]);
    let with_new = ["--to", &gateway.address, "--key", "new.key", "--stream", "s"];
    assert_eq!(send(&home, &with_new, b"two\n").code, 0);
    assert_eq!(send(&home, &to, b"three\n").code, 0);

    home.ok(&["peer", "remove", "roof"]);
    until("the gateway has no peer", || status(&home)["peers_provisioned"] == 0);
    let ran = send(&home, &[&with_new[..], &["--timeout", "300ms"]].concat(), b"four\n");
    assert_eq!(ran.code, 12, "{}", ran.err);
    assert_eq!(raw(&home, "s"), b"one\ntwo\nthree\n");
}

#[test]
fn a_record_above_the_limit_is_named_and_those_before_it_are_stored() {
    let home = Home::new();
    add_peer(&home, "roof");
    let config = home.file("tallylink.toml", "max_record = \"100 B\"\n");
    let config = config.to_str().expect("UTF-8");
    let gateway = Gateway::start(&home, &["--config", config, "--listen", "127.0.0.1:0"]);
    let to = ["--to", &gateway.address, "--key", "roof.key", "--stream"];
    let input = [&b"one\n"[..], &[b'x'; 99], b"\n", &[b'x'; 100], b"\nafter\n"].concat();
    let ran = send(&home, &[&to[..], &["s"]].concat(), &input);
    assert_eq!(ran.code, 11);
    assert!(ran.err.contains("record 3 of the input has more than 100 bytes"), "{}", ran.err);
    assert!(ran.err.contains("2 records before it are stored"), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1);
    assert!(raw(&home, "s") == input[..104]);

    let large = home.path("large");
    fs::write(&large, [0; 101]).expect("a file");
    let ran = send(&home, &[&to[..], &["t", "large"]].concat(), b"");
    assert_eq!(ran.code, 11);
    assert!(ran.err.contains("large has more than 100 bytes"), "{}", ran.err);
}

#[test]
fn a_follower_sees_records_as_they_are_stored() {
    let home = Home::new();
    add_peer(&home, "roof");
    let gateway = Gateway::on_loopback(&home);
    let mut follower = program(&home)
        .args(["query", "--follow", "--peer", "roof", "--stream", "s", "--to", "3", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a follower");
    let mut lines = BufReader::new(follower.stdout.take().expect("its output")).lines();
    for (round, record) in ["one\n", "two\n", "three\n"].iter().enumerate() {
        let to = ["--to", &gateway.address, "--key", "roof.key", "--stream", "s"];
        assert_eq!(send(&home, &to, record.as_bytes()).code, 0);
        let line = lines.next().expect("a line").expect("UTF-8");
        let shown: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!((shown["index"].as_u64(), shown["data"].as_str()), (Some(round as u64), Some(*record)));
    }
    assert!(follower.wait().expect("ended").success());
}

#[test]
fn both_families_of_addresses_lead_to_a_gateway_that_listens_on_all() {
    let home = Home::new();
    add_peer(&home, "roof");
    let gateway = Gateway::start(&home, &["--listen", "[::]:0"]);
    let port = gateway.address.rsplit_once(':').expect("a port").1;
    for (to, record) in [("127.0.0.1", "four\n"), ("[::1]", "six\n"), ("localhost", "name\n")] {
        let ran =
            send(&home, &["--to", &format!("{to}:{port}"), "--key", "roof.key", "--stream", "s"], record.as_bytes());
        assert_eq!(ran.code, 0, "{to}: {}", ran.err);
    }
    assert_eq!(raw(&home, "s"), b"four\nsix\nname\n");
}

#[test]
fn the_demo_finds_everything_exact() {
    let home = Home::new();
    let output = home
        .command(&["demo", "--records", "3000", "--senders", "3", "--seed", "11", "--data", "demo"])
        .output()
        .expect("a run");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    assert_eq!(err.matches("killed with SIGKILL").count(), 2, "{err}");
    let total = out.lines().find(|line| line.starts_with("all ")).expect("a last row");
    let columns: Vec<_> = total.split_whitespace().collect();
    assert_eq!(columns, ["all", "3000", "3000", "3000", "0", "0", "0", "yes"]);
    assert!(home.ok(&["query", "--data", "demo", "--peer", "sensor-1", "--to", "1"]).lines().count() == 3);
}
