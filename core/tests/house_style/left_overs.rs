//! Nothing unfinished, and no path of the machine that a file was written on, stays in the project.

use crate::checkout::Checkout;

/// What must not stand in any text, and why. Written in two halves, so that this file does not break its own rule.
const BANNED: [(&str, &str, &str); 9] = [
    ("TO", "DO", "finish it, or file it"),
    ("FIX", "ME", "mend it"),
    ("XX", "X", "say it"),
    ("todo", "!(", "finish it"),
    ("unimple", "mented!(", "finish it"),
    ("db", "g!(", "print nothing"),
    ("#[ig", "nore]", "a test that does not run proves nothing"),
    ("/wo", "rk/", "a path of one machine"),
    ("/ro", "ot/", "a path of one machine"),
];

/// The places that hold something banned.
pub(crate) fn faults(checkout: &Checkout) -> Vec<String> {
    let mut faults = Vec::new();
    for file in &checkout.files {
        for (index, line) in file.text.lines().enumerate() {
            for (what, why) in banned_in(line) {
                let number = index.saturating_add(1);
                faults.push(format!("{}:{number}: `{what}`: {why}", file.path));
            }
        }
    }
    faults
}

/// What a line holds that it must not, as a word of its own.
fn banned_in(line: &str) -> impl Iterator<Item = (String, &'static str)> {
    BANNED.into_iter().filter_map(move |(head, tail, why)| {
        let what = format!("{head}{tail}");
        let at = line.find(&what)?;
        let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let word_before = what.starts_with(char::is_alphabetic) && joins(line[..at].chars().last());
        let word_after =
            what.ends_with(char::is_alphabetic) && joins(line.get(at.saturating_add(what.len())..)?.chars().next());
        (!word_before && !word_after).then_some((what, why))
    })
}

#[test]
fn a_left_over_is_found_as_a_word_only() {
    let found = |line: String| banned_in(&line).count();
    assert_eq!(found(["// TO", "DO: later"].concat()), 1);
    assert_eq!(found(["see /wo", "rk/x"].concat()), 1);
    assert_eq!(found(["MASTO", "DON"].concat()), 0);
}
