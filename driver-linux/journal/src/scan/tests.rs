use super::{Scanner, Step};
use crate::entry::{self, Entry};
use crate::seal::Mask;
use crate::store::{Store, StoreFile};
use crate::testing::{MemFile, MemStore};

/// A file of freed marks with bodies of these lengths, which the scanner does not mind, and where each begins.
fn file(lens: &[usize], mask: Mask) -> (MemFile, Vec<u64>, u64) {
    let mut bytes = Vec::new();
    let mut starts = Vec::new();
    for (n, &len) in lens.iter().enumerate() {
        starts.push(bytes.len() as u64);
        let entry = Entry::Freed { stream: 0, below: n as u64 };
        entry::write(&entry, &[&vec![n as u8; len]], mask, bytes.len() as u64, &mut bytes);
    }
    let mut file = MemStore::new(0).create("x").unwrap();
    file.write_at(&bytes, 0).unwrap();
    (file, starts, bytes.len() as u64)
}

#[test]
fn entries_larger_than_what_is_read_at_once_are_found_whole() {
    let mask = Mask::new(1, 1);
    let lens = [3, 1 << 20, 0, (1 << 20) - 1, 700_000, 700_000];
    let (file, starts, end) = file(&lens, mask);
    let mut scanner = Scanner::new(file, mask, 0, end);
    for (n, (&at, &len)) in starts.iter().zip(&lens).enumerate() {
        let entry = Entry::Freed { stream: 0, below: n as u64 };
        assert_eq!(scanner.next().unwrap(), Step::Entry { at, entry });
        assert_eq!(scanner.body().len(), len);
        assert!(scanner.body().iter().all(|&byte| byte == n as u8));
    }
    assert_eq!(scanner.next().unwrap(), Step::End);
}

#[test]
fn behind_damage_the_next_whole_entry_is_found() {
    let mask = Mask::new(1, 1);
    let (mut file, starts, end) = file(&[10, 20, 30], mask);
    file.write_at(&[0xff], starts[1] + 8).unwrap();
    let mut scanner = Scanner::new(file, mask, 0, end);
    scanner.next().unwrap();
    assert_eq!(scanner.next().unwrap(), Step::Bad { at: starts[1] });
    assert_eq!(scanner.resync().unwrap(), starts[1]..starts[2]);
    assert!(matches!(scanner.next().unwrap(), Step::Entry { .. }));
    assert_eq!(scanner.next().unwrap(), Step::End);
}

#[test]
fn nothing_reaches_beyond_the_limit_and_the_limit_can_move() {
    let mask = Mask::new(1, 1);
    let (mut file, starts, end) = file(&[10, 20], mask);
    let mut second = vec![0; (end - starts[1]) as usize];
    file.read_at(&mut second, starts[1]).unwrap();
    file.write_at(&vec![0; second.len()], starts[1]).unwrap();
    let mut scanner = Scanner::new(file, mask, 0, starts[1]);
    scanner.next().unwrap();
    assert_eq!(scanner.next().unwrap(), Step::End);
    // Written and synced only now: the window must not have kept the zeros.
    let Scanner { file, .. } = &mut scanner;
    file.write_at(&second, starts[1]).unwrap();
    scanner.extend(end);
    assert!(matches!(scanner.next().unwrap(), Step::Entry { .. }));
}
