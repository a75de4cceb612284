//! `driver-smoltcp/README.md`, followed by someone who has nothing else: each of its commands is run, with its files.

use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::emulator::{Machine, image};
use crate::common::Home;

const README: &str = include_str!("../../../../../driver-smoltcp/README.md");
const INSTALL: &str = include_str!("../../../../../.ci/install");

/// Commands that a test does not run, and what does instead.
const ELSEWHERE: [&str; 4] = [
    "sudo apt-get install ", // `.ci/install`, which is held against it
    "rustup target add ",    // the other compiler
    "git clone ",            // the checkout that this is
    "cargo build --release --manifest-path tallylink/Cargo.toml ", // the build of this test
];

/// A fenced block: its language, the file that it is, and its text.
struct Block {
    language: String,
    file: Option<PathBuf>,
    text: String,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut found = Vec::<Block>::new();
    let (mut inside, mut named) = (false, None);
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(language) if !inside => {
                found.push(Block { language: language.to_owned(), file: named.take(), text: String::new() });
                inside = true;
            }
            Some(_) => inside = false,
            None if inside => found.last_mut().expect("a block").text.extend([line, "\n"]),
            // A line that is only the name of a file, before a block.
            None if line.ends_with("`:") => named = line.trim_matches(['`', ':']).parse().ok(),
            None => {}
        }
    }
    found
}

/// A port that nobody has now.
fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a socket").port()
}

#[test]
fn every_command_of_the_readme_works_from_nothing_to_stored_records() {
    // The emulator and the compiler are here, and what the firmware needs is fetched.
    if image(Machine::Mps2An385).is_none() {
        return;
    }
    let home = Home::new();
    let port = free_port().to_string();
    let program = assert_cmd::cargo::cargo_bin("tallylink");
    let programs = program.parent().expect("its directory").to_str().expect("UTF-8");
    let data = home.path("data");
    let ours = |text: &str| {
        text.replace("$PWD/tallylink/target/release", programs)
            .replace("/tmp/gateway", data.to_str().expect("UTF-8"))
            .replace("tallylink serve", "tallylink serve --listen \"127.0.0.1:$GATEWAY_PORT\"")
            .replace("7433", &port)
    };
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("a checkout");
    // Outside the checkout, where `cargo new` would make the crate a member of this workspace.
    let here = home.path("newcomer");
    fs::create_dir(&here).expect("a directory");
    symlink(checkout, here.join("tallylink")).expect("a link");
    // Files are written when those before have been followed: `cargo new` makes directories.
    let mut script = "set -euo pipefail; trap 'kill $(jobs -p)' EXIT\n".to_owned();
    for (at, block) in blocks(README).into_iter().enumerate() {
        match (block.file, block.language.as_str()) {
            (Some(file), _) => {
                let text = home.file(&format!("block-{at}"), &ours(&block.text));
                script += &format!("cp {} {}\n", text.display(), file.display());
            }
            (None, "sh") => {
                block.text.lines().filter(|line| is_run(line)).for_each(|line| script += &(ours(line) + "\n"))
            }
            // An excerpt.
            (None, "rust") => {}
            (None, other) => panic!("a block of {other} that is no file: {}", block.text),
        }
    }
    // Versions that are here already, as the firmware's own.
    script = script.replace("cargo run", "cp ../tallylink/driver-smoltcp/firmware/Cargo.lock . && cargo run");
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(here)
        .env("GATEWAY_PORT", &port)
        // The same place each time, so that what the crate depends on is built once.
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware"))
        .env_remove("CARGO")
        .env_remove("RUSTC")
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script}\n{out}\n{err}");
    assert!(out.contains("100 readings are STORED"), "{out}\n{err}");
    let shown = home.ok(&["query", "--peer", "sensor", "--stream", "temperature", "--json"]);
    let numbers = shown.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let numbers: Vec<_> = numbers.map(|record| (record["number"].as_u64(), record["data"].clone())).collect();
    let expected = (0..100).map(|n| (Some(n), format!("2{}.5", n % 10).into()));
    assert_eq!(numbers, expected.collect::<Vec<_>>());
    assert_eq!(home.ok(&["query", "--peer", "board"]).lines().count(), 10_000);
}

fn is_run(line: &str) -> bool {
    let elsewhere = ELSEWHERE.iter().any(|command| line.starts_with(command));
    if let Some(packages) = line.strip_prefix(ELSEWHERE[0]) {
        let packages = packages.split('#').next().unwrap_or_default().split_whitespace();
        packages.for_each(|package| assert!(INSTALL.contains(package), "{package} is not installed by .ci/install"));
    }
    !elsewhere
}
