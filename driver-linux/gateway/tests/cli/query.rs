//! Printing what the journal holds.

use std::fs;

use tallylink_journal::{Chunk, Dir, Journal, Options, Position};

use crate::common::{Home, Ran};

const ROOF: [u8; 8] = [0x70, 0xb3, 0xd5, 0xff, 0xfe, 0, 0, 1];
const CELLAR: [u8; 8] = [2; 8];
const EPOCH: [u8; 8] = [7; 8];
/// 2023-11-14T22:13:20Z.
const NOON_US: u64 = 1_700_000_000_000_000;

/// A journal with records of two peers, a second apart, and one gap.
fn stored(home: &Home) {
    let dir = Dir::create(home.path("data/journal")).expect("a directory");
    let (mut journal, _) = Journal::open(dir, Options::default()).expect("a new journal");
    let mut put = |peer, name: &str, first: u64, records: &[&[u8]], us| {
        let stream = journal.stream(peer, name.as_bytes()).expect("a stream");
        journal.begin_epoch(stream, EPOCH, first, 0).expect("an epoch");
        let mut bytes = Vec::new();
        for record in records {
            bytes.push(u8::try_from(record.len()).expect("a short record"));
            bytes.extend_from_slice(record);
        }
        let count = records.len() as u32;
        let (from, to) = (Position::start_of(first), Position::start_of(first + u64::from(count)));
        let chunk = Chunk { stream, epoch: EPOCH, from, to, first_record: 0, records: count, bytes: &bytes };
        journal.append(chunk, us).expect("appended");
        stream
    };
    let stream = put(ROOF, "temperature", 0, &[b"21\n", b"", b"caf\xe9"], NOON_US);
    put(CELLAR, "water level", 0, &["3 \"cm\", é\\".as_bytes()], NOON_US + 1_000_000);
    journal.gap(stream, EPOCH, 5, 1, NOON_US + 2_000_000).expect("a gap");
    let mut put = |first, record: &[u8]| {
        let bytes = [&[record.len() as u8], record].concat();
        let (from, to) = (Position::start_of(first), Position::start_of(first + 1));
        let chunk = Chunk { stream, epoch: EPOCH, from, to, first_record: 0, records: 1, bytes: &bytes };
        journal.append(chunk, NOON_US + 3_000_000).expect("appended");
    };
    put(5, b"22\n");
    journal.commit().expect("stored");
}

fn home() -> Home {
    let home = Home::new();
    home.ok(&["peer", "add", "roof", "--id", "70b3d5fffe000001"]);
    stored(&home);
    home
}

#[test]
fn text_shows_every_record_on_a_line_of_its_own() {
    let shown = home().ok(&["query"]);
    assert_eq!(
        shown,
        "\
2023-11-14T22:13:20.000000Z roof/temperature 0 21\\n
2023-11-14T22:13:20.000000Z roof/temperature 1 
2023-11-14T22:13:20.000000Z roof/temperature 2 caf\\xe9
2023-11-14T22:13:21.000000Z 0202020202020202/water\\x20level 0 3 \"cm\", é\\\\
2023-11-14T22:13:22.000000Z roof/temperature 3 MISSING up to, not including, 5: overwritten
2023-11-14T22:13:23.000000Z roof/temperature 5 22\\n
"
    );
}

#[test]
fn json_lines_are_json_and_lossless() {
    let shown = home().ok(&["query", "--json"]);
    let lines: Vec<serde_json::Value> = shown.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 6);
    assert_eq!(lines[0]["peer"], "70b3d5fffe000001");
    assert_eq!(lines[0]["name"], "roof");
    assert_eq!(lines[0]["epoch"], "0707070707070707");
    assert_eq!(lines[0]["data"], "21\n");
    assert_eq!(lines[1]["data"], "");
    assert_eq!(lines[2]["hex"], "636166e9");
    assert_eq!(lines[3]["stream"], "water level");
    assert_eq!(lines[3]["data"], "3 \"cm\", é\\");
    assert_eq!(lines[4]["missing"], "overwritten");
    assert_eq!((lines[4]["index"].as_u64(), lines[4]["end"].as_u64()), (Some(3), Some(5)));
    assert_eq!(lines[5]["index"], 5);
}

#[test]
fn csv_quotes_what_it_must() {
    let shown = home().ok(&["query", "--format", "csv"]);
    let head = "kind,time,peer,name,stream,epoch,number,index,end,encoding,data\r\n\
                record,2023-11-14T22:13:20.000000Z,70b3d5fffe000001,roof,temperature,0707070707070707,0,0,1,utf8,\"21\n\"\r\n";
    assert!(shown.starts_with(head), "{shown}");
    assert!(shown.contains(",0,0,1,utf8,\"3 \"\"cm\"\", é\\\"\r\n"), "{shown}");
    assert!(shown.contains("missing,2023-11-14T22:13:22.000000Z,70b3d5fffe000001,roof,temperature,0707070707070707,3,3,5,utf8,overwritten\r\n"), "{shown}");
}

#[test]
fn raw_is_the_payloads_alone_and_gaps_are_told_aside() {
    let output = home().command(&["query", "--format", "raw", "--stream", "temperature"]).output().expect("a run");
    assert_eq!(output.stdout, b"21\ncaf\xe922\n");
    let aside = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(aside.contains("records 3 up to, not including, 5 of stream temperature"), "{aside}");
}

#[test]
fn records_are_chosen_by_peer_stream_index_and_time() {
    let home = home();
    let count = |args: &[&str]| home.ok(&[&["query"], args].concat()).lines().count();
    assert_eq!(count(&["--peer", "roof"]), 5);
    assert_eq!(count(&["--peer", "70-b3-d5-ff-fe-00-00-01"]), 5);
    assert_eq!(count(&["--peer", "0202020202020202"]), 1);
    assert_eq!(count(&["--stream", "water level"]), 1);
    assert_eq!(count(&["--stream", "temperature", "--from", "1", "--to", "3"]), 2);
    assert_eq!(count(&["--stream", "temperature", "--from", "4"]), 2);
    assert_eq!(count(&["--since", "2023-11-14T22:13:23Z"]), 1);
    assert_eq!(count(&["--since", "1s"]), 0);
}

#[test]
fn following_ends_at_the_index_that_was_asked_for() {
    let home = home();
    let shown = home.ok(&["query", "--follow", "--peer", "roof", "--stream", "temperature", "--to", "2"]);
    assert_eq!(shown.lines().count(), 2);
}

#[test]
fn the_names_of_peers_are_no_condition() {
    let home = home();
    fs::remove_dir_all(home.path("data/keys")).expect("removed");
    assert!(home.ok(&["query"]).contains(" 70b3d5fffe000001/temperature 0 "));
}

#[test]
fn mistakes_are_named() {
    let home = Home::new();
    let sentence = home.refused(&["query"], 1);
    assert!(sentence.contains("there is no journal in ") && sentence.contains("tallylink serve"), "{sentence}");
    stored(&home);
    assert!(home.refused(&["query", "--peer", "cellar"], 7).contains("there is no peer \"cellar\""));
    for wrong in [["--since", "yesterday"], ["--from", "-1"], ["--format", "xml"]] {
        let ran = Ran::of(&mut home.command(&["query", wrong[0], wrong[1]]));
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{wrong:?}: {}", ran.err);
    }
}
