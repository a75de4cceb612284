//! From rounds to figures: medians, and ratios to the reference within each round.
use super::{
    BENCH,
    cases::Case,
    play::{Played, Round, SideRounds},
};
use crate::{
    marks::{Bound, Mark},
    report::Figure,
    statistics::median,
    transport::sides::SideName,
};

/// The first side with such a name is what others are compared with.
const REFERENCES: &str = "quinn-";
/// What must keep the marks.
const JUDGED: &str = "tallylink-gcm";

/// Payload of records per second.
const GOODPUT: &str = "goodput";
/// What went again, as a share of the packets sent: a side that does not count it has the packets that it declared lost.
const REPEATED: &str = "share_retransmitted";
const ERRORS: &str = "errors";
/// Packets that the lab itself lost, in all rounds.
const OVERRUNS: &str = "lab_overruns";
const BUSY: &str = "router_busy";

struct Metric {
    name: &'static str,
    unit: &'static str,
    compared: bool,
    of: fn(&Played, &Round) -> Option<f64>,
    over_rounds: fn(&[f64]) -> f64,
}

const METRICS: [Metric; 14] = [
    Metric::compared(GOODPUT, "Mbit/s", |played, round| {
        Some(round.records as f64 * f64::from(played.size) * 8e-6 / round.run.elapsed.as_secs_f64())
    }),
    Metric::compared("cpu_per_record", "ns", |_, round| {
        let work: f64 = round.run.threads.iter().map(|thread| thread.work.as_secs_f64()).sum();
        Some(work * 1e9 / round.records as f64)
    }),
    Metric::plain(REPEATED, "", |_, round| {
        let wire = &round.run.wire;
        Some(wire.repairs.map_or(wire.lost, |repairs| repairs.repeated) as f64 / datagrams(round)?)
    }),
    Metric::plain("share_lost_on_the_way", "", |_, round| {
        let counters = &round.router.counters;
        Some((counters.lost + counters.queue_full) as f64 / counters.arrived as f64)
    }),
    Metric::plain("dropped_by_sockets", "", |_, round| Some(round.router.socket_drops as f64)),
    Metric::plain("spurious_losses", "", |_, round| Some(round.run.wire.repairs?.spurious as f64)),
    Metric::plain("chunks_repeated", "", |_, round| Some(round.run.wire.repairs?.repeated as f64)),
    Metric::plain("probes", "", |_, round| Some(round.run.wire.repairs?.probes as f64)),
    Metric::plain("datagrams", "", |_, round| datagrams(round)),
    Metric::plain("mean_wait_in_queue", "ms", |_, round| Some(round.router.queue.mean_wait_ms())),
    Metric::plain("seconds", "s", |_, round| Some(round.run.elapsed.as_secs_f64())),
    Metric { over_rounds: most, ..Metric::plain(BUSY, "", |_, round| Some(round.router.busy())) },
    Metric { over_rounds: total, ..Metric::plain(OVERRUNS, "", |_, round| Some(round.router.overruns as f64)) },
    Metric {
        over_rounds: total,
        ..Metric::plain(ERRORS, "", |_, round| {
            let checked = round.run.checked;
            Some((checked.wrong + checked.records.abs_diff(round.records)) as f64)
        })
    },
];

impl Metric {
    const fn plain(name: &'static str, unit: &'static str, of: fn(&Played, &Round) -> Option<f64>) -> Self {
        Self { name, unit, compared: false, of, over_rounds: |values| median(values.iter().copied()) }
    }

    const fn compared(name: &'static str, unit: &'static str, of: fn(&Played, &Round) -> Option<f64>) -> Self {
        Self { compared: true, ..Self::plain(name, unit, of) }
    }
}

pub(super) fn figures(played: &Played) -> Vec<Figure> {
    let reference = played.sides.iter().find(|side| side.side.starts_with(REFERENCES));
    let mut figures = Vec::new();
    for side in &played.sides {
        for metric in &METRICS {
            let values: Option<Vec<f64>> = side.rounds.iter().map(|round| (metric.of)(played, round)).collect();
            let Some(values) = values else {
                continue;
            };
            let reference = reference.filter(|_| metric.compared);
            figures.push(Figure {
                bench: BENCH.into(),
                case: played.case.clone(),
                side: side.side.into(),
                metric: metric.name.into(),
                value: (metric.over_rounds)(&values),
                unit: metric.unit.into(),
                ratio: reference.map(|reference| ratio(metric, played, side, reference)),
            });
        }
    }
    figures
}

/// Every side must bring every record unharmed over a network that the lab itself did not spoil; Tallylink must keep up.
pub(super) fn marks(cases: &[Case], sides: &[SideName]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for case in cases {
        let mut mark = |side: &str, metric: &str, bound| {
            marks.push(Mark { case: case.name.clone(), side: side.into(), metric: metric.into(), bound });
        };
        for side in sides {
            let side = side.side();
            mark(side.name(), ERRORS, Bound::AtMost(0.0));
            mark(side.name(), OVERRUNS, Bound::AtMost(0.0));
        }
        if let Some(least) = case.least_goodput {
            mark(JUDGED, GOODPUT, Bound::RatioAtLeast(least));
        }
        if let Some(most) = case.most_repeated {
            mark(JUDGED, REPEATED, Bound::AtMost(most));
        }
    }
    marks
}

/// Compared within each round, since the machine may change from one to the next.
fn ratio(metric: &Metric, played: &Played, side: &SideRounds, reference: &SideRounds) -> f64 {
    let rounds = side.rounds.iter().zip(&reference.rounds);
    median(rounds.filter_map(|(round, reference)| Some((metric.of)(played, round)? / (metric.of)(played, reference)?)))
}

/// Sent by the sender, where its side counts them.
fn datagrams(round: &Round) -> Option<f64> {
    let datagrams = round.run.wire.datagrams;
    (datagrams > 0).then_some(datagrams as f64)
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

fn total(values: &[f64]) -> f64 {
    values.iter().sum()
}
