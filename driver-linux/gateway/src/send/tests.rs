//! What the arguments of `send` become.

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    send: Send,
}

fn parsed(more: &[&str]) -> Result<Send, clap::Error> {
    let least = ["send", "--key", "k.toml", "--stream", "s"];
    Command::try_parse_from(least.iter().chain(more)).map(|command| command.send)
}

#[test]
fn the_cap_reaches_core_in_bytes_a_second() {
    let cap = |more: &[&str]| parsed(more).unwrap().settings(0).config.max_rate;
    assert_eq!(cap(&[]), None);
    assert_eq!(cap(&["--max-rate", "50 kB"]), Some(50_000));
    assert_eq!(cap(&["--max-rate", "1MiB"]), Some(1 << 20));
    assert_eq!(cap(&["--max-rate", "1 MiB/s"]), Some(1 << 20));
    assert!(parsed(&["--max-rate", "1000"]).unwrap().settings(0).config.check().is_ok());
}

#[test]
fn a_cap_that_is_none_is_refused_with_what_to_write() {
    for wrong in ["fast", "999 B", "0", ""] {
        let said = parsed(&["--max-rate", wrong]).unwrap_err().to_string();
        assert!(said.contains("1 kB") && said.contains("50 kB"), "{said}");
    }
}
