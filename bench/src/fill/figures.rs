//! What the rounds came to.

use super::BENCH;
use super::rounds::{Measured, SIDES, Side};
use crate::{meter::Spent, report::Figure, statistics::median};

pub(super) const TIME: &str = "time";
pub(super) const WRITTEN: &str = "bytes_written_per_byte";

/// One table: a column for each side.
pub(super) fn figures(measured: &Measured) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (at, side) in SIDES.into_iter().enumerate() {
        let of = |value: &dyn Fn(&Spent, f64) -> f64| {
            let rounds = measured.rounds.iter();
            median(rounds.map(|round| value(&round[at], measured.bytes)))
        };
        let to_file = |value: &dyn Fn(&Spent) -> f64| {
            let file = SIDES.iter().position(|side| *side == Side::File)?;
            (side != Side::File).then(|| median(measured.rounds.iter().map(|r| value(&r[at]) / value(&r[file]))))
        };
        let mut figure = |metric: &str, unit: &str, value: f64, ratio: Option<f64>| {
            figures.push(Figure {
                bench: BENCH.into(),
                case: measured.case.clone(),
                side: side.name().into(),
                metric: metric.into(),
                value,
                unit: unit.into(),
                ratio,
            });
        };
        let seconds = |round: &Spent| round.time.as_secs_f64();
        figure(TIME, "s", of(&|round, _| seconds(round)), to_file(&seconds));
        figure("rate", "MB/s", of(&|round, bytes| bytes / seconds(round) / 1e6), None);
        figure("cpu", "s", of(&|round, _| round.cpu.as_secs_f64()), to_file(&|round| round.cpu.as_secs_f64()));
        figure(WRITTEN, "", of(&|round, bytes| round.written as f64 / bytes), None);
    }
    figures
}
