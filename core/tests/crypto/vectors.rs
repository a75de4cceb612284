//! Reading `tests/vectors/*.hex`.

use std::collections::BTreeMap;

/// One case of a vector file: values by name.
pub(crate) struct Case(BTreeMap<String, Vec<u8>>);

impl Case {
    /// The value of `name`.
    pub(crate) fn get(&self, name: &str) -> &[u8] {
        self.find(name).unwrap_or_else(|| panic!("no `{name}`"))
    }

    /// The value of `name`, if the case has one.
    pub(crate) fn find(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// The value of `name`, which has `N` bytes.
    pub(crate) fn array<const N: usize>(&self, name: &str) -> [u8; N] {
        self.get(name).try_into().expect("the length")
    }
}

/// Reads a vector file: `#` comments, lines `name = hex`, an empty line behind each case.
pub(crate) fn cases(text: &str) -> Vec<Case> {
    let text: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    text.split(|line| line.is_empty())
        .filter(|lines| !lines.is_empty())
        .map(|lines| Case(lines.iter().map(|line| value(line)).collect()))
        .collect()
}

fn value(line: &str) -> (String, Vec<u8>) {
    let (name, hex) = line.split_once('=').expect("name = hex");
    let digits: Vec<_> = hex.trim().chars().map(|c| c.to_digit(16).expect("hex") as u8).collect();
    let bytes = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    (name.trim().to_owned(), bytes)
}
