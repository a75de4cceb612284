//! Figures of the trials, each with its mark where it has one.
use super::BENCH;
use crate::{
    marks::{Bound, Mark},
    report::Figure,
};

/// What was found, and what was to be found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) figures: Vec<Figure>,
    pub(super) marks: Vec<Mark>,
}

impl Found {
    pub(super) fn add(&mut self, case: &str, side: &str, metric: &'static str, unit: &str, value: f64) {
        self.put(case, side, metric, unit, value, None);
    }

    /// ... compared with a reference.
    pub(super) fn compare(
        &mut self,
        case: &str,
        side: &str,
        metric: &'static str,
        unit: &str,
        (value, ratio): (f64, f64),
    ) {
        self.put(case, side, metric, unit, value, Some(ratio));
    }

    pub(super) fn mark(&mut self, case: &str, side: &str, metric: &'static str, bound: Bound) {
        self.marks.push(Mark { case: case.into(), side: side.into(), metric: metric.into(), bound });
    }

    fn put(&mut self, case: &str, side: &str, metric: &str, unit: &str, value: f64, ratio: Option<f64>) {
        let bench = BENCH.into();
        let (case, side, metric, unit) = (case.into(), side.into(), metric.into(), unit.into());
        self.figures.push(Figure { bench, case, side, metric, value, unit, ratio });
    }
}
