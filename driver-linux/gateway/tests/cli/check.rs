//! Looking for damage and setting it aside, on real files.

use std::fs;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;
use tallylink_journal::testing::Chance;

use crate::common::{Home, Ran};
use crate::gateway::{Gateway, add_peer, program, send, until};

const RECORDS: u64 = 400;

/// A data directory with some peers and a stream of numbered lines, stored by a gateway that was started twice.
fn stored() -> Home {
    let home = Home::new();
    ["roof", "cellar", "attic"].iter().for_each(|name| add_peer(&home, name));
    for half in [0..RECORDS / 2, RECORDS / 2..RECORDS] {
        let gateway = Gateway::on_loopback(&home);
        let lines: String = half.map(line).collect();
        let args = ["--to", &gateway.address, "--key", "roof.key", "--stream", "s"];
        assert_eq!(send(&home, &args, lines.as_bytes()).code, 0);
        assert_eq!(gateway.stop(), 0);
    }
    home
}

fn line(number: u64) -> String {
    format!("{number:0>200}\n")
}

fn check(home: &Home, args: &[&str]) -> (i32, Vec<Value>) {
    let ran = home.run(&[&["check", "--json"], args].concat());
    let told = ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    (ran.code, told)
}

/// The files that hold something, each with how much of it counts.
fn files(home: &Home) -> Vec<(PathBuf, u64)> {
    let (_, told) = check(home, &[]);
    let segments = told[1]["segments"].as_array().expect("segments").iter().map(|segment| {
        let name = format!("data/journal/{}.segment", segment["segment"].as_str().expect("an id"));
        (home.path(&name), segment["counted_bytes"].as_u64().expect("a size"))
    });
    let beside = ["checkpoint-a", "checkpoint-b"].map(|name| (home.path(&format!("data/journal/{name}")), 80));
    let keys = (home.peers(), fs::metadata(home.peers()).expect("there").len());
    segments.chain(beside).chain([keys]).collect()
}

#[test]
fn what_is_whole_is_said_to_be_and_what_is_lost_is_named() {
    let home = stored();
    let text = home.ok(&["check"]);
    assert!(text.contains("keys ") && text.contains(": whole, 3 peers\n"), "{text}");
    assert!(text.contains("journal: whole\n") && text.contains("  roof/s: 400 records whole\n"), "{text}");
    let (code, told) = check(&home, &[]);
    assert_eq!((code, told.len()), (0, 2));
    assert_eq!((told[0]["kind"].as_str(), told[0]["peers"].as_u64()), (Some("keys"), Some(3)));
    assert_eq!((told[1]["kind"].as_str(), told[1]["whole"].as_bool()), (Some("journal"), Some(true)));

    // The journal alone, by its own directory; and one byte of it.
    let journal = home.path("data/journal");
    assert!(home.ok(&["check", journal.to_str().expect("UTF-8")]).starts_with("journal "));
    let (segment, _) = &files(&home)[0];
    let file = fs::OpenOptions::new().read(true).write(true).open(segment).expect("opened");
    file.write_all_at(b"?", 5000).expect("written");
    let ran = home.run(&["check"]);
    assert_eq!(ran.code, 13, "{}", ran.err);
    assert!(ran.out.contains(".segment: damaged from byte ") && ran.out.contains("    lost: "), "{}", ran.out);
    assert!(ran.err.contains("1 places") && ran.err.contains("--repair"), "{}", ran.err);
}

