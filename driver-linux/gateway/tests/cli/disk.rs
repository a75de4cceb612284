//! A disk that fails, in ways that a test can bring about with strace and with the directory's name.
//!
//! `tallylink-bench disk-faults` has every call and every place; here is one of each kind.

use std::fs;

use crate::common::Home;
use crate::gateway::{Gateway, add_peer, count, raw, send, status, until};
use crate::strace::{Injection, have_strace, start_with};
use crate::torrent::Torrent;

/// What goes wrong in a running gateway. Each call is made anew by every attempt to go on, so that a fault of several
/// counts meets the trial and the new segment too.
const FAULTS: [&[&str]; 8] = [
    &["fdatasync:error=EIO:when=1"],
    &["fdatasync:error=EIO:when=2..4"],
    &["pwrite64:error=ENOSPC:when=3..5"],
    &["fallocate:error=ENOSPC:when=1..2"],
    &["ftruncate:error=EIO:when=1"],
    &["fdatasync:error=EIO:when=1", "openat:error=EIO:when=1..2"],
    &["fdatasync:error=ENOSPC:when=1", "unlink:error=EIO:when=1", "fsync:error=EIO:when=1"],
    &["pwrite64,fallocate,unlink:error=EROFS:when=1..3"],
];

#[test]
fn f43_f47_whichever_call_fails_everything_arrives_once() {
    if !have_strace() {
        return;
    }
    for fault in FAULTS {
        eprintln!("{fault:?}");
        let mut torrent = Torrent::new();
        torrent.give(200);
        torrent.all_stored();
        let injection = Injection::into(&torrent.home, torrent.gateway(), fault);
        torrent.give(2000);
        torrent.all_stored();
        drop(injection);
        torrent.give(100);
        torrent.expect_exact_end();
    }
}

#[test]
fn a_disk_that_stays_broken_is_told_of_and_gone_on_with_once_it_works() {
    if !have_strace() {
        return;
    }
    let mut torrent = Torrent::new();
    torrent.give(10);
    torrent.all_stored();
    let injection = Injection::into(&torrent.home, torrent.gateway(), &["fdatasync:error=EIO"]);
    torrent.give(10);
    until("the gateway is not ready", || !torrent.ready());
    let (code, said) = torrent.gateway().http("/readyz");
    assert_eq!((code, said.lines().count()), (503, 1), "{said}");
    assert!(said.starts_with("journal: since 20") && said.contains("error 5") && said.contains("dmesg"), "{said}");
    let told = status(&torrent.home);
    assert_eq!((told["ready"].as_bool(), told["troubles"][0]["subject"].as_str()), (Some(false), Some("journal")));
    let text = torrent.home.ok(&["status"]);
    assert!(text.contains("NOT READY") && text.contains("dmesg"), "{text}");
    let (_, metrics) = torrent.gateway().http("/metrics");
    assert!(metrics.contains("\ntallylink_ready 0\n"), "{metrics}");
    assert!(metrics.contains("\ntallylink_trouble{subject=\"journal\"} 1\n"), "{metrics}");
    assert_eq!(torrent.gateway().http("/livez").0, 200);
    assert_eq!(raw(&torrent.home, "s").len(), 10_000);
    // It does not speak of every trial.
    until("it was tried several times", || injection.returned().len() > 3);
    let log = fs::read_to_string(torrent.home.path("gateway.log")).expect("a log");
    assert_eq!(log.lines().filter(|line| line.contains("ERROR journal: ")).count(), 1, "{log}");
    drop(injection);
    torrent.expect_exact_end();
}

#[test]
fn f42_nothing_is_confirmed_while_the_sync_that_covers_it_is_on_its_way() {
    if !have_strace() {
        return;
    }
    let home = Home::new();
    add_peer(&home, "roof");
    let gateway = Gateway::on_loopback(&home);
    let to = ["--to", &gateway.address, "--key", "roof.key", "--stream", "s"];
    assert_eq!(send(&home, &to, b"before\n").code, 0);
    let injection = Injection::into(&home, &gateway, &["fdatasync:delay_enter=500000"]);
    for record in 1..=3 {
        assert_eq!(send(&home, &to, b"x\n").code, 0);
        // The sender has heard STORED: so the sync has returned.
        assert!(injection.returned().len() >= record, "{:?}", injection.returned());
    }
    assert_eq!(count(&status(&home), "journal", "slow_calls"), 0);
}

#[test]
fn a_call_that_does_not_return_is_told_of_and_keeps_only_the_writer_waiting() {
    if !have_strace() {
        return;
    }
    let mut torrent = Torrent::new();
    torrent.give(10);
    torrent.all_stored();
    let injection = Injection::into(&torrent.home, torrent.gateway(), &["fdatasync:delay_enter=4s:when=1"]);
    torrent.give(10);
    until("that is told", || {
        // Each of these answers needs the network thread.
        assert_eq!(torrent.gateway().http("/livez"), (200, "alive\n".to_owned()));
        let (code, said) = torrent.gateway().http("/readyz");
        code == 503 && said.starts_with("disk: since ") && said.contains("to sync ")
    });
    until("it is over", || torrent.ready());
    drop(injection);
    assert_eq!(count(&status(&torrent.home), "journal", "failures"), 0);
    torrent.expect_exact_end();
}

