//! Searches every model and prints a table: `explore` within the bounds of the tests, `explore --deep` within
//! larger ones (some sixteen million states, a minute or two). Exits with 1 if a property is violated.

use std::process::ExitCode;

use tallylink_model::ack_window::AckWindow;
use tallylink_model::epochs::Epochs;
use tallylink_model::explore::{Limits, Model, Outcome, explore};
use tallylink_model::flow::Flow;
use tallylink_model::journal::Journal;
use tallylink_model::retention::Retention;
use tallylink_model::sessions::{Budget, Sessions};
use tallylink_model::skip::Skip;
use tallylink_model::sleep::{self, Sleep};

fn main() -> ExitCode {
    let deep = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--deep") => true,
        Some(other) => {
            eprintln!("unknown argument {other:?}: the only one is --deep");
            return ExitCode::from(2);
        }
    };
    let more = u8::from(deep);
    println!("{:<44}{:>12}{:>14}{:>7}  result", "model", "states", "transitions", "depth");
    let mut sound = true;
    for (what, budget) in sessions(more) {
        let model = Sessions::new(budget);
        sound &= row(&format!("sessions, ring in memory: {what}"), &model);
        sound &= row(&format!("sessions, outbox on disk: {what}"), &Sessions { outbox: true, ..model });
    }
    for (what, budget) in sleeping(more) {
        sound &= row(&format!("sleep: {what}"), &Sleep::new(budget));
    }
    for (records, faults, damages) in [(2, 2, 0), (3, 1 + more, 0), (1, 3 + more, 0), (2, 2, 1)] {
        let what = format!("journal: {records} records, {faults} faults, {damages} rotten");
        sound &= row(&what, &Journal { records, faults, damages, bug: None });
    }
    let (records, checkpoints) = (3 + more, 3 + more);
    let retention = Retention { records, checkpoints, faults: 2, damages: 1, bug: None };
    sound &= row("retention", &retention);
    for (what, model) in epochs(more) {
        sound &= row(&format!("epochs: {what}"), &model);
    }
    let (records, overwrites) = (4 + 2 * more, 1 + more);
    sound &= row("skip", &Skip { records, too_large: 2, overwrites, sessions: 2, bug: None });
    for sessions in [0, 2 + more] {
        sound &= row(&format!("flow: {sessions} new sessions"), &flow(sessions, 2 + more));
    }
    let (items, probes, acks) = (4 + more, 1 + more, 2 + more);
    let window = AckWindow { width: 4, ranges: 1, items, probes, ack_only: 1, acks, bug: None };
    sound &= row("ack window", &window);
    ExitCode::from(u8::from(!sound))
}

fn sessions(more: u8) -> [(&'static str, Budget); 7] {
    let calm = Budget { pushes: 2, exchanges: 1 + more, device_sends: 2 + more, gateway_sends: 1, ..Budget::NOTHING };
    let twice = Budget { exchanges: 2, device_sends: 2, gateway_sends: 1 + more, ..calm };
    let both = Budget { pushes: 1 + more, gateway_sends: 1, ..twice };
    [
        ("network", Budget { gateway_sends: 2, ..calm }),
        ("gateway", Budget { gateway_crashes: 1, ..twice }),
        ("device", Budget { device_reboots: 1, ..twice }),
        ("both ends", Budget { device_reboots: 1, gateway_crashes: 1, ..both }),
        ("eviction", Budget { evictions: 1, ..twice }),
        ("failed sync", Budget { sync_failures: 1, ..twice }),
        ("overwritten", Budget { overwrites: 1, ..twice }),
    ]
}

fn sleeping(more: u8) -> [(&'static str, sleep::Budget); 5] {
    let nothing = sleep::Budget::NOTHING;
    let both = sleep::Budget { exchanges: 1, device_sends: 2, gateway_sends: 2, suspends: 1, ..nothing };
    let up = sleep::Budget { pushes: 1 + more, ..both };
    let down = sleep::Budget { down_pushes: 1 + more, ..both };
    [
        ("power lost", sleep::Budget { suspends: 2, power_losses: 2, ..up }),
        ("image not looked at", sleep::Budget { exchanges: 2, fresh_starts: 1, wipes: 1, ..up }),
        ("gateway", sleep::Budget { exchanges: 2, gateway_crashes: 1, evictions: more, ..up }),
        ("downlink, power lost", sleep::Budget { exchanges: 2, power_losses: 1, ..down }),
        ("downlink, gateway", sleep::Budget { exchanges: 2, gateway_crashes: 1, ..down }),
    ]
}

fn epochs(more: u8) -> [(&'static str, Epochs); 5] {
    let plain = Epochs { openings: 3 + more, pushes: 3 + 2 * more, ..Epochs::PLAIN };
    [
        ("crashes", plain),
        ("crashes, one remembered", Epochs { remembered: 1, ..plain }),
        ("restored outbox", Epochs { backups: 1, ..plain }),
        ("copied outbox", Epochs { copies: 1, ..plain }),
        ("restored gateway", Epochs { gateway_backups: 1, ..plain }),
    ]
}

fn flow(sessions: u8, credits: u8) -> Flow {
    Flow { records: [&[3, 2], &[3, 1]], windows: &[8, 2], max_record: 3, limit: 8, sessions, credits, bug: None }
}

fn row<M: Model>(name: &str, model: &M) -> bool {
    let report = explore(model, Limits { states: 30_000_000, ..Limits::default() });
    let result = match &report.outcome {
        Outcome::Proved => "every property holds".to_owned(),
        Outcome::Unfinished => "not finished: too many states".to_owned(),
        Outcome::Violated(found) => found.to_string(),
    };
    println!("{name:<44}{:>12}{:>14}{:>7}  {result}", report.states, report.transitions, report.depth);
    !matches!(report.outcome, Outcome::Violated(_))
}
