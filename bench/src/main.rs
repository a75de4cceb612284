//! Measures Tallylink against its peers in the same run.
fn main() {}
