//! Losses, independent and in bursts; copies; altered packets.
use std::time::Duration;

use super::{departures, emulator, is_whole, number, udp};
use crate::{lab::emulator::Profile, transport::side::End};

/// For each packet that was sent, how often it came.
fn arrivals(profile: Profile, count: u32) -> Vec<u32> {
    let mut emulator = emulator(profile);
    let mut came = vec![0; count as usize];
    for sent in 0..count {
        emulator.arrive(Duration::ZERO, End::Sender, &udp(End::Sender, false, sent, 100));
    }
    for (_, _, packet) in departures(&mut emulator, Duration::MAX) {
        came[number(&packet) as usize] += 1;
    }
    came
}

/// Lengths of runs of lost packets.
fn bursts(came: &[u32]) -> Vec<usize> {
    came.chunk_by(|a, b| (*a > 0) == (*b > 0)).filter(|run| run[0] == 0).map(<[u32]>::len).collect()
}

fn mean(values: &[usize]) -> f64 {
    values.iter().sum::<usize>() as f64 / values.len() as f64
}

#[test]
fn a_perfect_network_loses_nothing() {
    assert!(arrivals(Profile::default(), 1_000).iter().all(|times| *times == 1));
}

#[test]
fn independent_losses_have_the_share_that_is_asked_for() {
    let came = arrivals(Profile { loss: 0.03, ..Profile::default() }, 100_000);
    let lost = came.iter().filter(|times| **times == 0).count();
    assert!((2_800..3_200).contains(&lost), "{lost}");
    let burst = mean(&bursts(&came));
    assert!((1.0..1.06).contains(&burst), "{burst}");
}

#[test]
fn bursts_have_the_share_and_the_length_that_are_asked_for() {
    let came = arrivals(Profile { loss: 0.05, burst: 5.0, ..Profile::default() }, 200_000);
    let lost = came.iter().filter(|times| **times == 0).count();
    assert!((9_000..11_000).contains(&lost), "{lost}");
    let burst = mean(&bursts(&came));
    assert!((4.7..5.3).contains(&burst), "{burst}");
}

#[test]
fn all_or_nothing_can_be_lost() {
    assert!(arrivals(Profile { loss: 1.0, ..Profile::default() }, 100).iter().all(|times| *times == 0));
    assert!(arrivals(Profile { loss: 1.0, burst: 9.0, ..Profile::default() }, 100).iter().all(|times| *times == 0));
}

#[test]
fn duplicates_come_twice() {
    let came = arrivals(Profile { duplicate: 0.1, ..Profile::default() }, 10_000);
    let twice = came.iter().filter(|times| **times == 2).count();
    assert!((900..1_100).contains(&twice), "{twice}");
    assert!(came.iter().all(|times| (1..=2).contains(times)));
}

#[test]
fn an_altered_packet_differs_in_one_bit_that_its_checksum_does_not_show() {
    for v6 in [false, true] {
        // Odd lengths, too: the last byte has no partner in the checksum.
        for length in [101, 102, 1_500] {
            let mut emulator = emulator(Profile { corrupt: 1.0, ..Profile::default() });
            for sent in 0..200 {
                let original = udp(End::Sender, v6, sent, length);
                emulator.arrive(Duration::ZERO, End::Sender, &original);
                let left = departures(&mut emulator, Duration::ZERO);
                let altered = &left[0].2;
                assert!(is_whole(altered));
                let payload = if v6 { 48 } else { 28 };
                let bits = |from: usize| {
                    original[from..].iter().zip(&altered[from..]).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>()
                };
                assert_eq!(bits(payload), 1);
            }
            assert_eq!(emulator.counters().corrupted, 200);
        }
    }
}
