//! Continuous integration calls the scripts in `.ci/`: each that it names exists, and is what any machine runs.

use std::os::unix::fs::PermissionsExt;

use crate::checkout::Checkout;

/// The scripts that workflows or other scripts call, but that do not exist or cannot be executed.
pub(crate) fn faults(checkout: &Checkout) -> Vec<String> {
    let mut faults = Vec::new();
    for file in &checkout.files {
        if !file.path.starts_with(".github/") && !file.path.starts_with(".ci/") {
            continue;
        }
        for script in called(&file.text) {
            let runs = std::fs::metadata(checkout.top.join(script))
                .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0);
            if !runs {
                faults.push(format!("{}: no executable {script}", file.path));
            }
        }
    }
    faults
}

/// The scripts that workflows call although `.ci/run` does not: what they find nobody could find at home.
pub(crate) fn strangers(checkout: &Checkout) -> Vec<String> {
    let run = checkout.file(".ci/run").map_or("", |file| file.text.as_str());
    let mut strangers = Vec::new();
    for file in checkout.files.iter().filter(|file| file.path.starts_with(".github/")) {
        let odd = called(&file.text).filter(|script| *script != ".ci/run" && !called(run).any(|used| used == *script));
        strangers.extend(odd.map(|script| format!("{}: {script} is no part of .ci/run", file.path)));
    }
    strangers
}

/// The paths below `.ci/` that a text names.
fn called(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(".ci/").filter_map(|(at, _)| {
        let path = &text[at..];
        let end =
            path.find(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '.' | '-' | '_')).unwrap_or(path.len());
        let path = path[..end].trim_end_matches('.');
        (path != ".ci/").then_some(path)
    })
}

#[test]
fn a_called_script_is_found() {
    let text = "run: bash ./.ci/run\n- .ci/fuzz 30 # or what is in `.ci/`.";
    assert_eq!(called(text).collect::<Vec<_>>(), [".ci/run", ".ci/fuzz"]);
}
