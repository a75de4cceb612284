//! The window and its ACKs: proofs of the rules, and planted bugs that the search must find.

mod common;

use common::{assert_caught, assert_proved};
use tallylink_model::Property;
use tallylink_model::ack_window::{AckWindow, Bug};

const SOUND: AckWindow = AckWindow { width: 4, ranges: 1, items: 4, probes: 1, ack_only: 1, acks: 2, bug: None };

fn with_bug(bug: Bug) -> AckWindow {
    AckWindow { bug: Some(bug), ..SOUND }
}

#[test]
fn a_packet_is_accepted_once_and_its_ack_is_true() {
    let reaching = ["all acknowledged", "packet below the window", "new data waits for the span", "two ranges changed"];
    assert_proved(&SOUND, &reaching);
}

#[test]
fn bug_a_number_below_the_window_counts_as_new() {
    assert_caught(&with_bug(Bug::TooOldIsFresh), Property::AcceptedOnce);
}

#[test]
fn bug_everything_below_the_window_is_called_received() {
    assert_caught(&with_bug(Bug::BelowIsReceived), Property::AckIsTrue);
}

#[test]
fn bug_only_the_newest_ranges_are_listed() {
    assert_caught(&with_bug(Bug::NewestOnly), Property::AckIsComplete);
}

#[test]
fn bug_ranges_cut_for_room_are_forgotten() {
    assert_caught(&with_bug(Bug::CutRangesForgotten), Property::AckIsComplete);
}

#[test]
fn bug_new_data_takes_any_number() {
    assert_caught(&AckWindow { items: 5, ..with_bug(Bug::NoSpanLimit) }, Property::WindowCoversFlight);
}

#[test]
fn bug_probes_wait_like_new_data() {
    assert_caught(&with_bug(Bug::ProbesWait), Property::Progress);
}
