use super::{Parcel, Unusable, parcels, put};
use std::fs;

#[test]
fn parcels_come_back_in_order_also_when_some_are_taken() {
    let dir = tempfile::tempdir().expect("a directory");
    for n in 0..12u8 {
        put(dir.path(), 1, &[1, n]).expect("put");
    }
    let mut all = parcels(dir.path()).expect("listed");
    assert_eq!(all.iter().map(|p| p.number).collect::<Vec<_>>(), (0..12).collect::<Vec<_>>());
    all[0].mark(700).expect("marked");
    all[1].remove().expect("removed");
    fs::write(dir.path().join(".unfinished"), b"tally").expect("written");
    fs::write(dir.path().join("1.push"), b"not a name of ours").expect("written");
    put(dir.path(), 1, &[1, 12]).expect("put");
    let now = parcels(dir.path()).expect("listed");
    assert_eq!(now.first().map(|p| (p.number, p.taken_at)), Some((0, Some(700))));
    assert_eq!(now.iter().map(|p| p.number).collect::<Vec<_>>(), (0..13).filter(|n| *n != 1).collect::<Vec<_>>());
    assert_eq!(now[11].read().expect("whole"), (1, vec![1, 12]));
}

#[test]
fn every_changed_byte_and_every_cut_is_found() {
    let dir = tempfile::tempdir().expect("a directory");
    put(dir.path(), 2, b"\x01a\x02bc").expect("put");
    let parcel = parcels(dir.path()).expect("listed").remove(0);
    let whole = fs::read(parcel.path()).expect("read");
    assert_eq!((whole.len(), parcel.head().expect("whole").bytes), (37, 5));
    let is_damaged = |parcel: &Parcel| matches!(parcel.read(), Err(Unusable::Damaged));
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 4;
        fs::write(parcel.path(), &changed).expect("written");
        assert!(is_damaged(&parcel), "byte {at}");
        fs::write(parcel.path(), &whole[..at]).expect("written");
        assert!(is_damaged(&parcel), "cut at {at}");
    }
    let aside = parcel.set_aside().expect("renamed");
    assert!(aside.exists() && parcels(dir.path()).expect("listed").is_empty());
}
