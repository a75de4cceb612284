//! Shared by the models' tests: a proof must be complete and must have reached what it is about.

use tallylink_model::Property;
use tallylink_model::explore::{Limits, Model, Outcome, explore};

/// All properties hold in every state within the bounds, and every situation named in `reaching` was reached.
#[track_caller]
pub(crate) fn assert_proved<M: Model>(model: &M, reaching: &[&str]) {
    let report = explore(model, Limits::default());
    println!("{} states, {} transitions, depth {}", report.states, report.transitions, report.depth);
    match &report.outcome {
        Outcome::Proved => {}
        Outcome::Unfinished => panic!("the search was cut at {} states", report.states),
        Outcome::Violated(found) => panic!("{found}"),
    }
    for name in reaching {
        assert!(model.landmark_names().contains(name), "no situation is called {name:?}");
        assert!(!report.missed_landmarks.contains(name), "the bounds never reach: {name}");
    }
}

/// The search finds that `property` does not hold.
#[track_caller]
pub(crate) fn assert_caught<M: Model>(model: &M, property: Property) {
    let report = explore(model, Limits::default());
    match &report.outcome {
        Outcome::Violated(found) => {
            println!("{} states\n{found}", report.states);
            assert_eq!(found.violation.property, property, "{found}");
        }
        other => panic!("the planted bug went unnoticed: {other:?} after {} states", report.states),
    }
}
