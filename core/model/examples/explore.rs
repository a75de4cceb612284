//! Searches every model and prints a table: `explore` within the bounds of the tests, `explore --deep` within
//! larger ones (minutes, some gigabytes). Exits with 1 if a property is violated.

use std::process::ExitCode;

use tallylink_model::ack_window::AckWindow;
use tallylink_model::epochs::Epochs;
use tallylink_model::explore::{Limits, Model, Outcome, explore};
use tallylink_model::flow::Flow;
use tallylink_model::journal::Journal;
use tallylink_model::sessions::{Budget, Sessions};
use tallylink_model::skip::Skip;

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
    println!(
        "{:<12}{:>12}{:>14}{:>7}  result",
        "model", "states", "transitions", "depth"
    );
    let mut sound = true;
    for model in sessions(more) {
        sound &= row("sessions", &model);
    }
    for (records, faults, damages) in [(2, 2, 0), (3, 1 + more, 0), (1, 3 + more, 0), (2, 2, 1)] {
        sound &= row(
            "journal",
            &Journal {
                records,
                faults,
                damages,
                bug: None,
            },
        );
    }
    for model in epochs(more) {
        sound &= row("epochs", &model);
    }
    let (records, overwrites) = (4 + 2 * more, 1 + more);
    sound &= row(
        "skip",
        &Skip {
            records,
            too_large: 2,
            overwrites,
            sessions: 2,
            bug: None,
        },
    );
    for sessions in [0, 2 + more] {
        sound &= row("flow", &flow(sessions, 2 + more));
    }
    let (items, probes, acks) = (4 + more, 1 + more, 2 + more);
    sound &= row(
        "ack window",
        &AckWindow {
            width: 4,
            ranges: 1,
            items,
            probes,
            ack_only: 1,
            acks,
            bug: None,
        },
    );
    ExitCode::from(u8::from(!sound))
}

fn sessions(more: u8) -> Vec<Sessions> {
    let calm = Budget {
        pushes: 2,
        exchanges: 1 + more,
        device_sends: 2 + more,
        gateway_sends: 1,
        ..Budget::NOTHING
    };
    let twice = Budget {
        exchanges: 2,
        device_sends: 2,
        gateway_sends: 1 + more,
        ..calm
    };
    [
        Budget {
            gateway_sends: 2,
            ..calm
        },
        Budget {
            gateway_crashes: 1,
            ..twice
        },
        Budget {
            device_reboots: 1,
            ..twice
        },
        Budget {
            pushes: 1 + more,
            device_reboots: 1,
            gateway_crashes: 1,
            gateway_sends: 1,
            ..twice
        },
        Budget {
            evictions: 1,
            ..twice
        },
        Budget {
            sync_failures: 1,
            ..twice
        },
        Budget {
            overwrites: 1,
            ..twice
        },
    ]
    .map(Sessions::new)
    .to_vec()
}

fn epochs(more: u8) -> [Epochs; 5] {
    let plain = Epochs {
        openings: 3 + more,
        pushes: 3 + 2 * more,
        ..Epochs::PLAIN
    };
    [
        plain,
        Epochs {
            remembered: 1,
            ..plain
        },
        Epochs {
            backups: 1,
            ..plain
        },
        Epochs { copies: 1, ..plain },
        Epochs {
            gateway_backups: 1,
            ..plain
        },
    ]
}

fn flow(sessions: u8, credits: u8) -> Flow {
    Flow {
        records: [&[3, 2], &[3, 1]],
        windows: &[8, 2],
        max_record: 3,
        limit: 8,
        sessions,
        credits,
        bug: None,
    }
}

fn row<M: Model>(name: &str, model: &M) -> bool {
    let report = explore(
        model,
        Limits {
            states: 30_000_000,
            ..Limits::default()
        },
    );
    let result = match &report.outcome {
        Outcome::Proved => "every property holds".to_owned(),
        Outcome::Unfinished => "not finished: too many states".to_owned(),
        Outcome::Violated(found) => found.to_string(),
    };
    println!(
        "{name:<12}{:>12}{:>14}{:>7}  {result}",
        report.states, report.transitions, report.depth
    );
    !matches!(report.outcome, Outcome::Violated(_))
}
