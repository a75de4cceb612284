//! What became of the datagrams, as figures.
use super::{
    BENCH, Case,
    receivers::{Outcome, Side},
};
use crate::{report::Figure, statistics::median};

pub(super) const STORED: &str = "stored";
pub(super) const SECONDS: &str = "seconds";
pub(super) const ALTERED: &str = "altered_or_out_of_order";

/// One table: a column for each receiver. Times stand beside that of the fastest of the others.
pub(super) fn figures(case: &Case, sides: &[Side], sent: u64) -> Vec<Figure> {
    let all = |side: Side| case.rounds.iter().flatten().filter(move |(of, _)| *of == side).map(|(_, outcome)| outcome);
    let seconds = |side: Side| median(all(side).map(|outcome| outcome.seconds));
    let others = sides.iter().filter(|side| **side != Side::Tallylink);
    let fastest = others.map(|side| seconds(*side)).fold(f64::INFINITY, f64::min);
    let mut figures = Vec::new();
    for &side in sides {
        let mut figure = |metric: &str, unit: &str, value: f64, ratio: Option<f64>| {
            figures.push(Figure {
                bench: BENCH.into(),
                case: case.name.clone(),
                side: side.name(),
                metric: metric.into(),
                value,
                unit: unit.into(),
                ratio,
            });
        };
        let most = |of: &dyn Fn(&Outcome) -> u64| all(side).map(of).max().unwrap_or(0) as f64;
        figure("sent", "", sent as f64, None);
        figure(STORED, "", all(side).map(|outcome| outcome.stored).min().unwrap_or(0) as f64, None);
        figure("lost_in_the_kernel", "", most(&|outcome| outcome.lost_in_kernel), None);
        figure("lost_in_the_queue", "", most(&|outcome| outcome.lost_in_queue), None);
        figure(ALTERED, "", most(&|outcome| outcome.altered), None);
        figure(SECONDS, "s", seconds(side), Some(seconds(side) / fastest));
    }
    figures
}