#[test]
fn a_gateway_that_cannot_start_says_why_and_harms_nothing() {
    if !have_strace() {
        return;
    }
    let home = Home::new();
    add_peer(&home, "roof");
    let gateway = Gateway::on_loopback(&home);
    let to = ["--to", &gateway.address, "--key", "roof.key", "--stream", "s"];
    assert_eq!(send(&home, &to, b"one\ntwo\n").code, 0);
    gateway.kill();
    for fault in [
        "flock:error=ENOLCK:when=1",
        "pread64:error=EIO:when=3+",
        "pwrite64:error=EIO:when=1",
        "pwrite64:error=ENOSPC:when=1",
        "fdatasync:error=EIO:when=1",
        "getdents64:error=EIO:when=1",
    ] {
        let (code, said) = start_with(&home, &[fault]);
        if let Some(code) = code {
            assert_eq!(code, 16, "{fault}: {said}");
            let last = said.lines().last().unwrap_or_default();
            assert!(last.starts_with("tallylink: the journal: "), "{fault}: {said}");
        }
        assert_eq!(raw(&home, "s"), b"one\ntwo\n", "{fault}");
    }
    let gateway = Gateway::on_loopback(&home);
    assert_eq!(raw(&home, "s"), b"one\ntwo\n");
    assert_eq!(gateway.stop(), 0);
}

#[test]
fn a_directory_that_is_moved_away_is_missed_at_once_and_gone_on_with_when_it_is_back() {
    let mut torrent = Torrent::new();
    torrent.give(10);
    torrent.all_stored();
    let (data, away) = (torrent.home.path("data"), torrent.home.path("away"));
    fs::rename(&data, &away).expect("moved");
    let (code, said) = torrent.gateway().http("/readyz");
    assert!(code == 503 && said.contains("put the directory back"), "{said}");
    torrent.give(10);
    assert!(!torrent.ready());
    assert!(!data.exists(), "nothing is made in its place");
    fs::rename(&away, &data).expect("moved back");
    torrent.give(10);
    torrent.expect_exact_end();
}

#[test]
fn nothing_is_confirmed_that_went_into_a_directory_without_a_name() {
    let mut torrent = Torrent::new();
    torrent.give(10);
    torrent.all_stored();
    fs::remove_dir_all(torrent.home.path("data/journal")).expect("removed");
    torrent.give(10);
    // What was stored is gone with the directory; what is behind it is kept by the sender, and stored by the next.
    assert_eq!(torrent.gateway_ends(), 17);
    until("the rest is stored", || raw(&torrent.home, "s").len() == 10_000);
    let (stored, given) = torrent.end();
    assert!(given.ends_with(&stored) && stored.len() == 10_000, "{} bytes", stored.len());
}

#[test]
fn another_directory_in_its_place_ends_the_gateway_and_is_left_as_it_is() {
    let mut torrent = Torrent::new();
    torrent.give(10);
    torrent.all_stored();
    fs::rename(torrent.home.path("data/journal"), torrent.home.path("away")).expect("moved");
    fs::create_dir(torrent.home.path("data/journal")).expect("made");
    fs::write(torrent.home.path("data/journal/lock"), "").expect("made");
    torrent.give(10);
    let gateway = torrent.gateway().pid();
    until("it ends", || {
        let state = fs::read_to_string(format!("/proc/{gateway}/stat")).unwrap_or_default();
        state.contains(") Z ")
    });
    let left: Vec<_> = fs::read_dir(torrent.home.path("data/journal")).expect("there").collect();
    assert_eq!(left.len(), 1, "{left:?}");
    fs::remove_dir_all(torrent.home.path("data/journal")).expect("removed");
    fs::rename(torrent.home.path("away"), torrent.home.path("data/journal")).expect("moved back");
    assert_eq!(torrent.gateway_ends(), 17);
    torrent.expect_exact_end();
}

#[test]
fn a_key_store_that_vanishes_revokes_nothing_and_is_told_of() {
    let home = Home::new();
    add_peer(&home, "roof");
    let gateway = Gateway::on_loopback(&home);
    let to = ["--to", &gateway.address, "--key", "roof.key", "--stream", "s"];
    for (from, aside) in [("data/keys/peers", "peers"), ("data/keys", "keys")] {
        fs::rename(home.path(from), home.path(aside)).expect("moved");
        until("that is told", || gateway.http("/readyz").1.contains("keys: since "));
        let (code, said) = gateway.http("/readyz");
        assert!(code == 200 && said.starts_with("ready\n") && said.contains("the 1 peers stay as they are"), "{said}");
        assert_eq!(send(&home, &to, b"x\n").code, 0);
        fs::rename(home.path(aside), home.path(from)).expect("moved back");
        until("it is right again", || gateway.http("/readyz").1 == "ready\n");
    }
    home.ok(&["peer", "remove", "roof"]);
    until("changes are followed", || status(&home)["peers_provisioned"] == 0);
}
