//! Each dependency on other people's code is justified in one comment, above it or at the end of its line.

use crate::checkout::{Checkout, TextFile};

/// The dependencies without a justification.
pub(crate) fn faults(checkout: &Checkout) -> Vec<String> {
    checkout.files.iter().filter(|file| file.name() == "Cargo.toml").flat_map(unjustified).collect()
}

fn unjustified(manifest: &TextFile) -> Vec<String> {
    let mut faults = Vec::new();
    let mut in_dependencies = false;
    let mut inside_value = false;
    let mut comment_above = false;
    for (index, line) in manifest.text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[').filter(|_| !inside_value) {
            in_dependencies = lists_dependencies(header);
        } else if in_dependencies && !inside_value && !line.starts_with('#') {
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
            let justified = comment_above || line.contains(" # ");
            if !name.is_empty() && !name.starts_with("tallylink-") && !justified {
                let number = index.saturating_add(1);
                faults.push(format!("{}:{number}: why `{name}`?", manifest.path));
            }
        }
        comment_above = line.starts_with('#') || (inside_value && comment_above);
        inside_value = match inside_value {
            true => !line.ends_with(['}', ']']),
            false => line.ends_with(['{', '[', ',']) && line.contains('='),
        };
    }
    faults
}

/// Whether a table lists dependencies. The workspace's own table only fixes versions: the crates say why.
fn lists_dependencies(header: &str) -> bool {
    let header = header.trim_end_matches(']');
    !header.starts_with("workspace.") && header.ends_with("dependencies")
}

#[test]
fn a_dependency_without_a_comment_is_found() {
    let manifest = |text: &str| TextFile { path: "Cargo.toml".to_owned(), text: text.to_owned() };
    let bad = "[workspace.dependencies]\na = \"1\"\n[dependencies]\n# Why.\nb = \"1\"\nc.workspace = true\n";
    assert_eq!(unjustified(&manifest(bad)), ["Cargo.toml:6: why `c`?"]);
    let good = "[target.'cfg(unix)'.dependencies]\nb = \"1\" # Why.\ntallylink-core = { path = \"..\" }\n\
                # Why.\nd = { version = \"1\", features = [\n    \"x\",\n] }\n[lints]\nworkspace = true\n";
    assert_eq!(unjustified(&manifest(good)), [""; 0]);
}
