//! A million peers from a list, followed by a reader that was there before.

use std::fmt::Write;

use crate::common::Home;
use tallylink_gateway::keystore::{Change, KeyStore};

#[test]
fn a_million_peers_are_added_followed_and_changed_one_by_one() {
    const PEERS: usize = 1_000_000;
    let home = Home::new();
    let mut list = String::new();
    (0..PEERS).for_each(|n| writeln!(list, "sensor-{n} 70b3d5fffe{n:06x}").unwrap());
    home.file("list", &list);

    let store = KeyStore::in_data_dir(&home.path("data"));
    let mut follower = store.follow().unwrap();
    let mut news = || {
        let (mut keys, mut gone) = (0, 0);
        let mut count = |change| match change {
            Change::Key(_) => keys += 1,
            Change::Gone { .. } => gone += 1,
            other => panic!("{other:?}"),
        };
        follower.catch_up(&mut count).unwrap();
        (keys, gone)
    };
    assert_eq!(news(), (0, 0));
    home.ok(&["peer", "add", "--from", "list", "--json", "--out", "keys.jsonl"]);
    assert_eq!(news(), (PEERS, 0));
    home.ok(&["peer", "add", "one-more"]);
    home.ok(&["peer", "remove", "sensor-500000"]);
    assert_eq!(news(), (1, 1));
    assert_eq!(store.read().unwrap().peers.len(), PEERS);
}
