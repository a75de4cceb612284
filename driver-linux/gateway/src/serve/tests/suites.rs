//! The suites of the configuration are core's.

use tallylink_core::crypto::Suites;

use crate::config::Config;
use crate::serve::settings;

#[test]
fn without_a_configuration_every_suite_is_accepted() {
    assert_eq!(settings(&Config::default()).config.suites, Suites::ALL);
}
