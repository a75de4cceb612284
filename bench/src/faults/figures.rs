//! What became of the faults, and what may become of them.
use super::{BENCH, grid::Fault, trial::Outcome};
use crate::{
    marks::{Bound, Mark},
    report::Figure,
};

const FAILED: &str = "calls that failed";
const LOST: &str = "records lost";
const REPEATED: &str = "records repeated";
const LOST_BESIDE: &str = "neighbour's lost";
const WAITED_BESIDE: &str = "neighbour's longest wait, ms";
const GATEWAY_CPU: &str = "gateway's CPU, %";
const SENDER_CPU: &str = "sender's CPU, %";
const ENDED: &str = "processes that ended";
const STUCK: &str = "stuck";
const SECONDS: &str = "seconds until all is stored";

/// Percent of a core that someone who waits for the end of a fault may use.
const IDLE_MOST: f64 = 5.0;
/// The machine is busy, and syncs take what they take; a neighbour that must wait for the fault's end waits for seconds.
const WAIT_MOST_MS: f64 = 1_000.0;

/// A table for each whom it strikes: a row for each fault, and in its columns what became of it.
pub(super) fn figures(outcomes: &[(Fault, Outcome)]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (fault, outcome) in outcomes {
        let columns = [
            (FAILED, outcome.failed as f64),
            (LOST, outcome.lost as f64),
            (REPEATED, outcome.repeated as f64),
            (LOST_BESIDE, outcome.lost_beside as f64),
            (WAITED_BESIDE, outcome.waited_beside.as_secs_f64() * 1e3),
            (GATEWAY_CPU, outcome.gateway_cpu),
            (SENDER_CPU, outcome.sender_cpu),
            (ENDED, outcome.ended as f64),
            (STUCK, f64::from(outcome.stuck)),
            (SECONDS, outcome.seconds),
        ];
        figures.extend(columns.map(|(side, value)| Figure {
            bench: BENCH.into(),
            case: fault.place().into(),
            side: side.into(),
            metric: fault.name.clone(),
            value,
            unit: String::new(),
            ratio: None,
        }));
    }
    figures
}

/// All of it for each fault, and that it struck at all.
pub(super) fn marks(outcomes: &[(Fault, Outcome)]) -> Vec<Mark> {
    let of = |(fault, _): &(Fault, Outcome)| {
        let mut bounds = vec![
            (LOST, Bound::AtMost(0.0)),
            (REPEATED, Bound::AtMost(0.0)),
            (LOST_BESIDE, Bound::AtMost(0.0)),
            (GATEWAY_CPU, Bound::AtMost(IDLE_MOST)),
            (SENDER_CPU, Bound::AtMost(IDLE_MOST)),
            (ENDED, Bound::AtMost(0.0)),
            (STUCK, Bound::AtMost(0.0)),
        ];
        bounds.extend(fault.spares_others().then_some((WAITED_BESIDE, Bound::AtMost(WAIT_MOST_MS))));
        bounds.extend(fault.is_counted().then_some((FAILED, Bound::AtLeast(1.0))));
        let (case, metric) = (fault.place(), &fault.name);
        let mark =
            |(side, bound): (&str, _)| Mark { case: case.into(), side: side.into(), metric: metric.clone(), bound };
        bounds.into_iter().map(mark).collect::<Vec<_>>()
    };
    outcomes.iter().flat_map(of).collect()
}
