//! What became of the faults, and what may become of them.
use super::{BENCH, grid::Fault, trial::Outcome};
use crate::{
    marks::{Bound, Mark},
    report::Figure,
};

const LOST: &str = "records lost";
const REPEATED: &str = "records repeated";
const STUCK: &str = "stuck";

/// A table for each place: a row for each fault, and in its columns what became of it.
pub(super) fn figures(outcomes: &[(Fault, Outcome)]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (fault, outcome) in outcomes {
        let mut figure = |side: &str, value: f64| {
            figures.push(Figure {
                bench: BENCH.into(),
                case: fault.place.name().into(),
                side: side.into(),
                metric: fault.name.clone(),
                value,
                unit: String::new(),
                ratio: None,
            });
        };
        figure("failures counted", outcome.failures as f64);
        figure("recovered by itself", f64::from(u8::from(outcome.exit.is_none() && !outcome.stuck)));
        figure("exit code", f64::from(outcome.exit.unwrap_or(0)));
        figure(STUCK, f64::from(u8::from(outcome.stuck)));
        figure(LOST, outcome.lost as f64);
        figure(REPEATED, outcome.repeated as f64);
        figure("seconds until all is stored", outcome.seconds);
    }
    figures
}

/// All of it for each fault.
pub(super) fn marks(outcomes: &[(Fault, Outcome)]) -> Vec<Mark> {
    let of = |(fault, _): &(Fault, Outcome)| {
        let (case, metric) = (fault.place.name().to_owned(), fault.name.clone());
        [LOST, REPEATED, STUCK].map(|side| Mark {
            case: case.clone(),
            side: side.into(),
            metric: metric.clone(),
            bound: Bound::AtMost(0.0),
        })
    };
    outcomes.iter().flat_map(of).collect()
}
