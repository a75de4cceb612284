//! Captures what the measured program was built from: compiler, profile and crate versions.
use std::{env, fs, path::Path, process::Command};

/// Crates whose version decides what a figure means.
const NAMED: [&str; 9] =
    ["aws-lc-rs", "libsqlite3-sys", "quinn", "quinn-proto", "quinn-udp", "ring", "rumqttc", "rustls", "s2n-quic"];

fn main() {
    let manifest = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let lock = Path::new(&manifest).join("../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    println!("cargo::rerun-if-changed=build.rs");

    let lock = fs::read_to_string(&lock).unwrap_or_default();
    println!("cargo::rustc-env=BENCH_CRATES={}", versions(&lock).join(","));
    println!("cargo::rustc-env=BENCH_RUSTC={}", rustc());
    println!(
        "cargo::rustc-env=BENCH_PROFILE={} opt-level {}",
        env::var("PROFILE").unwrap_or_default(),
        env::var("OPT_LEVEL").unwrap_or_default()
    );
}

fn rustc() -> String {
    let program = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    Command::new(program)
        .arg("--version")
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_else(|_| "unknown".into())
}

/// `name version` of each named crate; one that is locked twice is listed twice.
fn versions(lock: &str) -> Vec<String> {
    let mut found = Vec::new();
    for package in lock.split("[[package]]") {
        let field = |key: &str| {
            package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'))
        };
        if let (Some(name), Some(version)) = (field("name"), field("version"))
            && NAMED.contains(&name)
        {
            found.push(format!("{name} {version}"));
        }
    }
    found
}
