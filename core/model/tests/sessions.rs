//! Set-up and delivery: proofs of the rules, and planted bugs that the search must find.

mod common;

use common::{assert_caught, assert_holds};
use tallylink_model::Property;
use tallylink_model::sessions::{Budget, Bug, Sessions};

const CALM: Budget = Budget {
    pushes: 2,
    exchanges: 1,
    device_sends: 2,
    gateway_sends: 1,
    ..Budget::NOTHING
};

#[test]
fn records_arrive_once_whatever_the_network_repeats_and_reorders() {
    assert_holds(&Sessions::new(Budget {
        device_sends: 3,
        ..CALM
    }));
}

#[test]
fn a_gateway_crash_loses_nothing_confirmed() {
    assert_holds(&Sessions::new(Budget {
        exchanges: 2,
        gateway_crashes: 1,
        ..CALM
    }));
}
