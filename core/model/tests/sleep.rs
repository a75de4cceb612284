//! Deep sleep: proofs of the rules, and planted bugs that the search must find.

mod common;

use common::{assert_caught, assert_proved};
use tallylink_model::Property;
use tallylink_model::sleep::{Budget, Bug, Sleep};

/// The device sends.
const UP: Budget =
    Budget { pushes: 1, exchanges: 1, device_sends: 2, gateway_sends: 2, suspends: 1, ..Budget::NOTHING };
/// The gateway sends.
const DOWN: Budget =
    Budget { down_pushes: 1, exchanges: 1, device_sends: 2, gateway_sends: 2, suspends: 1, ..Budget::NOTHING };

const STORED: &str = "stored after waking up";
const BESIDE_CRASH: &str = "stored after waking up beside a gateway crash";
const TAKEN: &str = "taken after waking up";
const TORN: &str = "image torn";
const FOLLOWED: &str = "stored in a session that followed the retained one";

#[test]
fn a_device_that_wakes_up_goes_on_where_it_was() {
    assert_proved(&Sleep::new(Budget { pushes: 2, device_sends: 3, ..UP }), &[STORED]);
}

#[test]
fn power_lost_at_any_step_spends_no_number_twice() {
    let bounds = Budget { suspends: 2, power_losses: 2, ..UP };
    assert_proved(&Sleep::new(bounds), &[STORED, TORN]);
}

#[test]
fn a_start_that_does_not_resume_begins_anew() {
    let bounds = Budget { exchanges: 2, fresh_starts: 1, wipes: 1, ..UP };
    assert_proved(&Sleep::new(bounds), &[STORED]);
}

#[test]
fn the_gateway_may_restart_while_the_device_sleeps() {
    let bounds = Budget { exchanges: 2, gateway_crashes: 1, ..UP };
    assert_proved(&Sleep::new(bounds), &[STORED, BESIDE_CRASH, FOLLOWED]);
}

#[test]
fn the_gateway_may_end_the_session_while_the_device_sleeps() {
    let bounds = Budget { exchanges: 2, evictions: 1, ..UP };
    assert_proved(&Sleep::new(bounds), &[STORED, FOLLOWED]);
}

#[test]
fn the_gateways_records_reach_a_device_that_sleeps_between() {
    assert_proved(&Sleep::new(Budget { suspends: 2, ..DOWN }), &[TAKEN]);
}

#[test]
fn the_gateways_records_outlive_lost_power() {
    let bounds = Budget { exchanges: 2, power_losses: 1, ..DOWN };
    assert_proved(&Sleep::new(bounds), &[TAKEN, TORN]);
}

#[test]
fn the_gateways_records_outlive_its_restart_while_the_device_sleeps() {
    let bounds = Budget { exchanges: 2, gateway_crashes: 1, ..DOWN };
    assert_proved(&Sleep::new(bounds), &[TAKEN]);
}

#[test]
fn bug_the_image_is_kept() {
    let bounds = Budget { power_losses: 1, ..UP };
    assert_caught(&Sleep::with_bug(bounds, Bug::ImageKept), Property::OnePlaintextPerNumber);
}

#[test]
fn bug_the_image_is_destroyed_after_the_first_packet() {
    let bounds = Budget { power_losses: 1, ..UP };
    assert_caught(&Sleep::with_bug(bounds, Bug::DestroyedLate), Property::OnePlaintextPerNumber);
}

#[test]
fn bug_the_device_sends_on_after_its_image() {
    let bounds = Budget { power_losses: 1, ..UP };
    assert_caught(&Sleep::with_bug(bounds, Bug::SendsOn), Property::OnePlaintextPerNumber);
}

#[test]
fn bug_a_torn_image_is_taken() {
    let bounds = Budget { power_losses: 1, ..UP };
    assert_caught(&Sleep::with_bug(bounds, Bug::TornTaken), Property::OnePlaintextPerNumber);
}

#[test]
fn bug_a_stale_image_is_resumed_after_another_boot() {
    let bounds = Budget { exchanges: 3, device_sends: 3, gateway_sends: 0, fresh_starts: 1, power_losses: 1, ..UP };
    assert_caught(&Sleep::with_bug(bounds, Bug::StaleKept), Property::ExactlyOnce);
}

#[test]
fn bug_the_image_lacks_the_ring() {
    let bounds = Budget { pushes: 2, ..UP };
    assert_caught(&Sleep::with_bug(bounds, Bug::RingLeftOut), Property::NothingConfirmedLost);
}

#[test]
fn bug_what_is_in_flight_counts_as_received() {
    assert_caught(&Sleep::with_bug(UP, Bug::FlightForgotten), Property::Progress);
}

#[test]
fn bug_the_image_lacks_the_window() {
    assert_caught(&Sleep::with_bug(UP, Bug::WindowLeftOut), Property::AcceptedOnce);
}

#[test]
fn bug_the_image_lacks_the_position_of_what_is_received() {
    assert_caught(&Sleep::with_bug(DOWN, Bug::PositionLeftOut), Property::Progress);
}

#[test]
fn bug_what_the_application_has_not_taken_is_forgotten() {
    assert_caught(&Sleep::with_bug(DOWN, Bug::UntakenForgotten), Property::NothingConfirmedLost);
}
