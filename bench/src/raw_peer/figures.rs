//! What the attacks came to, and what they may come to.
use super::{BENCH, play::Played};
use crate::{
    marks::{Bound, Mark},
    report::Figure,
};

const WORST: &str = "worst cost, µs";
const UNEXPECTED: &str = "unexpected";
const MISSING: &str = "missing";

/// Microseconds that any datagram may take.
const WORST_MOST: f64 = 1000.0;

/// One table for each end that is attacked: a row for each attack, named for what its datagrams must come to.
pub(super) fn figures(played: &[Played]) -> Vec<Figure> {
    let of = |played: &Played| {
        let report = &played.report;
        let row = [
            ("datagrams", report.datagrams as f64),
            (WORST, played.worst as f64 / 1000.0),
            (UNEXPECTED, unexpected(played) as f64),
            (MISSING, missing(played) as f64),
            ("most calls of the driver", report.most_calls as f64),
            ("packets back", report.sent as f64),
            ("stored of the other peer", report.served as f64),
        ];
        let (case, metric) = (case(played), name(played));
        row.map(|(side, value)| Figure {
            bench: BENCH.into(),
            case: case.clone(),
            side: side.into(),
            metric: metric.clone(),
            value,
            unit: String::new(),
            ratio: None,
        })
    };
    played.iter().flat_map(of).collect()
}

/// All of it for each attack. That the other peer was served is no mark: the attack ends at once when it is not.
pub(super) fn marks(played: &[Played]) -> Vec<Mark> {
    let of = |played: &Played| {
        let (case, metric) = (case(played), name(played));
        [(WORST, WORST_MOST), (UNEXPECTED, 0.0), (MISSING, 0.0)].map(|(side, most)| Mark {
            case: case.clone(),
            side: side.into(),
            metric: metric.clone(),
            bound: Bound::AtMost(most),
        })
    };
    played.iter().flat_map(of).collect()
}

fn case(played: &Played) -> String {
    format!("at a {}", played.on())
}

fn name(played: &Played) -> String {
    format!("{}: {}", played.attack.name, played.attack.outcomes.join(", "))
}

/// Datagrams that came to something else.
fn unexpected(played: &Played) -> u64 {
    let outcomes = played.report.outcomes.iter();
    outcomes.filter(|(outcome, _)| !played.attack.outcomes.contains(outcome)).map(|(_, n)| n).sum()
}

/// Outcomes that none of them came to.
fn missing(played: &Played) -> usize {
    played.attack.outcomes.iter().filter(|outcome| !played.report.outcomes.contains_key(*outcome)).count()
}
