//! The `tallylink` command.
fn main() {}
