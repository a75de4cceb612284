//! Replays the fuzzer's committed corpus over the journal.

#[path = "../../../fuzz/src/journal.rs"]
pub mod journal;
#[path = "../../../fuzz/src/planted.rs"]
mod planted;
#[path = "../../../fuzz/src/replay.rs"]
pub mod replay;

#[test]
fn the_corpus_of_journal_breaks_no_rule() {
    replay::replay(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."), "journal", journal::journal);
}
