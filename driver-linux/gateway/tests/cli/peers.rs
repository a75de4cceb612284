//! The `peer` commands from end to end.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;

use crate::common::{Home, Ran, is_private};
use assert_cmd::cargo::CommandCargoExt;
use serde_json::Value;
use tallylink_gateway::device::DeviceKey;

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn names(home: &Home) -> Vec<String> {
    json_lines(&home.ok(&["peer", "list", "--json"])).iter().map(|peer| peer["name"].as_str().unwrap().into()).collect()
}

#[test]
fn add_prints_every_form_of_the_same_key() {
    let home = Home::new();
    let all = home.ok(&["peer", "add", "roof", "--id", "70:b3:d5:ff:fe:00:00:01", "--gateway", "gw.example:7433"]);
    let key = all.lines().find_map(|line| line.strip_prefix("key = \"")).unwrap().trim_end_matches('"');
    let constant: Vec<_> =
        key.as_bytes().chunks(2).map(|pair| format!("0x{}", str::from_utf8(pair).unwrap())).collect();
    for part in [
        "peer = \"70b3d5fffe000001\"",
        "tallylink send --to gw.example:7433 --key roof.key --stream NAME",
        &format!("pub const TALLYLINK_KEY: [u8; 16] = [{}];", constant.join(", ")),
        &format!("static const uint8_t TALLYLINK_KEY[16] = {{{}}};", constant.join(", ")),
    ] {
        assert!(all.contains(part), "no {part} in:\n{all}");
    }
}

#[test]
fn the_printed_shell_lines_make_a_key_file_that_can_be_read() {
    let home = Home::new();
    let lines = home.ok(&["peer", "add", "roof", "--format", "send"]);
    let (install, send) = lines.split_once("END\ntallylink").unwrap();
    assert!(send.starts_with(" send --to HOST:7433 --key roof.key"));
    let shell =
        Command::new("sh").args(["-c", &format!("{install}END\n")]).current_dir(home.path("")).status().unwrap();
    assert!(shell.success());
    let device = DeviceKey::read(&home.path("roof.key")).unwrap();
    assert_eq!(device.name.as_str(), "roof");
}

#[test]
fn an_output_file_is_a_private_key_file() {
    let home = Home::new();
    let told = home.ok(&["peer", "add", "roof", "--out", "roof.key"]);
    assert_eq!(told, "a key of \"roof\" was made and written to roof.key\n");
    assert!(is_private(&home.path("roof.key")));
    let first = DeviceKey::read(&home.path("roof.key")).unwrap();

    home.ok(&["peer", "rotate", "roof", "--out", "new.key"]);
    let second = DeviceKey::read(&home.path("new.key")).unwrap();
    assert_eq!((first.peer, first.key_id, second.key_id), (second.peer, 0, 1));
    assert_ne!(first.secret, second.secret);
}

#[test]
fn lists_show_peers_and_never_their_keys() {
    let home = Home::new();
    let mut keys = Vec::new();
    for args in [
        &["peer", "add", "roof", "--json"][..],
        &["peer", "add", "cellar", "--json"],
        &["peer", "rotate", "roof", "--json"],
    ] {
        let shown: Value = serde_json::from_str(&home.ok(args)).unwrap();
        keys.push(shown["key"].as_str().unwrap().to_owned());
    }
    let shown =
        [home.ok(&["peer", "list"]), home.ok(&["peer", "list", "--json"]), home.ok(&["peer", "remove", "cellar"])]
            .concat();
    assert!(keys.iter().all(|key| key.len() == 32 && !shown.contains(key)), "{shown}");

    let table = home.ok(&["peer", "list"]);
    assert!(table.starts_with("NAME  PEER ID           KEYS     CREATED\nroof  "), "{table}");
    let [roof] = json_lines(&home.ok(&["peer", "list", "--json"])).try_into().unwrap();
    assert_eq!(roof["keys"].as_array().unwrap().iter().map(|key| &key["id"]).collect::<Vec<_>>(), [0, 1]);

    let removed: Value = serde_json::from_str(&home.ok(&["peer", "remove", "roof", "--key", "0", "--json"])).unwrap();
    assert_eq!(removed["removed_keys"], serde_json::json!([0]));
    assert_eq!(names(&home), ["roof"]);
}

