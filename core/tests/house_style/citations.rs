//! A citation such as `wire-format §4.3` names a heading that exists in `core/docs/wire-format.md`.

use std::collections::{BTreeMap, BTreeSet};

use crate::checkout::Checkout;

/// The project's own specifications: the word that cites one, which is also its file's name.
const DOCUMENTS: [&str; 2] = ["wire-format", "storage"];

/// Documents that guided the project but are no part of it, so that no reader could follow a citation.
const NOT_OURS: [&str; 1] = ["design"];

/// The rules themselves, whose examples cite nothing.
const EXAMPLES: &str = "core/tests/house_style/";

/// The citations in source files and documents that lead nowhere.
pub(crate) fn faults(checkout: &Checkout) -> Vec<String> {
    let sections: BTreeMap<&str, BTreeSet<String>> = DOCUMENTS
        .iter()
        .filter_map(|&name| {
            let document = checkout.file(&format!("core/docs/{name}.md"))?;
            Some((name, headings(&document.text)))
        })
        .collect();
    let mut faults = Vec::new();
    for file in checkout.with_extension(&["rs", "md", "toml", "hex", "sh", "py"]) {
        if file.path.starts_with(EXAMPLES) {
            continue;
        }
        for cited in citations(&file.text) {
            let known = sections.get(cited.document.as_str()).is_some_and(|sections| sections.contains(&cited.section));
            let ours = DOCUMENTS.contains(&cited.document.as_str());
            let foreign = NOT_OURS.contains(&cited.document.as_str());
            if foreign || (ours && !known) {
                faults.push(format!("{}:{}: no section {} §{}", file.path, cited.line, cited.document, cited.section));
            }
        }
    }
    faults
}

/// The word before a section sign, and the section's number after it.
#[derive(Debug, PartialEq)]
struct Citation {
    line: usize,
    document: String,
    section: String,
}

/// The numbers of the headings of a document: `## 4 Packets`, `### 4.3. Long packets`, `### §4.3 Long packets`.
fn headings(markdown: &str) -> BTreeSet<String> {
    markdown
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| number_at_start(line.trim_start_matches(['#', ' ', '§'])))
        .filter(|number| !number.is_empty())
        .collect()
}

/// Every citation of a text, with the word that names its document; a comment's line break may stand between them.
/// In a list such as `storage §2.1, §2.4 and §3` each number belongs to the document named first.
fn citations(text: &str) -> Vec<Citation> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut document = String::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start().trim_start_matches(['/', '!', '#', '*', '>']);
        for piece in line.split_whitespace() {
            let Some((before, after)) = piece.split_once('§') else {
                if !matches!(piece, "and" | "or" | "to" | "–") {
                    word = piece.to_owned();
                }
                continue;
            };
            let named = if before.is_empty() || before == "(" { word.clone() } else { before.to_owned() };
            if !named.contains('§') {
                document = bare(&named);
            }
            word = piece.to_owned();
            let section = number_at_start(after);
            if !section.is_empty() {
                found.push(Citation { line: index.saturating_add(1), document: document.clone(), section });
            }
        }
    }
    found
}

/// A document's name without its folder, its extension and the punctuation around it.
fn bare(word: &str) -> String {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let word = word.rsplit('/').next().unwrap_or(word);
    word.strip_suffix(".md").unwrap_or(word).to_lowercase()
}

/// The dotted number that a text begins with, without a final dot.
fn number_at_start(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text[..end].trim_end_matches('.').to_owned()
}

#[test]
fn headings_are_known_by_their_numbers() {
    let markdown = "# Wire format\n## 4 Packets\n### 4.3. Long\n### §4.10 Short\ntext 9.9\n";
    let numbers: Vec<String> = headings(markdown).into_iter().collect();
    assert_eq!(numbers, ["4", "4.10", "4.3"]);
}

#[test]
fn a_citation_is_found_across_a_line_break_and_in_a_list() {
    let text = "/// See `wire-format.md`\n/// §4.3, §4.4 and §5. Not RFC 9000 §16.\nx // (storage §2)";
    let found: Vec<(usize, String)> = citations(text)
        .into_iter()
        .map(|cited| (cited.line, format!("{} {}", cited.document, cited.section)))
        .collect();
    let expected =
        [(2, "wire-format 4.3"), (2, "wire-format 4.4"), (2, "wire-format 5"), (2, "9000 16"), (3, "storage 2")];
    assert_eq!(found, expected.map(|(line, cited)| (line, cited.to_owned())));
}
