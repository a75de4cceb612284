//! Replays a target's committed corpus: what a fuzzer once reached stays reached without one.

use std::fs;
use std::path::Path;

/// Runs a target on every file of its corpus, and on every beginning of it. `top` is the checkout. The file's name is printed
/// on a failure.
pub fn replay(top: &str, name: &str, target: fn(&[u8])) {
    let folder = Path::new(top).join("fuzz/corpus").join(name);
    let entries = fs::read_dir(&folder).expect("the corpus is in the checkout");
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
