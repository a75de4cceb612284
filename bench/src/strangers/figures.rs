//! What the attacks came to, and what they may come to.
use std::collections::BTreeSet;

use super::{BENCH, attack::Attack};
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
