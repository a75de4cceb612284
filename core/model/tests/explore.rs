//! The search itself: shortest traces, and completions that must exist from everywhere.

use tallylink_model::explore::{Limits, Model, Outcome, explore};
use tallylink_model::{Property, Violation};

/// A counter that may go up by one or two; `forbidden` must not be reached, from `trap` nothing goes on.
struct Counter {
    forbidden: Option<u8>,
    trap: Option<u8>,
}

const END: u8 = 20;

impl Model for Counter {
    type State = u8;
    type Event = u8;

    fn initial(&self) -> u8 {
        0
    }

    fn events(&self, state: &u8, into: &mut Vec<u8>) {
        if Some(*state) != self.trap {
            into.extend((1..=2).filter(|step| state + step <= END));
        }
    }

    fn apply(&self, state: &u8, event: u8) -> Result<u8, Violation> {
        Ok(state + event)
    }

    fn check(&self, state: &u8) -> Result<(), Violation> {
        match self.forbidden {
            Some(forbidden) if forbidden == *state => {
                Err(Violation::new(Property::Bounded, format!("reached {state}")))
            }
            _ => Ok(()),
        }
    }

    fn complete(&self, state: &u8) -> bool {
        *state == END
    }

    fn calm(&self, state: &u8, into: &mut Vec<u8>) -> Result<(), Violation> {
        let mut steps = Vec::new();
        self.events(state, &mut steps);
        into.extend(steps.into_iter().map(|step| state + step));
        Ok(())
    }

    fn landmarks(&self, state: &u8) -> u32 {
        u32::from(*state == END)
    }

    fn landmark_names(&self) -> &'static [&'static str] {
        &["the end", "never"]
    }
}

#[test]
fn every_state_is_visited_once() {
    let report = explore(&Counter { forbidden: None, trap: None }, Limits::default());
    assert!(matches!(report.outcome, Outcome::Proved));
    assert_eq!((report.states, report.depth), (usize::from(END) + 1, usize::from(END) / 2));
    assert_eq!(report.missed_landmarks, ["never"]);
}

#[test]
fn the_trace_of_a_violation_is_a_shortest_one() {
    let report = explore(&Counter { forbidden: Some(7), trap: None }, Limits::default());
    let Outcome::Violated(found) = report.outcome else { panic!("not found") };
    assert_eq!(found.violation, Violation::new(Property::Bounded, "reached 7"));
    assert_eq!(found.trace.len(), 4);
}

#[test]
fn a_state_without_a_way_on_is_found() {
    let report = explore(&Counter { forbidden: None, trap: Some(5) }, Limits::default());
    let Outcome::Violated(found) = report.outcome else { panic!("not found") };
    assert_eq!(found.violation.property, Property::Progress);
}

#[test]
fn a_search_that_is_cut_proves_nothing() {
    let limits = Limits { states: 3, ..Limits::default() };
    let report = explore(&Counter { forbidden: None, trap: None }, limits);
    assert!(matches!(report.outcome, Outcome::Unfinished));
}
