//! Whoever holds a key and misbehaves is answered with a name, costs little, and harms nobody else (F17, F18, F19).

use tallylink_core::Config;
use tallylink_sim::hostile::{ATTACKS, Report};

/// The driver is asked for no more than this, whatever is in a datagram.
const CALLS: u64 = 300;
/// Packets that an attacker gets for one of its own, beside some that are owed to nobody's datagram.
const ANSWERS: u64 = 2;
const UNASKED: u64 = 50;

/// What breaks the rules of every attack.
fn faults(name: &str, expected: &[&str], report: &Report) -> Vec<String> {
    let outcomes: Vec<_> = report.outcomes.keys().copied().collect();
    let mut faults = vec![];
    if outcomes != expected {
        faults.push(format!("{name}: came to {outcomes:?} instead of {expected:?}"));
    }
    if report.most_calls > CALLS {
        faults.push(format!("{name}: {} calls of the driver for one datagram", report.most_calls));
    }
    faults
}

#[test]
fn each_attack_comes_to_what_it_should_and_the_other_peer_is_served() {
    let mut found = vec![];
    for attack in ATTACKS {
        println!("{}", attack.name);
        let report = attack.run(&Config::default(), || 0);
        println!("  {:?}, {} packets back", report.outcomes, report.sent);
        found.extend(faults(attack.name, attack.outcomes, &report));
        let most = report.datagrams * ANSWERS + UNASKED;
        if !attack.has_data() && report.sent > most {
            found.push(format!("{}: {} packets for {}", attack.name, report.sent, report.datagrams));
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// Limits of a microcontroller bound the same attacks.
#[test]
fn a_small_end_bears_them_too() {
    for attack in ATTACKS {
        println!("{}", attack.name);
        let report = attack.run(&Config { max_datagram: 1472, replies_per_second: 1000, ..Config::small() }, || 0);
        println!("  {:?}", report.outcomes);
        assert!(report.most_calls <= CALLS);
    }
}
