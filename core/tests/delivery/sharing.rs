//! Flows that share a slow link, among themselves and with TCP; and a path on which packets overtake each other.

use crate::support::{Bottleneck, Route};

const SECOND: u64 = 1_000_000;
/// Before it is counted what each flow gets.
const WARM_UP: u64 = 10 * SECOND;
const SEEDS: std::ops::Range<u64> = 1..4;

/// 20 ms each way and a queue of what the path holds.
const fn path(mbit: u64) -> Route {
    Route { rate: mbit * 1_000_000, delay_us: 20_000, jitter_us: 0, queue: 1 }
}

/// Jain's index, the use of the link, and what the flows of ours get of their even share.
fn shares(route: Route, ours: usize, tcp: usize, lasts: u64, seed: u64) -> [f64; 3] {
    let mut link = Bottleneck::new(route, ours, tcp, seed);
    link.run(WARM_UP);
    let (before, passed) = (link.taken(), link.passed);
    link.run(WARM_UP + lasts);
    let each: Vec<f64> = link.taken().iter().zip(before).map(|(after, before)| (after - before) as f64).collect();
    let (sum, squares) = (each.iter().sum::<f64>(), each.iter().map(|e| e * e).sum::<f64>());
    let used = (link.passed - passed) as f64 * 8e6 / lasts as f64 / route.rate as f64;
    let jain = sum * sum / (each.len() as f64 * squares);
    let share = each[..ours].iter().sum::<f64>() / sum * each.len() as f64 / ours as f64;
    println!("{ours} + {tcp}, seed {seed}: Jain's index {jain:.3}, {used:.3} used, share {share:.2}");
    [jain, used, share]
}

/// The medians of all seeds.
fn median_shares(route: Route, ours: usize, tcp: usize, lasts: u64) -> [f64; 3] {
    let runs: Vec<_> = SEEDS.map(|seed| shares(route, ours, tcp, lasts, seed)).collect();
    [0, 1, 2].map(|figure| {
        let mut all: Vec<f64> = runs.iter().map(|run| run[figure]).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    })
}

#[test]
fn flows_of_ours_share_a_link_evenly_and_use_it() {
    for flows in [2, 8] {
        let [jain, used, _] = median_shares(path(10), flows, 0, 20 * SECOND);
        assert!(jain >= 0.95 && used >= 0.95, "{flows} flows: Jain's index {jain:.3}, {used:.3} of the link");
    }
}

#[test]
fn ours_and_tcp_get_the_same_of_a_slow_link() {
    for flows in [1, 2, 4] {
        let [jain, used, share] = median_shares(path(10), flows, flows, 20 * SECOND);
        let all = format!("{flows} of each: Jain's index {jain:.3}, {used:.3} of the link, {share:.2} of our share");
        assert!(jain >= 0.95 && used >= 0.95 && (0.8..1.25).contains(&share), "{all}");
    }
}

/// Here a window takes many seconds to become what another is: who falls behind at the start stays there.
#[test]
fn ours_and_tcp_get_the_same_of_a_faster_link() {
    let [jain, used, share] = median_shares(path(50), 1, 1, 10 * SECOND);
    let all = format!("Jain's index {jain:.3}, {used:.3} of the link, {share:.2} of our share");
    assert!(jain >= 0.95 && used >= 0.95 && (0.8..1.25).contains(&share), "{all}");
}

/// Each packet takes up to 5 ms more or less each way: hundreds overtake each other, and none is lost.
#[test]
fn packets_that_overtake_each_other_slow_nothing_down() {
    let route = Route { jitter_us: 5_000, queue: 8, ..path(100) };
    let mut link = Bottleneck::new(route, 1, 0, 1);
    link.run(SECOND);
    let before = link.passed;
    link.run(2 * SECOND);
    let used = (link.passed - before) as f64 * 8.0 / route.rate as f64;
    let totals = link.totals(0);
    assert!(used >= 0.9, "{used:.3} of the link in the second second");
    assert!(totals.chunks_repeated * 100 < totals.packets_sent, "{totals:?}");
}
