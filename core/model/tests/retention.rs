//! Checkpoints and deletion: proofs of the rules, and planted bugs that the search must find.

mod common;

use common::{assert_caught, assert_proved};
use tallylink_model::Property;
use tallylink_model::retention::{Bug, Retention};

const SOUND: Retention = Retention { records: 3, checkpoints: 3, faults: 2, damages: 1, bug: None };

fn with_bug(bug: Bug) -> Retention {
    Retention { bug: Some(bug), ..SOUND }
}

#[test]
fn deleted_segments_stay_known_whatever_becomes_of_one_checkpoint() {
    let reaching = ["all stored and deleted", "one checkpoint left after a deletion"];
    assert_proved(&SOUND, &reaching);
}

#[test]
fn bug_a_segment_is_deleted_after_one_checkpoint() {
    assert_caught(&with_bug(Bug::DeletesAfterOne), Property::NothingConfirmedLost);
}

#[test]
fn bug_a_segment_is_deleted_before_the_sync() {
    assert_caught(&with_bug(Bug::DeletesBeforeSync), Property::NothingConfirmedLost);
}

#[test]
fn bug_both_checkpoints_are_written_at_once() {
    let model = Retention { checkpoints: 4, damages: 0, ..with_bug(Bug::BothInFlight) };
    assert_caught(&model, Property::NothingConfirmedLost);
}

#[test]
fn bug_a_checkpoint_that_was_read_counts_as_synced() {
    assert_caught(&with_bug(Bug::TrustsCheckpointRead), Property::NothingConfirmedLost);
}
