//! From rounds to figures: medians, and ratios to the reference within each round.
use super::{
    BENCH,
    rounds::{Measured, Round, SideRounds},
    side::End,
};
use crate::{report::Figure, statistics::median};

/// CPU of all threads for one record.
pub(crate) const CPU: &str = "cpu_per_record";
/// Records confirmed in a second.
pub(crate) const RATE: &str = "records_per_second";
/// Records that were wrong or missing, in all rounds.
pub(crate) const ERRORS: &str = "errors";

/// Sides whose cheapest is what others are compared with.
const REFERENCES: &str = "quinn-";

/// A figure as it is got from one round.
struct Metric {
    name: &'static str,
    unit: &'static str,
    compared: bool,
    of: fn(&Round) -> Option<f64>,
    /// Makes one of all rounds.
    over_rounds: fn(Vec<f64>) -> f64,
}

impl Metric {
    const fn new(name: &'static str, unit: &'static str, compared: bool, of: fn(&Round) -> Option<f64>) -> Self {
        Self { name, unit, compared, of, over_rounds: |values| median(values) }
    }
}

const METRICS: [Metric; 14] = [
    Metric::new(CPU, "ns", true, |round| Some(nanoseconds(round, round.cpu()))),
    Metric::new("sender_cpu_per_record", "ns", true, |round| of_end(round, End::Sender)),
    Metric::new("receiver_cpu_per_record", "ns", true, |round| of_end(round, End::Receiver)),
    Metric::new("other_cpu_per_record", "ns", false, |round| Some(nanoseconds(round, round.other_cpu))),
    Metric::new(RATE, "1/s", true, |round| Some(round.records as f64 / round.run.elapsed.as_secs_f64())),
    Metric::new("cpu_per_datagram", "ns", false, |round| {
        Some(round.cpu().as_secs_f64() * 1e9 / round.run.wire.datagrams as f64)
    }),
    Metric::new("records_per_datagram", "", false, |round| {
        Some(round.records as f64 / round.run.wire.datagrams as f64)
    }),
    Metric::new("datagrams", "", false, |round| Some(round.run.wire.datagrams as f64)),
    Metric::new("largest_datagram", "B", false, |round| Some(round.run.wire.largest as f64)),
    Metric::new("lost_packets", "", false, |round| Some(round.run.wire.lost as f64)),
    Metric::new("datagrams_per_send_call", "", false, |round| {
        Some(round.run.wire.datagrams as f64 / round.run.wire.send_calls? as f64)
    }),
    Metric::new("datagrams_per_receive_call", "", false, |round| {
        Some(round.run.wire.datagrams as f64 / round.run.wire.receive_calls? as f64)
    }),
    Metric {
        over_rounds: |values| values.into_iter().fold(f64::INFINITY, f64::min),
        ..Metric::new("least_cpu_of_a_round", "s", false, |round| Some(round.cpu().as_secs_f64()))
    },
    Metric {
        over_rounds: |values| values.into_iter().sum(),
        ..Metric::new(ERRORS, "", false, |round| Some(errors(round)))
    },
];

/// All figures of one case.
pub(crate) fn figures(measured: &Measured) -> Vec<Figure> {
    let reference = reference(&measured.sides);
    let mut figures = Vec::new();
    for side in &measured.sides {
        for metric in &METRICS {
            let values: Option<Vec<f64>> = side.rounds.iter().map(metric.of).collect();
            let Some(values) = values else {
                continue;
            };
            let reference = reference.filter(|_| metric.compared);
            figures.push(Figure {
                bench: BENCH.into(),
                case: measured.case.clone(),
                side: side.side.into(),
                metric: metric.name.into(),
                value: (metric.over_rounds)(values),
                unit: metric.unit.into(),
                ratio: reference.map(|reference| ratio(metric, side, reference)),
            });
        }
    }
    figures
}

/// The quinn that costs least.
fn reference(sides: &[SideRounds]) -> Option<&SideRounds> {
    let cost = |side: &SideRounds| {
        let cpu = |round: &Round| nanoseconds(round, round.cpu());
        median(side.rounds.iter().map(cpu))
    };
    let quinns = sides.iter().filter(|side| side.side.starts_with(REFERENCES));
    quinns.min_by(|a, b| cost(a).total_cmp(&cost(b)))
}

/// Compared within each round, since the machine may change from one to the next.
fn ratio(metric: &Metric, side: &SideRounds, reference: &SideRounds) -> f64 {
    let rounds = side.rounds.iter().zip(&reference.rounds);
    median(rounds.filter_map(|(round, reference)| Some((metric.of)(round)? / (metric.of)(reference)?)))
}

fn of_end(round: &Round, end: End) -> Option<f64> {
    let threads = round.run.threads.iter().filter(|thread| thread.end == end);
    let work = threads.map(|thread| thread.work).sum();
    Some(nanoseconds(round, work))
}

fn nanoseconds(round: &Round, cpu: std::time::Duration) -> f64 {
    cpu.as_secs_f64() * 1e9 / round.records as f64
}

fn errors(round: &Round) -> f64 {
    let checked = round.run.checked;
    (checked.wrong + checked.records.abs_diff(round.records)) as f64
}
