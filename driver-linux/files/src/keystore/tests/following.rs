//! A follower knows at every moment what a fresh reader would.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::*;

/// What a gateway would have learnt from a follower.
#[derive(Default)]
struct Learnt {
    keys: BTreeSet<(String, KeyId, String)>,
    changes: usize,
    damaged: usize,
    forgotten: usize,
}

impl Learnt {
    fn catch_up(&mut self, follower: &mut Follower) {
        follower.catch_up(&mut |change| self.take(change)).unwrap();
    }

    fn take(&mut self, change: Change) {
        self.changes += 1;
        match change {
            Change::Key(entry) => {
                let digits = digits(&entry);
                self.keys.insert((entry.peer.to_string(), entry.key_id, digits));
            }
            Change::Gone { peer, key_id } => {
                self.keys.retain(|(id, key, _)| (id.as_str(), *key) != (peer.to_string().as_str(), key_id));
            }
            Change::Damaged(_) => self.damaged += 1,
            Change::Forgotten => {
                self.keys.clear();
                self.forgotten += 1;
            }
        }
    }
}

fn present(store: &KeyStore) -> BTreeSet<(String, KeyId, String)> {
    let peers = store.read().unwrap().peers;
    let entries = peers.iter().flat_map(Peer::entries);
    entries.map(|entry| (entry.peer.to_string(), entry.key_id, digits(&entry))).collect()
}

/// Whether the follower asks to be called.
fn awake(follower: &Follower) -> bool {
    let mut fds = [PollFd::new(follower, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() == 1
}

#[test]
fn each_change_wakes_the_follower_and_only_news_are_told() {
    let fixture = Fixture::with_peers(&["a", "b", "c"]);
    let mut follower = fixture.store.follow().unwrap();
    let mut learnt = Learnt::default();
    learnt.catch_up(&mut follower);
    assert_eq!(learnt.changes, 3);
    assert!(!awake(&follower));

    type Step = fn(Editor);
    let steps: [(Step, usize); 4] = [
        (|e| drop(e.add(&[new_peer("d")], 0).unwrap()), 1),
        (|e| drop(e.remove("a", None).unwrap()), 1),
        (|e| drop(e.rotate("b", 0).unwrap()), 1),
        (|e| drop(e.rotate("b", 0).unwrap()), 2),
    ];
    for (step, news) in steps {
        let before = learnt.changes;
        step(fixture.store.edit().unwrap());
        assert!(awake(&follower));
        learnt.catch_up(&mut follower);
        assert_eq!(learnt.changes - before, news);
        assert_eq!(learnt.keys, present(&fixture.store));
        assert!(!awake(&follower));
    }
}

#[test]
fn a_follower_may_come_before_the_store() {
    let fixture = Fixture::new();
    let mut follower = fixture.store.follow().unwrap();
    let mut learnt = Learnt::default();
    learnt.catch_up(&mut follower);
    assert_eq!(learnt.changes, 0);
    fixture.add(&["a"]);
    assert!(awake(&follower));
    learnt.catch_up(&mut follower);
    assert_eq!(learnt.keys, present(&fixture.store));
}

#[test]
fn a_new_file_in_the_old_ones_place_is_told_by_its_differences() {
    let fixture = Fixture::with_peers(&["a", "b"]);
    let mut follower = fixture.store.follow().unwrap();
    let mut learnt = Learnt::default();
    learnt.catch_up(&mut follower);

    // Unread news in the old file, then so many peers that a new file is written.
    fixture.store.edit().unwrap().remove("a", None).unwrap();
    fixture.store.edit().unwrap().rotate("b", 0).unwrap();
    let many: Vec<_> = (0..2000).map(|n| new_peer(&format!("n{n}"))).collect();
    fixture.store.edit().unwrap().add(&many, 0).unwrap();
    let before = learnt.changes;
    learnt.catch_up(&mut follower);
    assert_eq!(learnt.changes - before, 2 + many.len());
    assert_eq!(learnt.keys, present(&fixture.store));

    // A backup moved into place.
    let backup = fixture.store.dir.join("backup");
    fs::copy(fixture.store.file(), &backup).unwrap();
    fixture.store.edit().unwrap().remove("b", None).unwrap();
    fixture.add(&["c"]);
    learnt.catch_up(&mut follower);
    fs::rename(&backup, fixture.store.file()).unwrap();
    assert!(awake(&follower));
    learnt.catch_up(&mut follower);
    assert_eq!(learnt.keys, present(&fixture.store));
    assert_eq!(learnt.forgotten, 0);
}

#[test]
fn a_file_overwritten_in_place_is_told_anew() {
    let fixture = Fixture::with_peers(&["a", "b"]);
    let mut follower = fixture.store.follow().unwrap();
    let mut learnt = Learnt::default();
    learnt.catch_up(&mut follower);
    fixture.tamper(|bytes| {
        let first_line = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        bytes.truncate(first_line);
    });
    learnt.catch_up(&mut follower);
    assert_eq!((learnt.keys.len(), learnt.forgotten), (1, 1));
    assert_eq!(learnt.keys, present(&fixture.store));
}

#[test]
fn a_damaged_line_is_told_and_the_rest_goes_on() {
    let fixture = Fixture::with_peers(&["a"]);
    let mut follower = fixture.store.follow().unwrap();
    let mut learnt = Learnt::default();
    learnt.catch_up(&mut follower);
    fixture.tamper(|bytes| bytes.extend_from_slice(b"key nonsense\n"));
    fixture.add(&["b"]);
    learnt.catch_up(&mut follower);
    // The change above set the damage aside before the follower looked.
    assert_eq!((learnt.keys.len(), learnt.damaged), (2, 0));
    fixture.tamper(|bytes| bytes.extend_from_slice(b"key nonsense\n"));
    learnt.catch_up(&mut follower);
    assert_eq!((learnt.keys.len(), learnt.damaged), (2, 1));
}

#[test]
fn a_store_opened_to_others_is_refused_until_its_rights_are_mended() {
    let fixture = Fixture::with_peers(&["a"]);
    let mut follower = fixture.store.follow().unwrap();
    let mut learnt = Learnt::default();
    learnt.catch_up(&mut follower);
    fixture.add(&["b"]);
    let chmod = |mode| fs::set_permissions(fixture.store.file(), fs::Permissions::from_mode(mode)).unwrap();
    chmod(0o644);
    assert!(matches!(follower.catch_up(&mut |_| panic!("told")), Err(StoreError::File(_))));
    chmod(0o600);
    assert!(awake(&follower));
    learnt.catch_up(&mut follower);
    assert_eq!(learnt.keys, present(&fixture.store));
}

#[test]
fn a_removed_and_remade_directory_is_followed_on() {
    let fixture = Fixture::with_peers(&["a"]);
    let mut follower = fixture.store.follow().unwrap();
    let mut learnt = Learnt::default();
    learnt.catch_up(&mut follower);
    fs::remove_file(fixture.store.file()).unwrap();
    assert!(awake(&follower));
    learnt.catch_up(&mut follower);
    assert_eq!(learnt.keys.len(), 1, "a missing file revokes nothing");
    fs::remove_dir_all(&fixture.store.dir).unwrap();
    assert!(awake(&follower));
    learnt.catch_up(&mut follower);
    fixture.add(&["b"]);
    assert!(awake(&follower));
    learnt.catch_up(&mut follower);
    assert_eq!(learnt.keys, present(&fixture.store));
}