#[test]
fn whatever_bit_flips_a_gateway_starts_stops_and_everything_reports_it() {
    const SEED: u64 = 5;
    const FLIPS: usize = 5;
    let home = stored();
    let mut chance = Chance::new(SEED);
    for (path, counted) in files(&home) {
        let is_segment = path.extension().is_some();
        for round in 0..FLIPS {
            // Whole files come back after each round, as nothing else in the directory matters to the next.
            let good = fs::read(&path).expect("read");
            let from = if is_segment { 4096 } else { 0 };
            let bit = from * 8 + chance.below((counted - from) * 8);
            let what = format!("seed {SEED} round {round}: {} bit {bit}", path.display());
            let mut bad = good.clone();
            bad[bit as usize / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bad).expect("written");

            let (code, told) = check(&home, &[]);
            assert_eq!(code, 13, "{what}");
            assert_eq!(told.iter().filter(|thing| thing["whole"] == false).count(), 1, "{what}");
            assert_eq!(Gateway::on_loopback(&home).stop(), 0, "{what}");
            let lost = told[1]["streams"][0]["lost_records"].as_u64().expect("a count");
            let ran = home.run(&["query", "--json"]);
            let damaged = told[1]["segments"].as_array().expect("segments").iter().any(|s| s["damaged_places"] != 0);
            assert_eq!(ran.code, if damaged { 13 } else { 0 }, "{what}: {}", ran.err);
            let records = ran.out.lines().filter(|line| line.contains("\"data\"")).count() as u64;
            assert!(records + lost == RECORDS || (lost == 0 && records < RECORDS), "{what}: {records} {lost}");

            let ran = home.run(&["check", "--repair"]);
            assert_eq!(ran.code, 0, "{what}: {}{}", ran.out, ran.err);
            let ran = home.run(&["query", "--json"]);
            assert_eq!(ran.code, 0, "{what}: {}", ran.err);
            assert_eq!(ran.out.lines().filter(|line| line.contains("\"data\"")).count() as u64, records, "{what}");
            // What an epoch lost at its end before another began, only a checkpoint knows, and so only `check` tells.
            let ranges = told[1]["streams"][0]["lost"].as_array().expect("ranges");
            let ends_one = ranges.iter().any(|range| range["below"] == RECORDS / 2);
            assert!(lost == 0 || ends_one || ran.out.contains("\"missing\""), "{what}");
            let (_, after) = check(&home, &[]);
            assert_eq!(after[1]["streams"][0]["lost_records"].as_u64(), Some(lost), "{what}: still told");
            assert_eq!(check(&home, &["--repair"]).0, 0, "{what}: nothing is left to do");
            if path.file_name().is_some_and(|name| name != "checkpoint-a" && name != "checkpoint-b") {
                fs::write(&path, &good).expect("written");
            }
        }
    }
}

#[test]
fn a_check_runs_beside_a_gateway_and_a_repair_does_not() {
    let home = stored();
    let (segment, _) = files(&home).swap_remove(0);
    let gateway = Gateway::on_loopback(&home);
    assert_eq!(check(&home, &[]).0, 0);
    assert_eq!(home.run(&["check", "--repair"]).code, 0, "nothing to repair");
    let file = fs::OpenOptions::new().write(true).open(segment).expect("opened");
    file.write_all_at(b"?", 5000).expect("written");
    assert_eq!(check(&home, &[]).0, 13);
    let ran = home.run(&["check", "--repair"]);
    assert_eq!(ran.code, 14, "{}", ran.err);
    assert!(ran.err.contains("held by another process"), "{}", ran.err);
    assert_eq!(gateway.stop(), 0);
    assert_eq!(home.run(&["check", "--repair"]).code, 0);
    let aside = fs::read(home.path("data/journal/set-aside")).expect("kept");
    assert!(aside.starts_with(b"set-aside segment 0000000000000001 from "));
}

#[test]
fn where_there_is_nothing_to_check_that_is_said() {
    let home = Home::new();
    fs::create_dir_all(home.path("empty")).expect("made");
    for dir in ["empty", "absent"] {
        let sentence = home.refused(&["check", dir], 1);
        assert!(sentence.contains(dir), "{sentence}");
    }
}

#[test]
fn a_gateway_that_is_still_recovering_heeds_sigterm() {
    let home = stored();
    // Much to look through: nothing tells where the last segment ends, and it is as long as a file can be sparse.
    let (segment, _) = files(&home).into_iter().rfind(|(path, _)| path.extension().is_some()).expect("one");
    for name in ["checkpoint-a", "checkpoint-b", "position", "lock"] {
        fs::remove_file(home.path(&format!("data/journal/{name}"))).expect("removed");
    }
    fs::OpenOptions::new().write(true).open(segment).and_then(|file| file.set_len(64 << 30)).expect("longer");
    let mut process = program(&home)
        .args(["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a gateway");
    until("the journal is locked", || home.path("data/journal/lock").exists());
    let pid = rustix::process::Pid::from_child(&process);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
    let mut told = String::new();
    process.stdout.take().expect("its output").read_to_string(&mut told).expect("text");
    assert_eq!((process.wait().expect("ended").code(), told.as_str()), (Some(0), ""));
}

#[test]
fn outboxes_below_a_directory_are_each_checked() {
    let home = stored();
    fs::create_dir_all(home.path("outboxes/one")).expect("made");
    for name in fs::read_dir(home.path("data/journal")).expect("listed") {
        let name = name.expect("a name").file_name();
        let from = home.path("data/journal").join(&name);
        fs::copy(from, home.path("outboxes/one").join(&name)).expect("copied");
    }
    let ran: Ran = home.run(&["check", "outboxes", "--json"]);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 1), "{}", ran.err);
    assert!(ran.out.contains("outboxes/one"), "{}", ran.out);
}
