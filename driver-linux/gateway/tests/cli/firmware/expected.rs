//! What `tallylink query` shows, beside what the firmware must have sent.

use serde_json::Value;

use super::readings::{LARGEST, Source};
use crate::common::Home;

/// What arrived of one numbering of a stream.
#[derive(Debug)]
pub(crate) struct Arrived {
    /// The name of the device.
    pub(crate) peer: String,
    pub(crate) stream: String,
    epoch: String,
    /// Records, and how many the gaps between them stand for.
    pub(crate) records: u64,
    pub(crate) missing: u64,
}

/// Everything that is stored, in the order in which each numbering began. Every record must be the next one and hold what the
/// firmware reads under its number.
pub(crate) fn arrived(home: &Home) -> Vec<Arrived> {
    let mut all = Vec::<Arrived>::new();
    let mut room = [0; LARGEST];
    let shown = home.command(&["query", "--json"]).output().expect("a run");
    for line in String::from_utf8(shown.stdout).expect("UTF-8").lines() {
        let shown: Value = serde_json::from_str(line).expect("JSON");
        let text = |key: &str| shown[key].as_str().unwrap_or_default().to_owned();
        let number = |key: &str| shown[key].as_u64().unwrap_or_else(|| panic!("{key} of {line}"));
        let (peer, stream, epoch) = (text("name"), text("stream"), text("epoch"));
        let is_of = |a: &Arrived| a.peer == peer && a.stream == stream && a.epoch == epoch;
        let at = all.iter().position(is_of).unwrap_or_else(|| {
            all.push(Arrived { peer: peer.clone(), stream: stream.clone(), epoch, records: 0, missing: 0 });
            all.len() - 1
        });
        let seen = &mut all[at];
        assert_eq!(number("number"), seen.records + seen.missing, "out of order, missing or repeated: {line}");
        if !shown["missing"].is_null() {
            // In a session, or before the one that the gateway's return began.
            assert!(["overwritten", "before_first"].contains(&text("missing").as_str()), "{line}");
            seen.missing += number("end") - number("index");
            continue;
        }
        let source = Source::ALL.into_iter().find(|s| s.name() == stream).expect("a stream of the firmware");
        let expected = source.record(number("number"), &mut room);
        assert_eq!(payload(&shown), expected, "{line}");
        seen.records += 1;
    }
    all
}

fn payload(shown: &Value) -> Vec<u8> {
    match (shown["data"].as_str(), shown["hex"].as_str()) {
        (Some(text), None) => text.as_bytes().to_vec(),
        (None, Some(hex)) => {
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
            (0..hex.len()).step_by(2).map(byte).collect()
        }
        _ => panic!("no payload: {shown}"),
    }
}
