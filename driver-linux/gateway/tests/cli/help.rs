//! The help teaches, and agrees with what the program does.

use crate::common::{Home, Ran};
use tallylink_gateway::Exit;

#[test]
fn every_command_has_examples() {
    let home = Home::new();
    for args in [
        &[][..],
        &["peer", "add"],
        &["peer", "list"],
        &["peer", "remove"],
        &["peer", "rotate"],
        &["serve"],
        &["send"],
        &["outbox"],
        &["ingest"],
        &["status"],
        &["query"],
        &["check"],
        &["demo"],
        &["config"],
    ] {
        for help in ["-h", "--help"] {
            let text = home.ok(&[args, &[help]].concat());
            assert!(text.contains("Examples:\n  tallylink "), "{args:?} {help}:\n{text}");
        }
    }
}

#[test]
fn the_exit_codes_are_listed_and_differ() {
    let help = Home::new().ok(&["--help"]);
    for (exit, meaning) in Exit::ALL {
        assert!(help.contains(&format!("{:>3}  {meaning}", *exit as u8)), "{exit:?}");
    }
    let mut codes: Vec<_> = Exit::ALL.iter().map(|(exit, _)| *exit as u8).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), Exit::ALL.len());
}

#[test]
fn the_printed_configuration_is_accepted_and_prints_itself_again() {
    let home = Home::new();
    let first = home.ok(&["config"]);
    home.file("tallylink.toml", &first);
    assert_eq!(home.ok(&["config", "--config", "tallylink.toml"]), first);
}

#[test]
fn without_data_directory_and_home_the_working_directory_is_used() {
    let home = Home::new();
    let mut command = home.command(&["peer", "add", "roof"]);
    let ran = Ran::of(command.env_remove("TALLYLINK_DATA"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(home.path("tallylink-data/keys/peers").exists());
}
