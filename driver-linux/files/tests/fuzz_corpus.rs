//! Replays the fuzzers' committed corpora over the files and the input that people write.

#[path = "../../../fuzz/src/files/mod.rs"]
pub mod files;
#[path = "../../../fuzz/src/planted.rs"]
mod planted;
#[path = "../../../fuzz/src/replay.rs"]
pub mod replay;

/// The checkout.
const TOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn the_corpus_of_config_breaks_no_rule() {
    replay::replay(TOP, "config", files::config);
}

#[test]
fn the_corpus_of_keystore_breaks_no_rule() {
    replay::replay(TOP, "keystore", files::keystore);
}

#[test]
fn the_corpus_of_host_port_breaks_no_rule() {
    replay::replay(TOP, "host_port", files::host_port);
}

#[test]
fn the_corpus_of_ingest_breaks_no_rule() {
    replay::replay(TOP, "ingest", files::ingest);
}
