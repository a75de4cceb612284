//! Shared by the models' tests: a proof must be complete and must have reached what it is about.

use tallylink_model::Property;
use tallylink_model::explore::{Limits, Model, Outcome, Report, explore};

/// All properties hold in every state within the bounds, and every situation of interest was reached.
#[track_caller]
pub fn assert_proved<M: Model>(model: &M) {
    let report = assert_holds(model);
    assert!(
        report.missed_landmarks.is_empty(),
        "the bounds never reach: {:?}",
        report.missed_landmarks
    );
}

/// All properties hold in every state within the bounds.
#[track_caller]
pub fn assert_holds<M: Model>(model: &M) -> Report {
    let report = explore(model, Limits::default());
    println!(
        "{} states, {} transitions, depth {}",
        report.states, report.transitions, report.depth
    );
    match &report.outcome {
        Outcome::Proved => report,
        Outcome::Unfinished => panic!("the search was cut at {} states", report.states),
        Outcome::Violated(found) => panic!("{found}"),
    }
}

/// The search finds that `property` does not hold.
#[track_caller]
pub fn assert_caught<M: Model>(model: &M, property: Property) {
    let report = explore(model, Limits::default());
    match &report.outcome {
        Outcome::Violated(found) => {
            println!("{} states\n{found}", report.states);
            assert_eq!(found.violation.property, property, "{found}");
        }
        other => panic!(
            "the planted bug went unnoticed: {other:?} after {} states",
            report.states
        ),
    }
}
