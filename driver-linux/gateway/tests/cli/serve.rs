//! Starting, asking and stopping a gateway, and what cannot be started.

use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;

use crate::common::{Home, Ran};
use crate::gateway::{Gateway, add_peer, count, send, status};

#[test]
fn a_gateway_tells_how_it_is_and_stops_cleanly() {
    let home = Home::new();
    let sentence = home.refused(&["status"], 1);
    assert!(sentence.contains("no gateway runs with") && sentence.contains("tallylink serve"), "{sentence}");
    add_peer(&home, "roof");
    let gateway = Gateway::on_loopback(&home);
    assert_eq!(send(&home, &["--to", &gateway.address, "--key", "roof.key", "--stream", "s"], b"1\n2\n").code, 0);

    let told = status(&home);
    assert_eq!(count(&told, "journal", "appended_records"), 2);
    assert_eq!(count(&told, "protocol", "sessions"), 1);
    assert_eq!((told["peers"][0]["name"].as_str(), told["peers"].as_array().map(Vec::len)), (Some("roof"), Some(1)));
    assert_eq!(told["peers"][0]["unstored_records"], 0);
    assert_eq!(told["sockets"][0]["listen"].as_str(), Some(&*gateway.address));
    assert!(told["sockets"][0]["receive_buffer"].as_u64() > Some(0));
    assert!(told["disk"]["free_bytes"].as_u64() > Some(0) && told["disk"]["works"] == true);
    let text = home.ok(&["status"]);
    assert!(text.contains("  roof  127.0.0.1:") && text.contains("2  appended_records"), "{text}");

    assert_eq!(gateway.stop(), 0);
    home.refused(&["status"], 1);
    assert!(!home.path("data/status.sock").exists());
}

#[test]
fn the_data_is_its_owners_only() {
    let home = Home::new();
    drop(Gateway::on_loopback(&home));
    let mode = |name: &str| fs::metadata(home.path(name)).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode("data"), mode("data/keys"), mode("data/status.sock")), (0o700, 0o700, 0o600));
}

#[test]
fn one_gateway_a_data_directory_and_one_an_address() {
    let home = Home::new();
    let gateway = Gateway::on_loopback(&home);
    let sentence = home.refused(&["serve", "--listen", "127.0.0.1:0"], 14);
    assert!(sentence.contains("held by another process"), "{sentence}");
    let ran = Ran::of(&mut home.command(&["serve", "--data", "other", "--listen", &gateway.address]));
    assert_eq!(ran.code, 15);
    assert!(ran.err.contains(&format!("cannot listen on {}", gateway.address)), "{}", ran.err);
    assert!(ran.err.contains("--listen"), "{}", ran.err);
}

#[test]
fn addresses_of_other_machines_are_refused() {
    let home = Home::new();
    let ran = Ran::of(&mut home.command(&["serve", "--listen", "192.0.2.1:7433"]));
    assert_eq!(ran.code, 6, "{}", ran.err);
    assert_eq!(Ran::of(&mut home.command(&["serve", "--listen", "here"])).code, 2);
}

#[test]
fn a_sender_is_told_what_is_wrong_before_it_reads_anything() {
    let home = Home::new();
    add_peer(&home, "roof");
    let to = ["--to", "127.0.0.1:9", "--key", "roof.key", "--stream"];
    let refused = |args: &[&str], code: i32, part: &str| {
        let ran = send(&home, args, b"never read\n");
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(part) && ran.err.lines().count() == 1, "{args:?}: {}", ran.err);
    };
    refused(&["--to", "127.0.0.1", "--key", "roof.key", "--stream", "s"], 6, "the port is missing");
    refused(&["--key", "roof.key", "--stream", "s"], 2, "give --to HOST:PORT");
    refused(&["--to", "127.0.0.1:9", "--key", "no.key", "--stream", "s"], 10, "no.key");
    refused(&[&to[..], &[""]].concat(), 2, "1 to 64 bytes");
    refused(&[&to[..], &[&"n".repeat(65)]].concat(), 2, "1 to 64 bytes");
    refused(&[&to[..], &["s", "no-such-file"]].concat(), 1, "no-such-file");
    refused(&[&to[..], &["s", "."]].concat(), 1, "directory");
    fs::set_permissions(home.path("roof.key"), fs::Permissions::from_mode(0o644)).expect("changed");
    refused(&[&to[..], &["s"]].concat(), 5, "chmod 600");
}

#[test]
fn a_sender_gives_up_when_it_was_told_to() {
    let home = Home::new();
    add_peer(&home, "roof");
    // Somebody who never answers.
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = silent.local_addr().expect("its address").to_string();
    let ran = send(&home, &["--to", &to, "--key", "roof.key", "--stream", "s", "--timeout", "200ms"], b"lost?\n");
    assert_eq!(ran.code, 12);
    assert!(ran.err.contains("the time is over") && ran.err.contains(&to), "{}", ran.err);
}
