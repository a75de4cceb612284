//! The plan of the demo.

use super::{KILLS, Plan, STREAMS};

#[test]
fn every_record_is_somebodys() {
    for (senders, records) in [(8, 200_000), (3, 10), (7, 5), (1, 1)] {
        let plan = Plan { seed: 1, senders, records };
        let sum: u64 = (0..senders).flat_map(|sender| plan.records_of(sender)).sum();
        assert_eq!(sum, records);
    }
}

#[test]
fn sizes_are_spread_as_promised() {
    let plan = Plan { seed: 7, senders: 1, records: 30_000 };
    let mut record = Vec::new();
    let (mut small, mut medium, mut large, mut empty) = (0, 0, 0, 0);
    for stream in 0..STREAMS.len() {
        for number in 0..10_000 {
            plan.record(0, stream, number, &mut record);
            match record.len() {
                0 => empty += 1,
                1..=256 => small += 1,
                257..=4096 => medium += 1,
                4097..=65_536 => large += 1,
                more => panic!("{more} bytes"),
            }
        }
    }
    assert!(empty > 100 && (26_500..28_500).contains(&(small + empty)), "{small} {empty}");
    assert!((2_000..3_000).contains(&medium) && (200..400).contains(&large), "{medium} {large}");
}

#[test]
fn a_record_is_the_same_each_time_and_another_elsewhere() {
    let plan = Plan { seed: 7, senders: 2, records: 100 };
    let made = |sender, stream, number| {
        let mut record = Vec::new();
        plan.record(sender, stream, number, &mut record);
        record
    };
    assert_eq!(made(1, 2, 3), made(1, 2, 3));
    let others = [made(0, 2, 3), made(1, 1, 3), made(1, 2, 4)];
    assert!(others.iter().all(|other| *other != made(1, 2, 3)));
}

#[test]
fn no_kill_is_waited_for_in_vain() {
    for (senders, records) in [(8, 200_000), (3, 10), (7, 5), (1, 1), (64, 65)] {
        let plan = Plan { seed: 1, senders, records };
        for kills in 0..KILLS {
            let streams = (0..senders).flat_map(|sender| plan.records_of(sender));
            let allowed: u64 = streams.map(|records| Plan::allowed(records, kills)).sum();
            assert!(allowed >= plan.kill_at(kills), "{plan:?} {kills}");
        }
        assert_eq!(Plan::allowed(records, KILLS), records);
    }
}
