//! Each kind of bad input gets one sentence that names it and an exit code of its own, and changes nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::common::Home;

#[track_caller]
fn contains(sentence: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(sentence.contains(part), "no {part:?} in: {sentence}"));
}

#[test]
fn configuration_mistakes_are_named_with_file_line_and_key() {
    let home = Home::new();
    home.file("bad.toml", "log = \"info\"\nmaxrecord = 5\n");
    let sentence = home.refused(&["config", "--config", "bad.toml"], 3);
    contains(&sentence, &["bad.toml, line 2", "\"maxrecord\"", "\"max_record\""]);

    home.file("bad.toml", "\n\nretain_age = \"soon\"");
    contains(&home.refused(&["peer", "list", "--config", "bad.toml"], 3), &["bad.toml, line 3", "retain_age", "30 d"]);
    contains(&home.refused(&["config", "--config", "absent.toml"], 3), &["absent.toml"]);
}

#[test]
fn names_ids_and_addresses_are_refused_each_with_its_code() {
    let home = Home::new();
    contains(&home.refused(&["peer", "add", "two words"], 9), &["two words"]);
    contains(&home.refused(&["peer", "add", "roof", "--id", "70b3"], 9), &["70b3", "EUI-64"]);
    contains(&home.refused(&["peer", "add", "roof", "--gateway", "gw"], 6), &["\"gw\"", "HOST:PORT"]);
    contains(&home.refused(&["peer", "remove", "roof"], 7), &["\"roof\"", "peer list"]);
    contains(&home.refused(&["peer", "rotate", "roof"], 7), &["\"roof\""]);
    assert_eq!(home.ok(&["peer", "list", "--json"]), "");

    home.ok(&["peer", "add", "roof", "--id", "70b3d5fffe000001"]);
    let before = fs::read(home.peers()).unwrap();
    contains(&home.refused(&["peer", "add", "roof"], 8), &["\"roof\"", "rotate"]);
    contains(
        &home.refused(&["peer", "add", "b", "--id", "70-b3-d5-ff-fe-00-00-01"], 8),
        &["70b3d5fffe000001", "\"roof\""],
    );
    contains(&home.refused(&["peer", "remove", "roof", "--key", "4"], 7), &["no key 4"]);
    assert_eq!(fs::read(home.peers()).unwrap(), before);
}

#[test]
fn a_key_store_open_to_others_is_refused() {
    let home = Home::new();
    home.ok(&["peer", "add", "roof"]);
    fs::set_permissions(home.peers(), fs::Permissions::from_mode(0o644)).unwrap();
    for args in [&["peer", "list"][..], &["peer", "add", "b"], &["peer", "remove", "roof"]] {
        contains(&home.refused(args, 5), &["keys/peers", "0644", "chmod 600"]);
    }
}

#[test]
fn a_key_store_that_cannot_be_made_is_named() {
    let home = Home::new();
    home.file("data", "a file where the directory should be");
    contains(&home.refused(&["peer", "add", "roof"], 4), &["data/keys"]);
}

#[test]
fn a_list_is_refused_whole_with_the_line_that_is_wrong() {
    let home = Home::new();
    let refused = |list: &str, code| {
        home.file("list", list);
        home.refused(&["peer", "add", "--from", "list"], code)
    };
    contains(&refused("a\n\nb 70b3\n", 9), &["list, line 3", "70b3"]);
    contains(&refused("a\nb\na\n", 9), &["list, line 3", "\"a\"", "line 1"]);
    contains(&refused("a 70b3d5fffe000001 x\n", 9), &["list, line 1", "NAME EUI64"]);
    contains(&refused("a 70b3d5fffe000001\nb 70b3d5fffe000001\n", 8), &["70b3d5fffe000001", "\"a\""]);
    contains(&home.refused(&["peer", "add", "--from", "absent"], 1), &["absent"]);
    assert_eq!(home.ok(&["peer", "list", "--json"]), "");
}

#[test]
fn an_output_file_is_never_overwritten_and_costs_no_key() {
    let home = Home::new();
    home.file("roof.key", "precious");
    contains(&home.refused(&["peer", "add", "roof", "--out", "roof.key"], 1), &["roof.key"]);
    assert_eq!(fs::read_to_string(home.path("roof.key")).unwrap(), "precious");
    assert_eq!(home.ok(&["peer", "list", "--json"]), "");

    home.refused(&["peer", "rotate", "nobody", "--out", "new.key"], 7);
    assert!(!home.path("new.key").exists(), "a refused command leaves no file");
}

#[test]
fn a_wrong_command_line_exits_with_2() {
    let home = Home::new();
    for args in
        [&["peer"][..], &["peer", "add"], &["peer", "ad", "x"], &["--wrong"], &["peer", "add", "a", "--from", "b"]]
    {
        let ran = home.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(!ran.err.is_empty());
    }
    home.file("list", "a\n");
    contains(&home.refused(&["peer", "add", "--from", "list", "--format", "c"], 2), &["--json"]);
}
