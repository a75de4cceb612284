//! A stream that gives up its oldest records when its part of the ring is full.

use crate::setup::{AMPLE, on_a_cable};
use crate::world::record;
use smoltcp::time::Duration;
use smoltcp::wire::IpAddress;
use std::cell::Cell;
use std::rc::Rc;
use tallylink_smoltcp::{PushError, WhenFull};

const DEVICE: IpAddress = IpAddress::v4(10, 0, 2, 15);
const GATEWAY: IpAddress = IpAddress::v4(10, 0, 2, 2);
const RING: u32 = 2048;
/// Records of 61 bytes in it, each with a byte for its size.
const HELD: usize = RING as usize / 62;
/// Reasons of a gap (wire-format §6.5): overwritten, and before the oldest when the stream was opened.
const REASONS: [u8; 2] = [1, 3];

#[test]
fn a_minute_without_a_gateway_leaves_the_newest_of_one_stream_and_the_oldest_of_another() {
    let mut w = on_a_cable(DEVICE, GATEWAY, AMPLE);
    w.gateway_inbox.gaps_expected = true;
    let away = Rc::new(Cell::new(true));
    let lost = away.clone();
    w.hosts[0].phy.lose = Box::new(move |_| lost.get());
    let overwrites = w.device.open(w.now, "overwrites", RING).unwrap();
    let refuses = w.device.open(w.now, "refuses", RING).unwrap();
    w.device.set_when_full(overwrites, WhenFull::Overwrite);
    for number in 0..600 {
        let reading = record(number, 61);
        assert_eq!(w.device.push(w.now, overwrites, &reading), Ok(number as u64));
        let refused = if number < HELD { Ok(number as u64) } else { Err(PushError::Full) };
        assert_eq!(w.device.push(w.now, refuses, &reading), refused);
        assert!(!w.run(Duration::from_millis(100), |_| false));
    }
    assert_eq!(w.device.overwritten(), 600 - HELD as u64);
    away.set(false);
    assert!(w.run(Duration::from_secs(60), |w| {
        let below = [overwrites, refuses].map(|s| w.device.stream(s).unwrap().stored_below());
        below == [600, HELD as u64]
    }));
    let of = |name| w.gateway_inbox.streams.iter().find(|s| s.name == name).unwrap();
    let numbered = |numbers: std::ops::Range<usize>| numbers.map(|n| (n as u64, record(n, 61))).collect::<Vec<_>>();
    let [(gap, reason)] = &of("overwrites").gaps[..] else { panic!("{:?}", of("overwrites").gaps) };
    assert!(REASONS.contains(reason), "{reason}");
    assert_eq!(*gap, 0..600 - HELD as u64);
    assert_eq!(of("overwrites").numbered(), numbered(600 - HELD..600));
    assert_eq!(of("refuses").gaps, []);
    assert_eq!(of("refuses").numbered(), numbered(0..HELD));
}

/// Chunks that are in flight or lost when a part of what they carry is overwritten are sent again without it.
#[test]
fn on_a_path_that_loses_packets_every_record_arrives_unchanged_or_is_a_gap() {
    for seed in 1..=20 {
        let mut random = Random(seed);
        println!("seed {seed}");
        let mut w = on_a_cable(DEVICE, GATEWAY, AMPLE);
        w.gateway_inbox.gaps_expected = true;
        for host in &mut w.hosts {
            let mut random = Random(random.next());
            host.phy.lose = Box::new(move |_| random.next() % 100 < 30);
        }
        let stream = w.device.open(w.now, "waveform", RING).unwrap();
        w.device.set_when_full(stream, WhenFull::Overwrite);
        let mut sizes = vec![];
        while sizes.len() < 2000 {
            for _ in 0..random.next() % 16 {
                // Now and then one that takes several others' room.
                let most = if random.next().is_multiple_of(8) { 1025 } else { 100 };
                sizes.push((random.next() % most) as usize);
                let number = sizes.len() - 1;
                assert_eq!(w.device.push(w.now, stream, &record(number, sizes[number])), Ok(number as u64));
            }
            w.run(Duration::from_millis(random.next() % 40), |_| false);
        }
        let pushed = sizes.len() as u64;
        assert!(w.run(Duration::from_secs(600), |w| w.device.stream(stream).unwrap().stored_below() == pushed));
        let received = &w.gateway_inbox.streams[0];
        let records = received.numbered();
        for (number, bytes) in &records {
            let number = *number as usize;
            assert_eq!(*bytes, record(number, sizes[number]), "record {number}");
        }
        assert!(received.gaps.iter().all(|(_, reason)| REASONS.contains(reason)), "{:?}", received.gaps);
        let missing = received.gaps.iter().map(|(gap, _)| gap.end - gap.start).sum::<u64>();
        let overwritten = w.device.overwritten();
        assert_eq!(records.len() as u64 + missing, pushed);
        // One that was given up may have arrived all the same.
        assert!(missing > 0 && missing <= overwritten, "{missing} missing, {overwritten} overwritten");
    }
}

#[test]
fn a_record_that_never_fits_costs_no_other() {
    let mut w = on_a_cable(DEVICE, GATEWAY, AMPLE);
    let stream = w.device.open(w.now, "events", 256).unwrap();
    w.device.set_when_full(stream, WhenFull::Overwrite);
    for number in 0..4 {
        w.device.push(w.now, stream, &record(number, 61)).unwrap();
    }
    assert_eq!(w.device.push(w.now, stream, &[0; 255]), Err(PushError::TooLarge));
    assert_eq!(w.device.overwritten(), 0);
    w.device.set_when_full(stream, WhenFull::Refuse);
    assert_eq!(w.device.push(w.now, stream, &record(4, 61)), Err(PushError::Full));
    assert_eq!(w.device.overwritten(), 0);
}

/// Marsaglia's xorshift; a seed is not 0.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }
}
