//! Delay, jitter, overtaking, and the queue in front of a slow link.
use std::time::Duration;

use super::{SEED, departures, emulator, ms, number, udp};
use crate::{
    lab::emulator::{Emulator, Jitter, Profile, Script},
    transport::side::End,
};

/// Numbers in the order in which they left, with the times.
fn send(profile: Profile, count: u32, every: Duration) -> Vec<(u32, Duration)> {
    let mut emulator = emulator(profile);
    let mut left = Vec::new();
    for sent in 0..count {
        let now = every * sent;
        left.extend(departures(&mut emulator, now));
        emulator.arrive(now, End::Sender, &udp(End::Sender, false, sent, 200));
    }
    left.extend(departures(&mut emulator, Duration::MAX));
    left.iter().map(|(at, _, packet)| (number(packet), *at)).collect()
}

fn is_sorted(left: &[(u32, Duration)]) -> bool {
    left.is_sorted_by_key(|(number, _)| *number)
}

#[test]
fn a_packet_leaves_after_the_delay_and_not_before() {
    let mut emulator = emulator(Profile { delay: ms(20), ..Profile::default() });
    emulator.arrive(ms(5), End::Receiver, &udp(End::Receiver, true, 1, 100));
    assert_eq!(emulator.next(), Some(ms(25)));
    assert!(!emulator.depart(ms(24), |_, _| panic!("too early")));
    let mut to = None;
    assert!(emulator.depart(ms(25), |end, _| to = Some(end)));
    assert_eq!(to, Some(End::Sender));
    assert_eq!(emulator.next(), None);
}

#[test]
fn jitter_spreads_the_delay_evenly_and_packets_overtake() {
    let jitter = Jitter { most: ms(5), in_order: false };
    let left = send(Profile { delay: ms(20), jitter, ..Profile::default() }, 10_000, ms(1));
    let delays: Vec<f64> = left.iter().map(|(number, at)| (*at - ms(1) * *number).as_secs_f64() * 1e3).collect();
    assert!(delays.iter().all(|delay| (15.0..25.0).contains(delay)));
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert!((19.9..20.1).contains(&mean), "{mean}");
    let early = delays.iter().filter(|delay| **delay < 16.0).count();
    assert!((900..1_100).contains(&early), "a tenth in a tenth of the range: {early}");
    assert!(!is_sorted(&left));
}

#[test]
fn jitter_in_order_lets_nobody_overtake() {
    let jitter = Jitter { most: ms(5), in_order: true };
    let left = send(Profile { delay: ms(20), jitter, ..Profile::default() }, 10_000, ms(1));
    assert!(is_sorted(&left));
    assert!(left.iter().all(|(number, at)| *at - ms(1) * *number < ms(25)));
}

#[test]
fn reordered_packets_skip_the_delay() {
    let profile = Profile { delay: ms(20), reorder: 0.1, ..Profile::default() };
    let left = send(profile, 10_000, ms(1));
    let skipped = left.iter().filter(|(number, at)| *at == ms(1) * *number).count();
    let waited = left.iter().filter(|(number, at)| *at == ms(1) * *number + ms(20)).count();
    assert_eq!(skipped + waited, 10_000);
    assert!((900..1_100).contains(&skipped), "{skipped}");
}

#[test]
fn a_slow_link_sends_one_after_the_other_and_keeps_its_rate() {
    // 200 B at 1.6 Mbit/s take 1 ms.
    let profile = Profile { rate: Some(1_600_000), ..Profile::default() };
    let left = send(profile, 100, Duration::ZERO);
    let times: Vec<Duration> = left.iter().map(|(_, at)| *at).collect();
    assert_eq!(times, (1..=100).map(ms).collect::<Vec<_>>());
    assert!(is_sorted(&left));
}

#[test]
fn what_finds_no_room_in_the_queue_is_lost_and_what_waits_is_bounded_in_bytes() {
    let profile = Profile { rate: Some(1_600_000), queue: 2_000, ..Profile::default() };
    let mut emulator = emulator(profile);
    for sent in 0..100 {
        emulator.arrive(Duration::ZERO, End::Sender, &udp(End::Sender, false, sent, 200));
    }
    assert_eq!(emulator.counters().queue_full, 90);
    assert_eq!(departures(&mut emulator, ms(10)).len(), 10);
    assert_eq!(emulator.queue(End::Sender).longest_us, 10_000);
    // Room returns as the link sends.
    emulator.arrive(ms(10), End::Sender, &udp(End::Sender, false, 100, 200));
    assert_eq!(departures(&mut emulator, ms(11)).len(), 1);
}

#[test]
fn the_directions_do_not_share_a_link() {
    let profile = Profile { rate: Some(1_600_000), queue: 400, ..Profile::default() };
    let mut emulator = emulator(profile);
    for sent in 0..2 {
        emulator.arrive(Duration::ZERO, End::Sender, &udp(End::Sender, false, sent, 200));
        emulator.arrive(Duration::ZERO, End::Receiver, &udp(End::Receiver, false, sent, 200));
    }
    assert_eq!(emulator.counters().queue_full, 0);
    assert_eq!(departures(&mut emulator, ms(1)).len(), 2);
}

#[test]
fn the_same_seed_does_the_same_again_and_another_does_not() {
    let jitter = Jitter { most: ms(5), in_order: false };
    let bad =
        Profile { delay: ms(20), jitter, loss: 0.1, burst: 3.0, reorder: 0.1, duplicate: 0.1, ..Profile::default() };
    let play = |seed| {
        let mut emulator = Emulator::new(bad, Script::default(), seed);
        for sent in 0..2_000 {
            emulator.arrive(ms(1) * sent, End::Sender, &udp(End::Sender, false, sent, 200));
        }
        departures(&mut emulator, Duration::MAX)
    };
    assert_eq!(play(SEED), play(SEED));
    assert_ne!(play(SEED), play(SEED + 1));
}
