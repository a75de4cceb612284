//! Gaps: proofs of the rules, and planted bugs that the search must find.

mod common;

use common::{assert_caught, assert_proved};
use tallylink_model::Property;
use tallylink_model::skip::{Bug, Skip};

const SOUND: Skip = Skip { records: 4, too_large: 2, overwrites: 1, sessions: 2, bug: None };

#[test]
fn a_gap_covers_only_what_its_sender_gave_up() {
    assert_proved(&SOUND, &["all but one stored", "done after a restore", "a wide gap"]);
}

#[test]
fn bug_skip_passes_a_record_still_held() {
    let model = Skip { bug: Some(Bug::SkipsPastHeld), ..SOUND };
    assert_caught(&model, Property::NothingHeldIsSkipped);
}

#[test]
fn bug_open_starts_at_the_first_unsent_record() {
    let model = Skip { bug: Some(Bug::OpensAtNextUnsent), ..SOUND };
    assert_caught(&model, Property::NothingHeldIsSkipped);
}

#[test]
fn bug_a_record_above_the_limit_is_never_skipped() {
    let model = Skip { bug: Some(Bug::NeverSkips), ..SOUND };
    assert_caught(&model, Property::Progress);
}