#[test]
fn a_list_may_be_piped_in_and_comes_out_in_its_order() {
    let home = Home::new();
    let list = "# board, EUI-64\nroof,70b3d5fffe000001\n\ncellar 70-b3-d5-ff-fe-00-00-02\n  attic\n";
    let ran = Ran::of(home.command(&["peer", "add", "--from", "-", "--json"]).write_stdin(list));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let added = json_lines(&ran.out);
    assert_eq!(added.iter().map(|peer| &peer["name"]).collect::<Vec<_>>(), ["roof", "cellar", "attic"]);
    assert_eq!(added[1]["peer"], "70b3d5fffe000002");

    let ran = Ran::of(home.command(&["peer", "add", "--from", "-"]).write_stdin("b1\nb2\n"));
    let parsed: toml::Table = ran.out.parse().unwrap();
    assert_eq!(parsed["device"].as_array().unwrap().len(), 2);
}

#[test]
fn a_damaged_line_is_warned_of_and_the_rest_goes_on() {
    let home = Home::new();
    ["a", "b", "c"].iter().for_each(|name| drop(home.ok(&["peer", "add", name])));
    let mut bytes = fs::read(home.peers()).unwrap();
    let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    bytes[second + 30] ^= 1;
    fs::write(home.peers(), bytes).unwrap();

    let ran = home.run(&["peer", "list", "--json"]);
    assert_eq!((ran.code, json_lines(&ran.out).len()), (0, 2));
    assert!(ran.err.contains("keys/peers, line 2 cannot be read") && ran.err.lines().count() == 1, "{}", ran.err);
    let ran = home.run(&["peer", "add", "b"]);
    assert!(ran.code == 0 && ran.err.contains("moved to") && ran.err.contains("keys/damaged"), "{}", ran.err);
    assert!(is_private(&home.path("data/keys/damaged")));
    assert_eq!(names(&home), ["a", "b", "c"]);
}

#[test]
fn commands_at_the_same_moment_lose_nothing() {
    let home = Home::new();
    let (writers, each) = (4, 8);
    let begin = Barrier::new(writers);
    thread::scope(|scope| {
        for writer in 0..writers {
            let (home, begin) = (&home, &begin);
            scope.spawn(move || {
                begin.wait();
                (0..each).for_each(|n| drop(home.ok(&["peer", "add", &format!("w{writer}-{n}")])));
            });
        }
    });
    let expected: BTreeSet<_> = (0..writers).flat_map(|w| (0..each).map(move |n| format!("w{w}-{n}"))).collect();
    assert_eq!(names(&home).into_iter().collect::<BTreeSet<_>>(), expected);
}

#[test]
fn of_two_adds_of_one_name_exactly_one_succeeds() {
    let home = Home::new();
    let begin = Barrier::new(2);
    let codes = thread::scope(|scope| {
        let add = || {
            begin.wait();
            home.run(&["peer", "add", "roof"]).code
        };
        [scope.spawn(add), scope.spawn(add)].map(|thread| thread.join().unwrap())
    });
    assert_eq!(codes.iter().sum::<i32>(), 8, "{codes:?}");
    assert_eq!(names(&home), ["roof"]);
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    let home = Home::new();
    let list: String = (0..3000).map(|n| format!("sensor-{n}\n")).collect();
    home.file("list", &list);
    home.ok(&["peer", "add", "--from", "list", "--out", "keys"]);
    let mut command = Command::cargo_bin("tallylink").unwrap();
    command.env("TALLYLINK_DATA", home.path("data")).args(["peer", "list"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn keys_that_could_not_be_shown_are_told_of() {
    let home = Home::new();
    let mut command = Command::cargo_bin("tallylink").unwrap();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    command.env("TALLYLINK_DATA", home.path("data")).args(["peer", "add", "roof"]).stdout(full);
    let output = command.output().unwrap();
    let sentence = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(sentence.contains("\"roof\"") && sentence.contains("peer rotate"), "{sentence}");
}
