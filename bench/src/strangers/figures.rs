//! What the attacks came to, and what they may come to.
use std::collections::BTreeSet;

use super::{BENCH, attack::Attack, flood::Flooded, mirror::Mirrored};
use crate::{
    marks::{Bound, Mark},
    report::Figure,
};

const CASE: &str = "a gateway in a process of its own";
const STORED: &str = "records_stored";
const DELIVERED: &str = "records_delivered";
const SESSIONS: &str = "sessions_begun";
const JOURNAL: &str = "journal_changed";
const ANSWERED: &str = "bytes_sent_per_byte_received";
const GROWN: &str = "memory_grown";
const NAMELESS: &str = "datagrams_without_a_reason";
const UNGIVEN: &str = "expected_reasons_not_given";

const FLOODS: &str = "floods from 65,000 addresses";
const LINES: &str = "log_lines";
const P99_RATIO: &str = "p99_to_stored_beside_to_alone";
const SERVED: &str = "served_after";
const MIRRORS: &str = "what is sent on, or back";
const DIFFERS: &str = "journal_differs";
const ANSWERS: &str = "answers_in_a_row";

/// KiB by which the memory in use may differ: pages that are touched for the first time, however many datagrams come.
const GROWN_MOST: f64 = 1024.0;

/// One table: a column for each attack; its last rows are the counters by the name of the reason.
pub(super) fn figures(attacks: &[Attack]) -> Vec<Figure> {
    let given: BTreeSet<&str> =
        attacks.iter().flat_map(Attack::discarded).filter(|(_, n)| *n > 0).map(|(why, _)| why).collect();
    let mut figures = Vec::new();
    for attack in attacks {
        let mut figure = |metric: &str, unit: &str, value: Option<f64>| {
            figures.extend(value.map(|value| Figure {
                bench: BENCH.into(),
                case: CASE.into(),
                side: attack.name.into(),
                metric: metric.into(),
                value,
                unit: unit.into(),
                ratio: None,
            }));
        };
        let counted = |subject, name| attack.counted(subject, name).map(|n| n as f64);
        let (received, sent) = (counted("socket", "bytes_received"), counted("socket", "bytes_sent"));
        figure("datagrams_received", "", counted("socket", "datagrams_received"));
        figure("bytes_received", "B", received);
        figure("bytes_sent", "B", sent);
        figure(ANSWERED, "", received.zip(sent).map(|(received, sent)| sent / received));
        figure(STORED, "", counted("journal", "appended_records"));
        figure(DELIVERED, "", counted("protocol", "records_delivered"));
        figure(SESSIONS, "", counted("protocol", "sessions"));
        figure(JOURNAL, "", Some(f64::from(attack.journal_changed)));
        figure(GROWN, "KiB", Some(attack.grown() as f64 / 1024.0));
        figure(NAMELESS, "", nameless(attack));
        figure(UNGIVEN, "", Some(ungiven(attack) as f64));
        for (why, n) in attack.discarded().filter(|(why, _)| given.contains(why)) {
            figure(&format!("discarded.{why}"), "", Some(n as f64));
        }
    }
    figures
}

/// All of it for each attack.
pub(super) fn marks(attacks: &[Attack]) -> Vec<Mark> {
    let bounds = [
        (STORED, 0.0),
        (DELIVERED, 0.0),
        (SESSIONS, 0.0),
        (JOURNAL, 0.0),
        (ANSWERED, 1.0),
        (GROWN, GROWN_MOST),
        (NAMELESS, 0.0),
        (UNGIVEN, 0.0),
    ];
    let of = |attack: &Attack| {
        let side = attack.name.to_owned();
        bounds.map(|(metric, most)| Mark {
            case: CASE.into(),
            side: side.clone(),
            metric: metric.into(),
            bound: Bound::AtMost(most),
        })
    };
    attacks.iter().flat_map(of).collect()
}

/// Datagrams that no reason accounts for. The limit of answers is counted beside the reason that would have been answered,
/// or for a HELLO that is genuine.
fn nameless(attack: &Attack) -> Option<f64> {
    let seen = attack.counted("socket", "datagrams_received")?;
    let named: u64 = attack.discarded().filter(|(why, _)| *why != "reply_limit").map(|(_, n)| n).sum();
    Some(seen.saturating_sub(named + attack.genuine_hellos) as f64)
}

fn ungiven(attack: &Attack) -> usize {
    attack.expected.iter().filter(|why| attack.counted("discarded", why).unwrap_or(0) == 0).count()
}

/// Two tables: the floods, and the mirrors.
pub(super) fn of_floods(floods: &[Flooded], mirrored: &Mirrored) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut figure = |case: &str, side: &str, metric: &str, unit: &str, value: f64| {
        let (bench, case, side) = (BENCH.into(), case.into(), side.into());
        figures.push(Figure { bench, case, side, metric: metric.into(), value, unit: unit.into(), ratio: None });
    };
    for flood in floods {
        let mut figure = |metric: &str, unit: &str, value| figure(FLOODS, flood.name, metric, unit, value);
        figure("datagrams_sent", "", flood.sent as f64);
        figure("datagrams_received", "", flood.received as f64);
        figure("received_a_second", "", flood.received as f64 / flood.seconds);
        figure("bytes_received", "B", flood.bytes_received as f64);
        figure("bytes_sent", "B", flood.bytes_sent as f64);
        figure(ANSWERED, "", flood.bytes_sent as f64 / flood.bytes_received as f64);
        figure(GROWN, "KiB", flood.grown as f64 / 1024.0);
        figure(LINES, "", flood.log_lines as f64);
        if let Some((alone, beside)) = flood.p99 {
            figure("p99_to_stored_alone", "ms", alone);
            figure("p99_to_stored_beside", "ms", beside);
            figure(P99_RATIO, "", beside / alone);
        }
        if let Some(seconds) = flood.served_after {
            figure(SERVED, "s", seconds);
        }
    }
    let Mirrored { journal_differs, carried, answers_most } = mirrored;
    figure(MIRRORS, "a device's packets to itself", DIFFERS, "", f64::from(*journal_differs));
    figure(MIRRORS, "from gateway to gateway", "datagrams_carried", "", *carried as f64);
    figure(MIRRORS, "from gateway to gateway", ANSWERS, "", *answers_most as f64);
    figures
}

pub(super) fn marks_of_floods() -> Vec<Mark> {
    let mark = |(case, side, metric, bound): (&str, &str, &str, _)| Mark {
        case: case.into(),
        side: side.into(),
        metric: metric.into(),
        bound: Bound::AtMost(bound),
    };
    let [unpaced, paced] = ["unpaced", "at half the rate"];
    let marks = [
        (FLOODS, paced, ANSWERED, 1.0),
        (FLOODS, paced, GROWN, GROWN_MOST),
        (FLOODS, paced, LINES, 100.0),
        (FLOODS, paced, P99_RATIO, 3.0),
        (FLOODS, unpaced, ANSWERED, 1.0),
        (FLOODS, unpaced, LINES, 100.0),
        (FLOODS, unpaced, SERVED, 5.0),
        (MIRRORS, "a device's packets to itself", DIFFERS, 0.0),
        // One answers; who is answered does not answer that.
        (MIRRORS, "from gateway to gateway", ANSWERS, 1.0),
    ];
    marks.map(mark).into()
}
