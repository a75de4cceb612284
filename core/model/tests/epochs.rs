//! Epochs and rollback: proofs of the rules, and planted bugs that the search must find.

mod common;

use common::{assert_caught, assert_proved};
use tallylink_model::Property;
use tallylink_model::epochs::{Bug, Epochs};

const RESTORED: Epochs = Epochs { backups: 1, crashes: 2, ..Epochs::PLAIN };

fn with_bug(bug: Bug, bounds: Epochs) -> Epochs {
    Epochs { bug: Some(bug), ..bounds }
}

#[test]
fn crashes_alone_are_never_reported() {
    assert_proved(&Epochs::PLAIN, &["two epochs drained"]);
    assert_proved(&Epochs { remembered: 1, ..Epochs::PLAIN }, &["two epochs drained"]);
}

#[test]
fn a_restored_outbox_is_reported_and_nothing_is_swallowed() {
    assert_proved(&RESTORED, &["reported"]);
}

#[test]
fn a_copied_outbox_is_reported_once_both_go_on() {
    let bounds = Epochs { copies: 1, crashes: 1, ..Epochs::PLAIN };
    assert_proved(&bounds, &["reported", "original and copy both went on"]);
}

#[test]
fn a_restored_gateway_is_reported() {
    assert_proved(&Epochs { gateway_backups: 1, ..Epochs::PLAIN }, &["reported"]);
}

#[test]
fn bug_an_epoch_is_reused_after_an_opening() {
    assert_caught(&with_bug(Bug::EpochReused, RESTORED), Property::OneContentPerName);
}

#[test]
fn bug_epochs_are_counted() {
    assert_caught(&with_bug(Bug::EpochsCounted, RESTORED), Property::OneContentPerName);
}

#[test]
fn bug_records_are_sent_before_they_are_saved() {
    assert_caught(&with_bug(Bug::SentBeforeSaved, Epochs::PLAIN), Property::NoFalseAlarm);
}

#[test]
fn bug_the_next_epoch_opens_before_the_last_is_saved_as_drained() {
    let bounds = Epochs { remembered: 1, ..Epochs::PLAIN };
    assert_caught(&with_bug(Bug::DrainedNotSaved, bounds), Property::NoFalseAlarm);
}

#[test]
fn bug_an_epochs_predecessor_is_not_compared() {
    assert_caught(&with_bug(Bug::PredecessorIgnored, RESTORED), Property::RollbackReported);
}
