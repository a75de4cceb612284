//! What is played: a network, records, and what Tallylink must reach there.
use super::{
    emulator::{Jitter, Profile},
    milliseconds,
};

/// One network and one size of record.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) profile: Profile,
    pub(super) v6: bool,
    pub(super) size: u32,
    /// How long each side is to work in a round.
    pub(super) seconds: f64,
    /// In place of a time.
    pub(super) records: Option<u64>,
    /// Mark for Tallylink's goodput, as a share of the reference's.
    pub(super) least_goodput: Option<f64>,
    /// Mark for the share of packets whose content Tallylink sends again.
    pub(super) most_repeated: Option<f64>,
}

/// The project's five networks. The first is played with three sizes of record.
pub(super) fn suite() -> Vec<Case> {
    let lossy = Profile { delay: milliseconds(1.0), loss: 0.03, reorder: 0.1, ..Profile::default() };
    let jittery = Profile {
        delay: milliseconds(20.0),
        jitter: Jitter { most: milliseconds(5.0), in_order: false },
        ..Profile::default()
    };
    let narrow = Profile {
        delay: milliseconds(50.0),
        loss: 0.01,
        rate: Some(20_000_000),
        queue: 64 << 10,
        ..Profile::default()
    };
    let far = Profile { delay: milliseconds(200.0), loss: 0.05, burst: BURST, ..Profile::default() };
    let fast = Profile { delay: milliseconds(5.0), loss: 0.001, rate: Some(1_000_000_000), ..Profile::default() };
    let fast = Profile { queue: fast.bandwidth_delay().unwrap_or(u64::MAX), ..fast };

    let case = |name: &str, profile, size: u32, seconds, least_goodput| Case {
        name: format!("{name}, {size} B"),
        profile,
        v6: false,
        size,
        seconds,
        records: None,
        least_goodput: Some(least_goodput),
        most_repeated: None,
    };
    let mut cases: Vec<Case> =
        [61, 1_013, 16_013].map(|size| case("1 ms, 3 % loss, 10 % reordered", lossy, size, 5.0, 1.0)).into();
    cases.push(Case { most_repeated: Some(0.01), ..case("20 ms, ±5 ms jitter", jittery, 1_013, 5.0, 1.0) });
    cases.push(case("50 ms, 1 % loss, 20 Mbit/s, 64 KiB queue", narrow, 1_013, 10.0, 0.95));
    cases.push(case("200 ms, 5 % loss in bursts", far, 1_013, 20.0, 0.95));
    cases.push(case("5 ms, 0.1 % loss, 1 Gbit/s", fast, 1_013, 5.0, 0.95));
    cases
}

/// Packets of a burst of losses, on average.
const BURST: f64 = 5.0;
