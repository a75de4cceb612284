//! Replays the fuzzers' committed corpus, so that what they once reached stays reached without a nightly compiler.

use std::fs;
use std::path::Path;

#[path = "../../fuzz/src/lib.rs"]
pub mod fuzz;

#[test]
fn the_corpus_of_frames_breaks_no_rule() {
    replay("frames", fuzz::frames);
}

#[test]
fn the_corpus_of_numbers_breaks_no_rule() {
    replay("numbers", fuzz::numbers);
}

#[test]
fn the_corpus_of_packets_breaks_no_rule() {
    replay("packets", fuzz::packets);
}

/// Runs a target on every file of its corpus, and on every beginning of it. The file's name is printed on a failure.
fn replay(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    let entries = fs::read_dir(folder.join(name)).expect("the corpus is in the checkout");
    let mut replayed = 0;
    for entry in entries {
        let path = entry.expect("the corpus is readable").path();
        println!("replaying {}", path.display());
        let input = fs::read(&path).expect("the corpus is readable");
        for end in 0..=input.len() {
            target(&input[..end]);
        }
        replayed += 1;
    }
    assert!(replayed > 0, "no corpus of {name}");
}
