//! What all worlds came to.
use super::{
    BENCH,
    check::Tally,
    terms::Disk,
    world::{Counts, Outcome},
};
use crate::{
    marks::{Bound, Mark},
    report::Figure,
};

const CASE: &str = "both sides killed";

/// Something that is counted.
type Counted = (&'static str, fn(&Tally) -> u64);

/// What must be zero.
const FAULTS: [Counted; 6] = [
    ("lost", |tally| tally.lost),
    ("repeated", |tally| tally.repeated),
    ("out_of_order", |tally| tally.out_of_order),
    ("altered", |tally| tally.altered),
    ("stored_taken_back", |tally| tally.taken_back),
    ("damaged", |tally| tally.damaged),
];
/// Worlds that found no end, or whose processes ended by themselves.
const BROKEN: &str = "worlds_broken";

const SIDES: [(Disk, &str); 2] = [(Disk::Files, "real files"), (Disk::Volatile, "power cuts")];

/// A column for each kind of disk.
pub(super) fn figures(outcomes: &[Outcome]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (side, of_side) in sides(outcomes) {
        let mut figure = |metric: &str, unit: &str, value: u64| {
            figures.push(Figure {
                bench: BENCH.into(),
                case: CASE.into(),
                side: side.into(),
                metric: metric.into(),
                value: value as f64,
                unit: unit.into(),
                ratio: None,
            });
        };
        let count = |of: fn(&Counts) -> u32| of_side.iter().map(|outcome| u64::from(of(&outcome.counts))).sum();
        let sum = |of: fn(&Outcome) -> u64| of_side.iter().map(|outcome| of(outcome)).sum();
        figure("worlds", "", of_side.len() as u64);
        figure("gateway_power_cuts", "", count(|counts| counts.gateway_cuts));
        figure("sender_power_cuts", "", count(|counts| counts.sender_cuts));
        figure("gateway_kills", "", count(|counts| counts.gateway_kills));
        figure("sender_kills", "", count(|counts| counts.sender_kills));
        figure("deaths_at_once", "", count(|counts| counts.together));
        figure("journals_checked", "", count(|counts| counts.checks));
        figure("openings_of_senders", "", sum(|outcome| u64::from(outcome.openings)));
        figure("records_pushed", "", sum(|outcome| outcome.pushed));
        figure("durable_at_senders", "", sum(|outcome| outcome.durable));
        figure("STORED_at_senders", "", sum(|outcome| outcome.stored));
        figure("in_the_journals", "", sum(|outcome| outcome.tally.records));
        figure("bytes_in_the_journals", "B", sum(|outcome| outcome.tally.bytes));
        for (metric, of) in FAULTS {
            figure(metric, "", of_side.iter().map(|outcome| of(&outcome.tally)).sum());
        }
        figure(BROKEN, "", of_side.iter().filter(|outcome| outcome.complaint().is_some()).count() as u64);
    }
    figures
}

/// Nothing may be wrong.
pub(super) fn marks(outcomes: &[Outcome]) -> Vec<Mark> {
    let metrics = || FAULTS.iter().map(|(metric, _)| *metric).chain([BROKEN]);
    let mark = |side: &str, metric: &str| Mark {
        case: CASE.into(),
        side: side.into(),
        metric: metric.into(),
        bound: Bound::AtMost(0.0),
    };
    sides(outcomes).iter().flat_map(|(side, _)| metrics().map(move |metric| mark(side, metric))).collect()
}

/// The outcomes of each kind of disk that was asked for.
fn sides(outcomes: &[Outcome]) -> Vec<(&'static str, Vec<&Outcome>)> {
    let of = |disk| outcomes.iter().filter(move |outcome| outcome.terms.disk == disk).collect();
    SIDES.into_iter().map(|(disk, side)| (side, of(disk))).filter(|(_, of): &(_, Vec<_>)| !of.is_empty()).collect()
}
