//! Adding, removing and rotating.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::private_file::PrivateFileError;

#[test]
fn a_store_that_was_never_written_is_empty() {
    let fixture = Fixture::new();
    assert!(fixture.store.read().unwrap().peers.is_empty());
    assert!(!fixture.store.dir.exists());
}

#[test]
fn what_was_added_is_read_back() {
    let fixture = Fixture::new();
    let id = "70b3d5fffe000001".parse().unwrap();
    let new = [NewPeer { name: name("roof"), id: Some(id) }, new_peer("cellar")];
    let added = fixture.store.edit().unwrap().add(&new, 1_700_000_000).unwrap();

    let peers = fixture.store.read().unwrap().peers;
    assert_eq!(peers.len(), 2);
    assert_eq!(peers.by_id(id).unwrap().entries().collect::<Vec<_>>(), added[..1]);
    assert_eq!(peers.find("cellar").unwrap().entries().collect::<Vec<_>>(), added[1..]);
    assert_eq!(peers.find("70:b3:d5:ff:fe:00:00:01").unwrap().name, name("roof"));
    assert_ne!(added[0].secret, added[1].secret);
}

#[test]
fn names_and_ids_are_given_once() {
    let fixture = Fixture::with_peers(&["roof"]);
    let taken = fixture.store.read().unwrap().peers.find("roof").unwrap().id;
    let add = |new: &[NewPeer]| fixture.store.edit().unwrap().add(new, 0).unwrap_err();

    assert!(matches!(add(&[new_peer("roof")]), StoreError::NameTaken(_)));
    assert!(matches!(add(&[new_peer("a"), new_peer("a")]), StoreError::NameTaken(_)));
    let stolen = NewPeer { name: name("thief"), id: Some(taken) };
    assert!(matches!(add(&[new_peer("b"), stolen]), StoreError::IdTaken { id, .. } if id == taken));
    assert_eq!(fixture.names(), ["roof"], "a refused list adds nobody");
}

#[test]
fn a_removed_peers_key_is_nowhere_in_the_file() {
    let fixture = Fixture::new();
    let added = fixture.add(&["roof", "cellar"]);
    fixture.store.edit().unwrap().remove("roof", None).unwrap();
    assert_eq!(fixture.names(), ["cellar"]);
    assert!(!fixture.text().contains(&digits(&added[0])));
    assert!(fixture.text().contains(&digits(&added[1])));
    assert!(matches!(fixture.store.edit().unwrap().remove("roof", None), Err(StoreError::UnknownPeer(_))));
    fixture.add(&["roof"]);
    assert_eq!(fixture.names(), ["cellar", "roof"]);
}

#[test]
fn rotation_keeps_the_key_before_and_drops_older_ones() {
    let fixture = Fixture::new();
    let first = fixture.add(&["roof"]).remove(0);
    let keys =
        || fixture.store.read().unwrap().peers.find("roof").unwrap().keys().map(|(id, _)| id).collect::<Vec<_>>();
    for (round, expected) in [(1, [0, 1]), (2, [1, 2]), (3, [2, 3])] {
        let entry = fixture.store.edit().unwrap().rotate("roof", 9).unwrap();
        assert_eq!((entry.key_id, entry.peer), (round, first.peer));
        assert_eq!(keys(), expected);
    }
    assert!(!fixture.text().contains(&digits(&first)));
    fixture.store.edit().unwrap().remove("roof", Some(2)).unwrap();
    assert_eq!(keys(), [3]);
    assert!(matches!(
        fixture.store.edit().unwrap().remove("roof", Some(2)),
        Err(StoreError::UnknownKey { key: 2, .. })
    ));
}

#[test]
fn many_rotations_wrap_the_key_id_and_do_not_grow_the_file_without_bound() {
    let fixture = Fixture::with_peers(&["roof"]);
    let mut largest = 0;
    for round in 1..=700_u32 {
        let entry = fixture.store.edit().unwrap().rotate("roof", 0).unwrap();
        assert_eq!(u32::from(entry.key_id), round % 256);
        largest = largest.max(fs::metadata(fixture.store.file()).unwrap().len());
    }
    assert!((60 << 10..70 << 10).contains(&largest), "{largest} bytes");
    assert_eq!(fixture.store.read().unwrap().peers.find("roof").unwrap().keys().count(), 2);
}

#[test]
fn a_store_that_others_may_read_is_refused_for_reading_and_for_writing() {
    let fixture = Fixture::with_peers(&["roof"]);
    for mode in [0o640, 0o604, 0o660, 0o601] {
        fs::set_permissions(fixture.store.file(), fs::Permissions::from_mode(mode)).unwrap();
        let refused =
            |error| matches!(error, StoreError::File(PrivateFileError::Mode { mode: found, .. }) if found == mode);
        assert!(refused(fixture.store.read().unwrap_err()));
        assert!(refused(fixture.store.edit().unwrap_err()));
    }
    fs::set_permissions(fixture.store.file(), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(fixture.names(), ["roof"]);
}

#[test]
fn everything_made_is_for_its_owner_only() {
    let fixture = Fixture::with_peers(&["roof"]);
    let many: Vec<_> = (0..1000).map(|n| new_peer(&format!("n{n}"))).collect();
    fixture.store.edit().unwrap().add(&many, 0).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&fixture.store.dir), 0o700);
    let mut seen = 0;
    for file in fs::read_dir(&fixture.store.dir).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
        seen += 1;
    }
    assert_eq!(seen, 2, "peers and lock");
}

#[test]
fn secrets_have_no_debug_form() {
    let fixture = Fixture::new();
    let entry = fixture.add(&["roof"]).remove(0);
    let shown = format!("{entry:?} {:?} {:?}", fixture.store.read().unwrap(), Change::Key(entry.clone()));
    assert!(shown.contains("hidden") && !shown.contains(&digits(&entry)));
    assert!(!shown.contains(&format!("{:?}", entry.secret.expose())));
}
