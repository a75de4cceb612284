//! Damage costs the peer of its line and no other.

use super::*;

#[test]
fn a_damaged_line_is_named_and_the_others_work() {
    let fixture = Fixture::with_peers(&["a", "b", "c"]);
    let line = fixture.text().lines().nth(1).unwrap().len();
    // Every single-bit fault of the middle line, one after the other.
    let begin = fixture.text().find('\n').unwrap() + 1;
    for bit in 0..line * 8 {
        fixture.tamper(|bytes| bytes[begin + bit / 8] ^= 1 << (bit % 8));
        let contents = fixture.store.read().unwrap();
        let found = |text: &str| contents.peers.find(text).is_some();
        assert!(found("a") && found("c"), "bit {bit}");
        // A fault that makes a line end or a comment of a byte is seen too, as a line too many or a peer too few.
        assert!(!found("b"), "bit {bit}");
        let named = contents.damaged.first().map(|bad| bad.line);
        assert!(named == Some(2) || (bit < 8 && named.is_none()), "bit {bit}: {named:?}");
        fixture.tamper(|bytes| bytes[begin + bit / 8] ^= 1 << (bit % 8));
    }
    assert_eq!(fixture.names(), ["a", "b", "c"]);
}

#[test]
fn the_next_change_sets_damaged_lines_aside_and_keeps_them() {
    let fixture = Fixture::with_peers(&["a", "b", "c"]);
    let second = fixture.text().lines().nth(1).unwrap().replacen('b', "?", 1);
    let begin = fixture.text().find('\n').unwrap() + 1;
    fixture.tamper(|bytes| bytes[begin..begin + second.len()].copy_from_slice(second.as_bytes()));

    let editor = fixture.store.edit().unwrap();
    assert_eq!(editor.damaged().len(), 1);
    editor.add(&[new_peer("d")], 0).unwrap();
    assert_eq!(fs::read_to_string(fixture.damage_file()).unwrap(), format!("{second}\n"));
    let contents = fixture.store.read().unwrap();
    assert_eq!((contents.peers.len(), contents.damaged.len()), (3, 0));
}

#[test]
fn an_unfinished_last_line_is_not_read_and_the_next_change_cuts_it_off() {
    let fixture = Fixture::with_peers(&["a", "b"]);
    for kept in [1, 20, 60] {
        fixture.add(&["torn"]);
        let whole = fixture.text();
        let begin = whole[..whole.len() - 1].rfind('\n').unwrap() + 1;
        fixture.tamper(|bytes| bytes.truncate(begin + kept));
        let contents = fixture.store.read().unwrap();
        assert_eq!((contents.peers.len(), contents.damaged.len()), (2, 0), "{kept}");
    }
    fixture.add(&["after"]);
    assert_eq!(fixture.names(), ["a", "after", "b"]);
}

#[test]
fn a_damaged_removal_does_not_bring_the_key_back() {
    let fixture = Fixture::with_peers(&["a", "b"]);
    fixture.store.edit().unwrap().remove("a", None).unwrap();
    fixture.tamper(|bytes| {
        let end = bytes.len();
        bytes[end - 20] ^= 0x40;
    });
    let contents = fixture.store.read().unwrap();
    assert_eq!((contents.peers.len(), contents.damaged.len()), (1, 1));
}

#[test]
fn rubbish_without_line_ends_is_read_in_bounded_memory_and_kept_aside_whole() {
    let fixture = Fixture::with_peers(&["a"]);
    let good = fixture.text();
    let rubbish = vec![0_u8; 300_000];
    fixture.tamper(|bytes| {
        bytes.splice(0..0, rubbish.iter().copied().chain([b'\n']));
    });
    let contents = fixture.store.read().unwrap();
    assert_eq!(contents.damaged.iter().map(|bad| bad.line).collect::<Vec<_>>(), [1]);
    assert_eq!(fixture.names(), ["a"]);

    fixture.store.edit().unwrap().add(&[new_peer("b")], 0).unwrap();
    assert_eq!(fs::read(fixture.damage_file()).unwrap(), [&rubbish[..], b"\n"].concat());
    assert!(fixture.text().contains(&good));
    assert_eq!(fixture.names(), ["a", "b"]);
}

#[test]
fn a_line_of_another_version_is_told_from_damage() {
    let fixture = Fixture::with_peers(&["a"]);
    fixture.tamper(|bytes| {
        let body = b"key2 something new";
        bytes.extend_from_slice(body);
        bytes.extend_from_slice(format!(" {:08x}\n", crc_fast::crc32_iscsi(body)).as_bytes());
    });
    assert_eq!(fixture.store.read().unwrap().damaged[0].reason, BadLine::Foreign);
}
