//! The bare-metal image calls every method of the endpoint, so that none escapes the proof that it cannot panic.

use crate::checkout::Checkout;

const ENDPOINT: &str = "core/src/endpoint/mod.rs";
const IMAGE: &str = "core/link-check/src/reach/endpoint.rs";

/// The endpoint's public methods that the image does not call.
pub(crate) fn faults(checkout: &Checkout) -> Vec<String> {
    let (Some(endpoint), Some(image)) = (checkout.file(ENDPOINT), checkout.file(IMAGE)) else {
        return vec![format!("{ENDPOINT} or {IMAGE} is gone")];
    };
    public_methods(&endpoint.text)
        .filter(|name| !calls(&image.text, name))
        .map(|name| format!("{IMAGE}: `{name}` is never called"))
        .collect()
}

fn public_methods(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let line = line.trim_start().strip_prefix("pub ")?;
        let rest = line.strip_prefix("const ").unwrap_or(line).strip_prefix("fn ")?;
        rest.split(['(', '<']).next()
    })
}

fn calls(source: &str, name: &str) -> bool {
    [".", "::"].iter().any(|before| source.contains(&format!("{before}{name}(")))
}

#[test]
fn a_method_that_is_not_called_is_found() {
    let source =
        "    pub fn new(x: u8) -> Self {\n    pub const fn len<T>(&self)\n    fn private(\n    pub(crate) fn inner(\n";
    assert_eq!(public_methods(source).collect::<Vec<_>>(), ["new", "len"]);
    assert!(calls("let e = Endpoint::new(1);", "new"));
    assert!(!calls("e.len_of(1)", "len"));
}
