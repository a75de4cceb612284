//! From rounds to figures: medians, and ratios to what bounds a durable transfer, within each round.
use std::{collections::BTreeSet, time::Duration};

use super::{
    BENCH, OF_THE_DISK,
    rounds::{GROUPS, Measured, Run},
    tallylink::SIDE,
};
use crate::{report::Figure, statistics::median};

/// Records there in a second; at Tallylink's, durable.
pub(super) const RATE: &str = "records_per_second";
/// Records that were wrong or missing, in all rounds.
pub(super) const ERRORS: &str = "errors";

/// All figures of one case.
pub(super) fn figures(measured: &Measured) -> Vec<Figure> {
    let mut figures = Vec::new();
    let bars = bars(measured);
    for (side, runs) in &measured.sides {
        let mut figure = |metric: String, unit: &str, value: f64, ratio: Option<f64>| {
            let (case, unit) = (measured.case.clone(), unit.to_owned());
            figures.push(Figure { bench: BENCH.into(), case, side: (*side).into(), metric, value, unit, ratio });
        };
        let ratio = median(runs.iter().zip(&bars).map(|(run, bar)| rate(run) / bar));
        figure(RATE.into(), "1/s", median(runs.iter().map(rate)), Some(ratio));
        let megabytes = |run: &Run| rate(run) * measured.size as f64 / 1e6;
        figure("payload".into(), "MB/s", median(runs.iter().map(megabytes)), None);
        figure(ERRORS.into(), "", runs.iter().map(|run| run.errors as f64).sum(), None);
        for (end, of) in ENDS {
            let names: BTreeSet<&String> = runs.iter().flat_map(|run| of(run).keys()).collect();
            let cpu = |run: &Run, name: Option<&String>| {
                let threads = of(run).iter().filter(|(thread, _)| name.is_none_or(|name| *thread == name));
                threads.map(|(_, cpu)| *cpu).sum::<Duration>().as_secs_f64() * 1e9 / run.records as f64
            };
            if !names.is_empty() {
                figure(format!("{end}_cpu_per_record"), "ns", median(runs.iter().map(|run| cpu(run, None))), None);
            }
            // A side with one thread has said it all.
            for name in names.iter().filter(|_| *side == SIDE) {
                let value = median(runs.iter().map(|run| cpu(run, Some(name))));
                figure(format!("{end} thread `{name}`"), "ns", value, None);
            }
        }
        let fills: Vec<_> = runs.iter().filter_map(|run| Some((run, run.fill?))).collect();
        if !fills.is_empty() {
            let rate = fills.iter().map(|(run, fill)| run.records as f64 / fill.elapsed.as_secs_f64());
            figure("filled_before".into(), "1/s", median(rate), None);
            let payload = |run: &Run| run.records as f64 * measured.size as f64;
            let written = fills.iter().map(|(run, fill)| fill.bytes_written as f64 / payload(run));
            figure("bytes_written_per_byte_filled".into(), "", median(written), None);
        }
    }
    figures
}

/// CPU of an end, by thread.
type Cpu = fn(&Run) -> &std::collections::BTreeMap<String, Duration>;

const ENDS: [(&str, Cpu); 2] = [("sender", |run| &run.sender), ("receiver", |run| &run.receiver)];

/// In each round, what a durable transfer could reach: quinn's rate without storing, or nearly the disk's, whichever is lower.
fn bars(measured: &Measured) -> Vec<f64> {
    let is_disk = |side: &str| GROUPS.iter().any(|(name, _)| *name == side);
    let best = |round: usize, disk: bool| {
        let sides = measured.sides.iter().filter(|(side, _)| *side != SIDE && is_disk(side) == disk);
        sides.filter_map(|(_, runs)| runs.get(round)).map(rate).fold(0.0, f64::max)
    };
    let rounds = measured.sides.iter().map(|(_, runs)| runs.len()).min().unwrap_or(0);
    (0..rounds).map(|round| best(round, false).min(OF_THE_DISK * best(round, true))).collect()
}

fn rate(run: &Run) -> f64 {
    run.records as f64 / run.elapsed.as_secs_f64()
}
