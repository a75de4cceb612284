//! Set-up and delivery: proofs of the rules, and planted bugs that the search must find.

mod common;

use common::{assert_caught, assert_proved};
use tallylink_model::Property;
use tallylink_model::sessions::{Budget, Bug, Sessions};

const CALM: Budget = Budget { pushes: 2, exchanges: 1, device_sends: 2, gateway_sends: 1, ..Budget::NOTHING };

#[test]
fn records_arrive_once_whatever_the_network_repeats_and_reorders() {
    assert_proved(&Sessions::new(Budget { device_sends: 3, gateway_sends: 2, ..CALM }), &[STORED, HELD]);
}

#[test]
fn a_gateway_crash_loses_nothing_confirmed() {
    let bounds = Budget { exchanges: 2, gateway_crashes: 1, ..CALM };
    assert_proved(&Sessions::new(bounds), &[STORED, AFTER_CRASH, VOID]);
}

#[test]
fn a_device_that_restarts_mixes_nothing_up() {
    assert_proved(&Sessions::new(Budget { exchanges: 2, device_reboots: 1, ..CALM }), &[STORED]);
}

#[test]
fn both_ends_may_restart() {
    let bounds = Budget { pushes: 1, exchanges: 2, device_reboots: 1, gateway_crashes: 1, ..CALM };
    assert_proved(&Sessions::new(bounds), &[STORED, AFTER_CRASH]);
}

#[test]
fn an_ended_session_never_returns() {
    let bounds = Budget { pushes: 1, exchanges: 2, gateway_sends: 2, evictions: 1, ..CALM };
    assert_proved(&Sessions::new(bounds), &[STORED]);
}

#[test]
fn delivery_goes_back_to_what_is_proven_after_a_failed_sync() {
    let bounds = Budget { exchanges: 2, sync_failures: 1, ..CALM };
    assert_proved(&Sessions::new(bounds), &[STORED]);
}

#[test]
fn an_overwritten_ring_leaves_a_gap_and_goes_on() {
    let bounds = Budget { exchanges: 2, overwrites: 1, ..CALM };
    assert_proved(&Sessions::new(bounds), &[STORED, VOID]);
}

#[test]
fn a_full_queue_refuses_and_recovers() {
    let model = Sessions { queue: 2, ..Sessions::new(Budget { device_sends: 3, ..CALM }) };
    assert_proved(&model, &[STORED]);
}

#[test]
fn an_outbox_outlives_its_device() {
    let bounds = Budget { exchanges: 2, device_reboots: 1, ..CALM };
    let model = Sessions { outbox: true, ..Sessions::new(bounds) };
    assert_proved(&model, &[STORED, TWO_EPOCHS]);
}

#[test]
fn an_outbox_outlives_both_ends() {
    let bounds = Budget { exchanges: 2, device_reboots: 1, gateway_crashes: 1, ..CALM };
    let model = Sessions { outbox: true, ..Sessions::new(bounds) };
    assert_proved(&model, &[STORED, AFTER_CRASH, VOID, TWO_EPOCHS]);
}

const TWO_EPOCHS: &str = "two epochs stored";
const STORED: &str = "stored";
const AFTER_CRASH: &str = "stored after a gateway crash";
const VOID: &str = "unfinished record void";
const HELD: &str = "packet held ahead of a gap";

#[test]
fn bug_an_equal_counter_revives_an_ended_session() {
    let bounds = Budget { pushes: 1, gateway_sends: 2, evictions: 1, ..CALM };
    assert_caught(&Sessions::with_bug(bounds, Bug::EqualCounterRevives), Property::OnePlaintextPerNumber);
}

#[test]
fn bug_nonces_repeat_after_a_restart() {
    let bounds = Budget { exchanges: 2, device_reboots: 1, ..CALM };
    assert_caught(&Sessions::with_bug(bounds, Bug::WeakEntropy), Property::OnePlaintextPerNumber);
}

#[test]
fn bug_opened_ignores_what_the_writer_holds() {
    let bounds = Budget { pushes: 1, exchanges: 2, ..CALM };
    assert_caught(&Sessions::with_bug(bounds, Bug::OpenIgnoresWriter), Property::WriterContinues);
}

#[test]
fn bug_stored_is_told_before_the_sync() {
    assert_caught(&Sessions::with_bug(CALM, Bug::StoredBeforeSync), Property::NothingConfirmedLost);
}

#[test]
fn bug_sessions_survive_a_failed_sync() {
    let bounds = Budget { sync_failures: 1, ..CALM };
    assert_caught(&Sessions::with_bug(bounds, Bug::SessionsSurviveFailedSync), Property::WriterContinues);
}

#[test]
fn bug_a_refused_packet_is_acknowledged() {
    let model = Sessions { queue: 2, ..Sessions::with_bug(CALM, Bug::RefusedIsAcknowledged) };
    assert_caught(&model, Property::Progress);
}

#[test]
fn bug_an_unfinished_record_continues_across_sessions() {
    let bounds = Budget { exchanges: 2, ..CALM };
    assert_caught(&Sessions::with_bug(bounds, Bug::UnfinishedContinues), Property::Progress);
}

#[test]
fn bug_stored_counts_whatever_epoch_it_is_about() {
    let bounds = Budget { exchanges: 2, device_reboots: 1, gateway_sends: 2, ..CALM };
    let model = Sessions { outbox: true, ..Sessions::with_bug(bounds, Bug::StoredNamesNoEpoch) };
    assert_caught(&model, Property::NothingConfirmedLost);
}
