//! A machine that fails elsewhere than at its disk; `tallylink-bench faults` has more, with figures.

use std::fs::{self, OpenOptions};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

use crate::common::Home;
use crate::gateway::{Gateway, add_peer, count, program, raw, send, status, until};

/// Takes nothing, like a disk that is full.
fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").expect("/dev/full").into()
}

#[test]
fn a_gateway_without_descriptors_says_so_once_and_answers_when_it_has_some() {
    let home = Home::new();
    add_peer(&home, "roof");
    let gateway = Gateway::on_loopback(&home);
    let sends = |record: &[u8]| send(&home, &["--to", &gateway.address, "--key", "roof.key", "--stream", "s"], record);
    // From now on its journal has a segment open.
    assert_eq!(sends(b"1\n").code, 0);
    let process = Pid::from_raw(gateway.pid().cast_signed());
    // The number that its next would have.
    let next = (0..).find(|number| !Path::new(&format!("/proc/{}/fd/{number}", gateway.pid())).exists());
    // It began with the limits of this process.
    let none = Rlimit { current: next, ..getrlimit(Resource::Nofile) };
    let before = prlimit(process, Resource::Nofile, none).expect("a limit");
    let asker = UnixStream::connect(home.path("data/status.sock")).expect("in the queue");
    let log = || fs::read_to_string(home.path("gateway.log")).expect("a log");
    until("it cannot accept", || log().contains("status was asked for"));

    assert_eq!(sends(b"2\n").code, 0);
    assert_eq!(log().matches("status was asked for").count(), 1, "{}", log());

    prlimit(process, Resource::Nofile, before).expect("a limit");
    assert_eq!(count(&status(&home), "journal", "appended_records"), 2);
    drop(asker);
    assert_eq!(gateway.stop(), 0);
}

#[test]
fn a_log_that_takes_nothing_ends_nothing() {
    let home = Home::new();
    let config = home.file("tallylink.toml", "log = \"trace\"\n");
    add_peer(&home, "roof");
    let config = config.to_str().expect("UTF-8");
    let gateway = Gateway::with_log(&home, &["--config", config, "--listen", "127.0.0.1:0"], full());
    assert_eq!(send(&home, &["--to", &gateway.address, "--key", "roof.key", "--stream", "s"], b"1\n").code, 0);
    assert_eq!(raw(&home, "s"), b"1\n");
    assert_eq!(gateway.stop(), 0);
}

#[test]
fn a_command_that_cannot_say_what_is_wrong_ends_with_its_code_all_the_same() {
    let home = Home::new();
    for (args, code) in [(&["status"][..], 1), (&["serve", "--listen", "192.0.2.1:7433"], 6)] {
        let ended = program(&home).args(args).stderr(full()).stdout(Stdio::null()).status().expect("a run");
        assert_eq!(ended.code(), Some(code), "{args:?}");
    }
}
