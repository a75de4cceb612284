//! What the rounds came to.
use super::{BENCH, Case, Round, SIDES, Side};
use crate::{meter::Spent, report::Figure, statistics::median};

pub(super) const CPU: &str = "append_cpu_per_record";
pub(super) const WRITTEN: &str = "bytes_written_per_byte";
pub(super) const ERRORS: &str = "errors";

pub(super) fn name(case: &Case) -> String {
    format!("{} B", case.workload.size())
}

/// One table: a column for each side, its CPU beside SQLite's.
pub(super) fn figures(case: &Case) -> Vec<Figure> {
    let size = case.workload.size() as f64;
    let mut figures = Vec::new();
    for (at, side) in SIDES.into_iter().enumerate() {
        let all = |value: &dyn Fn(&Round) -> f64| median(case.rounds.iter().map(|round| value(&round[at])));
        let to_sqlite = |value: &dyn Fn(&Round) -> f64| {
            let sqlite = SIDES.iter().position(|side| *side == Side::Sqlite)?;
            (side != Side::Sqlite)
                .then(|| median(case.rounds.iter().map(|round| value(&round[at]) / value(&round[sqlite]))))
        };
        let mut figure = |metric: &str, unit: &str, value: f64, ratio: Option<f64>| {
            figures.push(Figure {
                bench: BENCH.into(),
                case: name(case),
                side: side.name(),
                metric: metric.into(),
                value,
                unit: unit.into(),
                ratio,
            });
        };
        let cpu = |spent: &Spent, round: &Round| spent.cpu.as_secs_f64() * 1e6 / round.records as f64;
        let rate = |spent: &Spent, round: &Round| round.records as f64 * size / spent.time.as_secs_f64() / 1e6;
        figure(CPU, "µs", all(&|r| cpu(&r.append, r)), to_sqlite(&|r| cpu(&r.append, r)));
        figure("append_rate", "MB/s", all(&|r| rate(&r.append, r)), None);
        figure(WRITTEN, "", all(&|r| r.append.written as f64 / (r.records as f64 * size)), None);
        figure("read_cpu_per_record", "µs", all(&|r| cpu(&r.read, r)), to_sqlite(&|r| cpu(&r.read, r)));
        figure("read_rate", "MB/s", all(&|r| rate(&r.read, r)), None);
        figure("recover_time", "ms", all(&|r| r.recover.time.as_secs_f64() * 1e3), None);
        figure("recover_cpu", "ms", all(&|r| r.recover.cpu.as_secs_f64() * 1e3), None);
        figure("records", "", all(&|r| r.records as f64), None);
        figure(ERRORS, "", case.rounds.iter().map(|round| round[at].errors as f64).sum(), None);
    }
    figures
}
