//! Credit: proofs of the rules, and planted bugs that the search must find.

mod common;

use common::{assert_caught, assert_proved};
use tallylink_model::Property;
use tallylink_model::flow::{Bug, Flow};

const SOUND: Flow =
    Flow { records: [&[3, 2], &[3]], windows: &[8, 2], max_record: 3, limit: 8, sessions: 0, credits: 2, bug: None };

fn with_bug(bug: Bug) -> Flow {
    Flow { bug: Some(bug), ..SOUND }
}

#[test]
fn a_window_that_shrinks_under_begun_records_stops_nothing_for_ever() {
    assert_proved(&SOUND, &["all stored", "begun beyond a lowered window", "both streams begun"]);
}

#[test]
fn a_new_session_is_granted_what_the_last_one_left() {
    let model = Flow { sessions: 2, credits: 1, ..SOUND };
    assert_proved(&model, &["all stored", "queued from an earlier session"]);
}

#[test]
fn bug_a_record_is_begun_that_the_window_does_not_cover() {
    assert_caught(&with_bug(Bug::BegunNotCovered), Property::CreditHonoured);
}

#[test]
fn bug_a_begun_record_waits_for_the_window() {
    assert_caught(&with_bug(Bug::BegunNotFinished), Property::Progress);
}

#[test]
fn bug_a_late_credit_counts() {
    assert_caught(&with_bug(Bug::LateCreditCounts), Property::CreditHonoured);
}

#[test]
fn bug_a_waiting_sender_never_asks() {
    assert_caught(&Flow { windows: &[2, 8], ..with_bug(Bug::NeverAsks) }, Property::Progress);
}

#[test]
fn bug_the_window_stays_below_one_record() {
    assert_caught(&with_bug(Bug::GrantsTooLittle), Property::Progress);
}

#[test]
fn bug_bytes_queued_from_an_earlier_session_are_not_counted() {
    let model = Flow { sessions: 1, ..with_bug(Bug::QueuedNotCounted) };
    assert_caught(&model, Property::Bounded);
}
