//! From runs to figures: medians.
use super::{
    BENCH,
    contest::{Contest, Played, Watched},
};
use crate::{
    marks::{Bound, Mark},
    report::Figure,
    statistics::{jain, median},
};

/// The column of what all flows together come to.
const ALL: &str = "all flows";
const JAIN: &str = "jains_index";
/// Bytes that went through the bottleneck, as a share of what could.
const USED: &str = "utilisation";
const ERRORS: &str = "errors";
const OVERRUNS: &str = "lab_overruns";

const JAIN_LEAST: f64 = 0.95;
const USED_LEAST: f64 = 0.95;

pub(super) fn figures(results: &[Played]) -> Vec<Figure> {
    results.iter().flat_map(of_case).collect()
}

fn of_case(played: &Played) -> Vec<Figure> {
    let figure = |side: &str, metric: &str, unit: &str, value: f64| Figure {
        bench: BENCH.into(),
        case: played.case.clone(),
        side: side.into(),
        metric: metric.into(),
        value,
        unit: unit.into(),
        ratio: None,
    };
    let over = |of: &dyn Fn(&Watched) -> f64| median(played.runs.iter().map(of));
    let total = |of: &dyn Fn(&Watched) -> f64| played.runs.iter().map(of).sum::<f64>();
    let rates = |run: &Watched| run.flows.iter().map(|flow| flow.rate).collect::<Vec<_>>();
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len() as f64 / 1e6;
    let used = |run: &Watched| run.queue.passed_bytes as f64 * 8.0 / (played.rate as f64 * run.lasted.as_secs_f64());
    let wrong = |run: &Watched| run.flows.iter().map(|flow| flow.wrong).sum::<u64>() as f64;

    let [ours, others] = played.sides;
    let others = if ours == others { format!("{others}, the others") } else { others.to_owned() };
    vec![
        figure(ALL, JAIN, "", over(&|run| jain(&rates(run)))),
        figure(ALL, USED, "", over(&used)),
        figure(ALL, "mean_wait_in_queue", "ms", over(&|run| run.queue.mean_wait_ms())),
        figure(ALL, "longest_wait_in_queue", "ms", over(&|run| run.queue.longest_us as f64 / 1e3)),
        figure(ALL, "packets_that_found_the_queue_full", "", over(&|run| run.router.counters.queue_full as f64)),
        figure(ALL, "router_busy", "", over(&|run| run.router.busy())),
        figure(ALL, OVERRUNS, "", total(&|run| run.router.overruns as f64)),
        figure(ALL, ERRORS, "", total(&wrong)),
        figure(ours, "mean_goodput_of_a_flow", "Mbit/s", over(&|run| mean(&rates(run)[..run.ours]))),
        figure(&others, "mean_goodput_of_a_flow", "Mbit/s", over(&|run| mean(&rates(run)[run.ours..]))),
    ]
}

pub(super) fn marks(contests: &[Contest]) -> Vec<Mark> {
    let of = |contest: &Contest| {
        let bounds = [
            (JAIN, Bound::AtLeast(JAIN_LEAST)),
            (USED, Bound::AtLeast(USED_LEAST)),
            (ERRORS, Bound::AtMost(0.0)),
            (OVERRUNS, Bound::AtMost(0.0)),
        ];
        let case = contest.name();
        bounds.map(|(metric, bound)| Mark { case: case.clone(), side: ALL.into(), metric: metric.into(), bound })
    };
    contests.iter().flat_map(of).collect()
}
