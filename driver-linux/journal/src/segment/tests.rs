use super::{Before, COPY_AT, Found, HEADER_LEN, Header, id_of, name};
use crate::seal::crc32c;
use crate::store::{Store, StoreFile};
use crate::testing::MemStore;

const HEADER: Header = Header { journal: 1, segment: 2, before: Before { segment: 1, counted: 5000 }, created_us: 9 };

fn read(block: &[u8], segment: u64) -> Found {
    let store = MemStore::new(0);
    let mut file = store.create("x").unwrap();
    file.write_at(block, 0).unwrap();
    Header::read(&file, segment).unwrap()
}

#[test]
fn one_good_copy_of_the_header_is_enough() {
    let block = HEADER.to_block();
    for damaged in [0..HEADER_LEN, COPY_AT..COPY_AT + HEADER_LEN] {
        let mut bad = block.clone();
        bad[damaged].fill(0);
        assert_eq!(read(&bad, 2), Found::Header(HEADER));
        bad.fill(0);
        assert_eq!(read(&bad, 2), Found::Damaged);
    }
}

#[test]
fn a_renamed_segment_is_not_taken_for_another() {
    assert_eq!(read(&HEADER.to_block(), 3), Found::Damaged);
}

#[test]
fn a_later_version_is_told_apart_from_damage() {
    let mut block = HEADER.to_block();
    block[8] = 2;
    let crc = crc32c(&block[..HEADER_LEN - 4]);
    block[HEADER_LEN - 4..HEADER_LEN].copy_from_slice(&crc.to_le_bytes());
    assert_eq!(read(&block, 2), Found::Version(2));
}

#[test]
fn only_our_own_file_names_are_segments() {
    assert_eq!(id_of(&name(0x1f)), Some(0x1f));
    assert_eq!(name(0x1f), "000000000000001f.segment");
    for other in ["1f.segment", "000000000000001F.segment", "+00000000000001f.segment", "lock"] {
        assert_eq!(id_of(other), None);
    }
}
