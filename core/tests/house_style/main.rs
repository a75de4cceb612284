//! The habits that every file of the project keeps, checked over the whole checkout.
//!
//! Each rule is a function from the checkout to the list of places that break it; the tests here apply the rules to
//! the real files, and the rules' own files show on small texts that they find what they are for.

mod checkout;
mod citations;
mod left_overs;
mod link_check;
mod manifests;
mod workflows;

use checkout::Checkout;

/// The longest that a source file may be, its comments included.
const MAX_LINES: usize = 500;

#[test]
fn no_source_file_is_longer_than_the_limit() {
    let checkout = Checkout::read();
    let faults = checkout
        .with_extension(&["rs", "sh", "py", "c", "h", "x"])
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(file, lines)| format!("{}: {lines} lines, {MAX_LINES} allowed", file.path))
        .collect();
    report(faults);
}

#[test]
fn every_cited_section_exists() {
    report(citations::faults(&Checkout::read()));
}

#[test]
fn nothing_unfinished_or_local_is_left_behind() {
    report(left_overs::faults(&Checkout::read()));
}

#[test]
fn every_dependency_says_why_it_is_there() {
    report(manifests::faults(&Checkout::read()));
}

#[test]
fn workflows_call_scripts_that_exist() {
    report(workflows::faults(&Checkout::read()));
}

#[test]
fn workflows_call_only_what_every_machine_runs() {
    report(workflows::strangers(&Checkout::read()));
}

#[test]
fn the_bare_metal_image_reaches_the_whole_endpoint() {
    report(link_check::faults(&Checkout::read()));
}

/// Fails with every fault at once, one a line, so that one run shows all there is to mend.
fn report(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
