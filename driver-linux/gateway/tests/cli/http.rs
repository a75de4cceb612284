//! The endpoint for supervisors and Prometheus.

use std::collections::BTreeMap;
use std::net::TcpListener;

use crate::common::{Home, Ran};
use crate::gateway::{Gateway, add_peer, http, send, status};

#[test]
fn it_is_there_without_being_asked_for_under_the_number_of_the_udp_port() {
    let home = Home::new();
    let gateway = Gateway::on_loopback(&home);
    assert_eq!(gateway.http("/readyz"), (200, "ready\n".to_owned()));
    assert_eq!(gateway.http("/livez"), (200, "alive\n".to_owned()));
    let (code, said) = gateway.http("/");
    assert!(code == 404 && said.contains("/readyz"), "{said}");
}

#[test]
fn metrics_are_the_counters_of_status() {
    let home = Home::new();
    add_peer(&home, "roof");
    let gateway = Gateway::on_loopback(&home);
    assert_eq!(send(&home, &["--to", &gateway.address, "--key", "roof.key", "--stream", "s"], b"1\n2\n").code, 0);
    let (code, text) = gateway.http("/metrics");
    assert_eq!(code, 200);
    let (mut helped, mut values) = (0, BTreeMap::new());
    for line in text.lines() {
        if line.starts_with('#') {
            helped += usize::from(line.starts_with("# HELP tallylink_"));
            continue;
        }
        let (name, value) = line.rsplit_once(' ').expect("a value");
        let value: f64 = value.parse().expect("a number");
        assert!(values.insert(name.to_owned(), value).is_none(), "{name} twice");
    }
    assert!(helped > 40, "{text}");
    let told = status(&home);
    let counters = told["counters"].as_object().expect("counters");
    for (subject, counts) in counters {
        for name in counts.as_object().expect("counts").keys() {
            let metric = match subject.as_str() {
                "discarded" | "faults" | "refused" | "rollbacks" => {
                    format!("tallylink_{subject}_total{{reason=\"{name}\"}}")
                }
                _ => format!("tallylink_{subject}_{name}_total"),
            };
            assert!(values.contains_key(&metric), "{metric} is missing");
        }
    }
    assert_eq!(values["tallylink_journal_appended_records_total"], 2.0);
    assert_eq!(values["tallylink_peers_provisioned"], 1.0);
    assert!(values["tallylink_disk_free_bytes"] > 0.0);
}

#[test]
fn it_can_be_elsewhere_or_nowhere() {
    let home = Home::new();
    let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("an address").to_string();
    let gateway = Gateway::start(&home, &["--listen", "127.0.0.1:0", "--http", &free]);
    assert_eq!(http(&free, "/livez").0, 200);
    drop(gateway);
    home.file("tallylink.toml", &format!("http = \"{free}\"\n"));
    let gateway = Gateway::start(&home, &["--config", "tallylink.toml", "--listen", "127.0.0.1:0"]);
    assert_eq!(http(&free, "/livez").0, 200);
    drop(gateway);
    let _gateway = Gateway::start(&home, &["--config", "tallylink.toml", "--listen", "127.0.0.1:0", "--http", "off"]);
    let socket = TcpListener::bind(&free);
    assert!(socket.is_ok(), "nobody listens there");
}

#[test]
fn an_address_that_is_taken_ends_the_start_only_if_it_was_asked_for() {
    let home = Home::new();
    let first = Gateway::on_loopback(&home);
    let ran =
        Ran::of(&mut home.command(&["serve", "--data", "b", "--listen", "127.0.0.1:0", "--http", &first.address]));
    assert_eq!(ran.code, 15, "{}", ran.err);
    assert!(ran.err.contains(&first.address) && ran.err.contains("--http"), "{}", ran.err);
    let ran = Ran::of(&mut home.command(&["serve", "--http", "everywhere"]));
    assert!(ran.code == 2 && ran.err.contains("\"off\""), "{}", ran.err);
}
