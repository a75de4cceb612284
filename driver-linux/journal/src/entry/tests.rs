use super::{
    ChunkHead, Entry, Identity, LEAST_VOID, MAX_HEADER, PREFIX, next_candidate, parse, verify, write, write_void,
};
use crate::chunk::Position;
use crate::seal::Mask;
use crate::varint;

fn every_kind() -> Vec<(Entry, Vec<u8>)> {
    let chunk = ChunkHead {
        stream: 7,
        from: Position { number: 1000, offset: 0 },
        to: Position { number: 1003, offset: 0 },
        first_record: 0,
        records: 3,
        arrival_us: 1_700_000_000_000_000,
    };
    let inside = ChunkHead {
        from: Position { number: 4, offset: 900 },
        to: Position { number: 5, offset: 3 },
        first_record: 2,
        records: 1,
        ..chunk
    };
    let middle = ChunkHead {
        from: Position { number: 4, offset: 900 },
        to: Position { number: 4, offset: 905 },
        first_record: 5,
        records: 0,
        ..chunk
    };
    vec![
        (Entry::Group { proven: 4096 }, vec![]),
        (Entry::Define { stream: 7, base: 12, next: Position { number: 3, offset: 1 } }, vec![9; 20]),
        (Entry::Chunk(chunk), vec![0, 0, 0]),
        (Entry::Chunk(inside), vec![1, 2, 9, 9, 9]),
        (Entry::Chunk(middle), vec![1, 2, 9, 9, 9]),
        (Entry::Gap { stream: 7, next: 3, below: varint::MAX, reason: 2, arrival_us: 5 }, vec![]),
        (Entry::Freed { stream: 7, below: 3 }, vec![]),
        (Entry::Void, vec![0; 3]),
    ]
}

#[test]
fn every_kind_of_entry_survives_a_round_trip() {
    let mask = Mask::new(1, 2);
    for (entry, body) in every_kind() {
        let mut out = vec![0xff; 3];
        write(&entry, &[&body], mask, 77, &mut out);
        let bytes = &out[3..];
        let parsed = parse(bytes, mask, 77).expect("its own header");
        assert_eq!(parsed.entry, entry);
        assert_eq!((parsed.header_len + parsed.body_len, parsed.body_len), (bytes.len(), body.len()));
        assert!(parsed.header_len <= MAX_HEADER);
        assert!(verify(bytes, mask, 77));
    }
}

#[test]
fn an_entry_does_not_verify_at_another_place() {
    let mask = Mask::new(1, 2);
    for (entry, body) in every_kind() {
        let mut bytes = Vec::new();
        write(&entry, &[&body], mask, 77, &mut bytes);
        for (elsewhere, offset) in [(mask, 78), (Mask::new(1, 3), 77), (Mask::new(2, 2), 77)] {
            assert!(!verify(&bytes, elsewhere, offset));
            assert!(parse(&bytes, elsewhere, offset).is_none());
        }
    }
}

#[test]
fn no_flipped_bit_and_no_cut_goes_unnoticed() {
    let mask = Mask::new(1, 2);
    for (entry, body) in every_kind() {
        let mut bytes = Vec::new();
        write(&entry, &[&body], mask, 77, &mut bytes);
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let whole = parse(&bad, mask, 77).is_some_and(|p| p.header_len + p.body_len == bad.len());
            assert!(!(whole && verify(&bad, mask, 77)), "bit {bit} of {entry:?}");
        }
        for len in 0..bytes.len() {
            assert!(!verify(&bytes[..len], mask, 77));
        }
    }
}

#[test]
fn an_identity_needs_its_fixed_part_and_a_short_enough_name() {
    assert!(Identity::read(&[0; 15]).is_none());
    assert_eq!(Identity::read(&[0; 16]).map(|i| i.name.len()), Some(0));
    assert_eq!(Identity::read(&[0; 80]).map(|i| i.name.len()), Some(64));
    assert!(Identity::read(&[0; 81]).is_none());
}

#[test]
fn void_entries_fill_any_length_exactly() {
    let mask = Mask::new(1, 2);
    let lengths = (LEAST_VOID..200).chain(16_300..16_500).chain([65_535, 65_536, 65_550, 131_000, 3_000_000]);
    for len in lengths {
        let mut out = Vec::new();
        write_void(len, mask, 5000, &mut out);
        assert_eq!(out.len() as u64, len);
        let mut at = 0;
        while at < out.len() {
            let parsed = parse(&out[at..], mask, 5000 + at as u64).expect("a void entry");
            assert_eq!(parsed.entry, Entry::Void);
            let end = at + parsed.header_len + parsed.body_len;
            assert!(verify(&out[at..end], mask, 5000 + at as u64));
            at = end;
        }
    }
}

#[test]
fn a_search_steps_over_no_place_where_an_entry_could_begin() {
    let mut group = Vec::new();
    write(&Entry::Group { proven: 4096 }, &[], Mask::new(1, 1), 0, &mut group);
    for zeros in 1..40 {
        let bytes = [vec![0; zeros], group.clone()].concat();
        let mut at = 0;
        while at < zeros {
            at += next_candidate(&bytes[at..]);
        }
        assert_eq!(at, zeros, "{zeros} zeros before an entry");
    }
    assert_eq!(next_candidate(&[0]), 1);
    assert_eq!(next_candidate(&[0; 100]), 100 - PREFIX, "what lies behind could be an entry's kind");
}
