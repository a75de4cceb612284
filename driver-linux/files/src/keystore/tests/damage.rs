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

/// There is no byte in it to be set aside by: it would be reported after every change.
#[test]
fn an_empty_line_is_no_damage() {
    let fixture = Fixture::with_peers(&["a", "b"]);
    let begin = fixture.text().find('\n').unwrap();
    fixture.tamper(|bytes| bytes.insert(begin, b'\n'));
    assert!(fixture.store.read().unwrap().is_whole());
    fixture.store.edit().unwrap().add(&[new_peer("c")], 0).unwrap();
    assert_eq!(fixture.names(), ["a", "b", "c"]);
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

/// The names that are left, and what is told to be damaged.
fn look(fixture: &Fixture) -> (Vec<String>, Contents) {
    let contents = fixture.store.read().unwrap();
    let mut names: Vec<_> = contents.peers.iter().map(|peer| peer.name.to_string()).collect();
    names.sort();
    (names, contents)
}

/// Where each line of a file begins and ends, its end included, and whose it is.
fn lines(fixture: &Fixture) -> Vec<(std::ops::Range<usize>, Option<String>)> {
    let mut at = 0;
    let text = fixture.text();
    let line = |line: &str| {
        let range = at..at + line.len() + 1;
        at = range.end;
        (range, line.starts_with("key").then(|| line.split(' ').nth(5).unwrap().to_owned()))
    };
    text.lines().map(line).collect()
}

#[test]
fn a_thousand_flipped_bits_cost_one_peer_each_at_most_and_are_all_reported() {
    const SEED: u64 = 21;
    let fixture = Fixture::with_peers(&["a", "Jim", "bJ", "longer-name", "c", "d", "e", "f"]);
    fixture.store.edit().unwrap().remove("c", None).unwrap();
    fixture.add(&["after", "last"]);
    let (whole, lines) = (fixture.names(), lines(&fixture));
    let good = fixture.text().into_bytes();
    let mut chance = tallylink_journal::testing::Chance::new(SEED);
    for round in 0..1000 {
        let bit = chance.below(good.len() as u64 * 8) as usize;
        let (range, owner) = lines.iter().find(|(range, _)| range.contains(&(bit / 8))).unwrap();
        let is_end = bit / 8 == range.end - 1;
        fixture.tamper(|bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        let what = format!("seed {SEED} round {round} bit {bit}");
        let (names, contents) = look(&fixture);
        let lost: Vec<_> = whole.iter().filter(|name| !names.contains(name)).collect();
        match owner {
            Some(owner) if !is_end => assert_eq!(lost, [owner], "{what}"),
            _ => assert!(lost.is_empty(), "{what}: {lost:?}"),
        }
        // What a comment says counts for nothing, and so does what becomes of it.
        let in_comment = !is_end && good[range.start] == b'#' && bit / 8 > range.start;
        assert!(!contents.is_whole() || in_comment, "{what}: unreported");

        // The next change sets it aside; nobody else is touched.
        drop(fixture.store.edit().unwrap());
        let (after, contents) = look(&fixture);
        assert_eq!((after, contents.is_whole()), (names, true), "{what}");
        fixture.tamper(|bytes| good.clone_into(bytes));
    }
}

#[test]
fn cut_at_any_byte_the_lines_before_the_cut_are_there_and_what_is_left_of_one_is_reported() {
    let fixture = Fixture::with_peers(&["a", "b", "c", "d"]);
    let (good, lines) = (fixture.text().into_bytes(), lines(&fixture));
    for len in 0..good.len() {
        fixture.tamper(|bytes| bytes.truncate(len));
        let (names, contents) = look(&fixture);
        let before: Vec<_> =
            lines.iter().filter(|(range, _)| range.end <= len).filter_map(|(_, name)| name.clone()).collect();
        assert_eq!(names, before, "cut at {len}");
        let at_an_end = len == 0 || lines.iter().any(|(range, _)| range.end == len);
        assert_eq!(contents.is_whole(), at_an_end, "cut at {len}");
        fixture.tamper(|bytes| good.clone_into(bytes));
    }
}
