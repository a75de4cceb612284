//! The journal's truth: proofs of the rules, and planted bugs that the search must find.

mod common;

use common::{assert_caught, assert_proved};
use tallylink_model::Property;
use tallylink_model::journal::{Bug, Journal};

const SOUND: Journal = Journal { records: 2, faults: 2, damages: 0, bug: None };

fn with_bug(bug: Bug) -> Journal {
    Journal { bug: Some(bug), ..SOUND }
}

#[test]
fn nothing_stored_is_lost_or_doubled_by_power_cuts_and_failing_syncs() {
    let reaching = ["all stored", "recovery after STORED", "third segment"];
    assert_proved(&SOUND, &reaching);
    assert_proved(&Journal { records: 3, faults: 1, ..SOUND }, &[]);
    assert_proved(&Journal { records: 1, faults: 3, ..SOUND }, &[]);
}

#[test]
fn damage_below_the_proven_offset_costs_only_what_rotted() {
    let model = Journal { faults: 2, damages: 1, ..SOUND };
    assert_proved(&model, &["all stored beside damage"]);
}

#[test]
fn bug_stored_is_told_before_the_sync() {
    assert_caught(&with_bug(Bug::StoredBeforeSync), Property::NothingConfirmedLost);
}

#[test]
fn bug_recovery_trusts_the_tail() {
    assert_caught(&with_bug(Bug::TailTrusted), Property::NothingConfirmedLost);
}

#[test]
fn bug_a_failed_sync_is_retried_and_believed() {
    assert_caught(&with_bug(Bug::FailedSyncRetried), Property::NothingConfirmedLost);
}

#[test]
fn bug_the_writer_goes_on_after_what_a_failed_sync_lost() {
    assert_caught(&with_bug(Bug::NextKeptAfterFailure), Property::NothingConfirmedLost);
}

#[test]
fn bug_recovery_reads_past_a_hole() {
    assert_caught(&with_bug(Bug::ReadsPastHole), Property::InOrder);
}

#[test]
fn bug_damage_is_taken_for_the_torn_tail() {
    let model = Journal { damages: 1, ..with_bug(Bug::DamageEndsSegment) };
    assert_caught(&model, Property::NothingConfirmedLost);
}

#[test]
fn bug_a_segment_does_not_say_how_much_of_its_predecessor_counts() {
    assert_caught(&with_bug(Bug::CountedLengthIgnored), Property::ExactlyOnce);
}

#[test]
fn bug_a_segment_names_a_predecessor_that_may_not_be_there() {
    let model = Journal { faults: 3, ..with_bug(Bug::NamesUnprovenPredecessor) };
    assert_caught(&model, Property::NothingConfirmedLost);
}
