//! Taking input apart into records.

use std::io::{self, Read};

use super::{Fault, Limit, Source, behind};

/// Gives so many bytes a read, as a pipe may.
struct Trickle(Vec<u8>, usize);

impl Read for Trickle {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.0.len().min(self.1).min(into.len());
        into[..n].copy_from_slice(&self.0[..n]);
        self.0.drain(..n);
        Ok(n)
    }
}

fn lines(input: &[u8], a_read: usize, limit: u32) -> Source {
    Source::lines(Box::new(Trickle(input.to_vec(), a_read)), Limit::Gateway(limit))
}

fn frames(input: &[u8], a_read: usize, limit: u32) -> Source {
    Source::frames(Box::new(Trickle(input.to_vec(), a_read)), Limit::Gateway(limit))
}

/// Every record, and how it ended.
fn all(mut source: Source) -> (Vec<Vec<u8>>, Option<String>) {
    let mut records = Vec::new();
    loop {
        match source.next() {
            Ok([]) => return (records, None),
            Err(fault) => return (records, Some(fault.to_string())),
            Ok(mut packed) => {
                while let Ok((len, size)) = tallylink_core::wire::varint::decode(packed) {
                    let (record, rest) = packed[size..].split_at(len as usize);
                    records.push(record.to_vec());
                    packed = rest;
                }
                assert!(packed.is_empty());
            }
        }
    }
}

fn owned(records: &[&[u8]]) -> Vec<Vec<u8>> {
    records.iter().map(|record| record.to_vec()).collect()
}

#[test]
fn a_line_keeps_its_newline_and_the_last_may_have_none() {
    for a_read in [1, 2, 5, 1000] {
        let expected = owned(&[b"one\n", b"\n", b"\xff\0\n", b"last"]);
        assert_eq!(all(lines(b"one\n\n\xff\0\nlast", a_read, 10)), (expected, None));
    }
    assert_eq!(all(lines(b"", 1, 10)), (Vec::new(), None));
}

#[test]
fn lines_longer_than_what_is_read_at_once_are_whole() {
    let long = [vec![b'a'; 600_000], b"\n".to_vec()].concat();
    let input = [&long[..], b"short\n", &long].concat();
    let expected = owned(&[&long, b"short\n", &long]);
    assert_eq!(all(lines(&input, 65_536, 600_001)), (expected, None));
}

#[test]
fn a_line_above_the_limit_ends_it_and_what_came_before_is_there() {
    for (input, a_read) in [(&b"a\nb\n12345\nc\n"[..], 100), (b"a\nb\n12345", 1)] {
        let (records, fault) = all(lines(input, a_read, 4));
        assert_eq!(records, owned(&[b"a\n", b"b\n"]));
        assert!(fault.expect("a fault").starts_with("record 3 of the input has more than 4 bytes"));
    }
    assert_eq!(all(lines(b"123\n", 1, 4)).1, None);
}

#[test]
fn frames_may_be_empty_and_hold_anything() {
    let input = b"\0\0\0\x03a\nb\0\0\0\0\0\0\0\x01\xff";
    for a_read in [1, 3, 100] {
        assert_eq!(all(frames(input, a_read, 3)), (owned(&[b"a\nb", b"", b"\xff"]), None));
    }
}

#[test]
fn a_frame_above_the_limit_or_cut_short_is_named() {
    let (records, fault) = all(frames(b"\0\0\0\x01a\0\0\0\x04abcd", 100, 3));
    assert_eq!(records, owned(&[b"a"]));
    assert!(fault.expect("a fault").starts_with("record 2 of the input has more than 3 bytes"));
    for cut in [&b"\0\0\0\x01a\0\0"[..], b"\0\0\0\x01a\0\0\0\x02b"] {
        let (records, fault) = all(frames(cut, 100, 3));
        assert_eq!(records, owned(&[b"a"]));
        assert!(fault.expect("a fault").starts_with("the input ends within record 2"));
    }
}

#[test]
fn files_are_records_and_one_that_is_gone_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let (one, empty) = (dir.path().join("one"), dir.path().join("empty"));
    std::fs::write(&one, b"\0one\n").expect("a file");
    std::fs::write(&empty, b"").expect("a file");
    let missing = dir.path().join("missing");
    let (records, fault) = all(Source::files(vec![one.clone(), empty, missing], Limit::Gateway(5)));
    assert_eq!(records, owned(&[b"\0one\n", b""]));
    assert!(fault.expect("a fault").contains("missing cannot be read"));
    let mut large = Source::files(vec![one], Limit::Outbox(4));
    assert!(matches!(large.next(), Err(Fault::Large { .. })));
}

#[test]
fn records_are_left_out_across_runs_and_no_more_than_there_are() {
    let mut left = 3;
    assert_eq!(behind(b"\x01a\x00", &mut left), b"");
    assert_eq!((behind(b"\x01b\x02cd", &mut left), left), (&b"\x02cd"[..], 0));
    assert_eq!(behind(b"\x00", &mut left), b"\x00");
}
