//! Loss recovery: timers that run, questions that back off, and reordering that is no loss (F32, F33, F35).

use crate::hostile::{chunk, live, open};
use crate::support::raw::{WIDE, lone};
use crate::support::{Node, Numbers, PEER, Pair, Raw, at, frames_in, record, small_config};
use tallylink_core::wire::{Frame, PacketRange, Writer, frame::write_ack};
use tallylink_core::{Config, Discard, End, EpochSource, Fault, Handled, Name, OutIx};

/// F35: 20 ms each way, ± 5 ms, and no loss.
#[test]
fn jitter_makes_less_than_one_percent_go_twice() {
    let config = Config { in_flight: 4096, held: 1024, ack_window: 8192, ..small_config() };
    let mut pair = Pair::new(config, 1 << 21);
    let mut numbers = Numbers(7);
    pair.delay_us = 15_000;
    pair.jitter = Box::new(move || numbers.below(10_001));
    let stream = pair.open(0, "s", 1 << 21);
    // A sensor network's load: well below what the path takes, in packets that overtake each other.
    let mut pushed = 0;
    while pair.now < 20_000_000 {
        for _ in 0..3 {
            pair.push(stream, &record(pushed, 900)).unwrap();
            pushed += 1;
        }
        pair.run(pair.now + 4_000);
    }
    pair.run_until_stored(pushed as u64, 5_000_000);
    let totals = pair.device.endpoint.totals();
    let share = totals.chunks_repeated as f64 / totals.packets_sent as f64;
    println!("{} of {} packets went twice", totals.chunks_repeated, totals.packets_sent);
    println!(
        "spurious {} lost {} rtt {:?}",
        totals.losses_spurious,
        totals.packets_lost,
        pair.device.endpoint.storage().peers[0].rtt()
    );
    assert!(share < 0.01, "{share}");
}

/// F32: an ACK leaves although the congestion window is full and everything else waits.
#[test]
fn acks_never_wait_for_the_congestion_window() {
    let (mut gateway, mut device) = live();
    let mut now = 0;
    let name = Name::new("down").unwrap();
    gateway.endpoint.open(at(now), OutIx(0), PEER, name, EpochSource::FirstSession, 0, 0..1 << 17).unwrap();
    for i in 0..100 {
        gateway.endpoint.push(at(now), OutIx(0), &record(i, 1000)).unwrap();
    }
    device.send(&mut gateway, now, &[Frame::Open(open(1)), Frame::Chunk(chunk(1, 0, &[0]))]).unwrap();
    // The address is proved; then nothing of the downlink is acknowledged any more.
    device.receive(&mut gateway, now);
    ack(&mut device, &mut gateway, now);
    while !device.receive(&mut gateway, now).is_empty() {}
    for i in 1..50 {
        now += 100;
        device.send(&mut gateway, now, &[Frame::Chunk(chunk(1, i, &[0]))]).unwrap();
        device.send(&mut gateway, now, &[Frame::Ping]).unwrap();
        let largest = device.next - 1;
        let answered = device.receive(&mut gateway, now).iter().any(|packet| {
            frames_in(packet).iter().any(|f| matches!(f, Frame::Ack { ranges, .. } if ranges.largest() == largest))
        });
        assert!(answered, "packet {largest}");
    }
}

fn ack(raw: &mut Raw, node: &mut Node, now: u64) {
    ack_from(0, raw, node, now).unwrap();
}

fn ack_from(low: u64, raw: &mut Raw, node: &mut Node, now: u64) -> Result<Handled, Discard> {
    let mut buffer = [0; 64];
    let mut w = Writer::new(&mut buffer);
    write_ack(&mut w, 0, &[PacketRange { low, high: raw.seen - 1 }]).unwrap();
    let bytes = w.into_written().to_vec();
    raw.send_bytes(node, now, &bytes)
}

/// A device with a session whose gateway, which the test plays, says nothing any more; one record is out.
fn silent() -> (Node, Raw) {
    let mut device = lone(End::Device, small_config());
    let mut gateway = Raw::gateway(&mut device, 0, WIDE);
    let name = Name::new("s").unwrap();
    device.endpoint.open(at(0), OutIx(0), PEER, name, EpochSource::FirstSession, 0, 0..1 << 16).unwrap();
    device.endpoint.push(at(0), OutIx(0), &record(0, 61)).unwrap();
    assert!(!gateway.receive(&mut device, 0).is_empty());
    (device, gateway)
}

/// F33: ACKs that acknowledge nothing new do not push the probe ahead of themselves.
#[test]
fn repeated_acks_do_not_hold_the_probe_back() {
    let (mut device, mut gateway) = silent();
    ack(&mut gateway, &mut device, 20_000);
    device.endpoint.push(at(20_000), OutIx(0), &record(1, 61)).unwrap();
    device.transmit(20_000);
    let acknowledged = gateway.seen - 1;
    let mut now = 20_000;
    while now < 2_000_000 {
        now += 5_000;
        let mut buffer = [0; 64];
        let mut w = Writer::new(&mut buffer);
        write_ack(&mut w, 0, &[PacketRange { low: 0, high: acknowledged }]).unwrap();
        gateway.send_bytes(&mut device, now, w.into_written()).unwrap();
        if device.next_timeout_us() <= now {
            device.endpoint.handle_timeout(at(now));
        }
        device.transmit(now);
    }
    assert!(device.endpoint.totals().probes >= 3, "{} probes", device.endpoint.totals().probes);
}

/// F33: whatever is outstanding has a deadline, for as long as it is outstanding, and never one in the past.
#[test]
fn ten_thousand_probes_in_a_row_come_a_minute_apart() {
    let (mut device, _gateway) = silent();
    let mut now = 0;
    let (mut last, mut longest) = (0, 0);
    while device.endpoint.totals().probes < 10_000 {
        let next = device.next_timeout_us();
        assert!(next != u64::MAX && next >= now, "a deadline at {next}, at {now}");
        now = next;
        let before = device.endpoint.totals().probes;
        device.endpoint.handle_timeout(at(now));
        device.transmit(now);
        if device.endpoint.totals().probes > before {
            longest = longest.max(now - last);
            last = now;
        }
        assert!(now < 10_001 * 61_000_000, "{} probes", device.endpoint.totals().probes);
    }
    assert!((59_000_000..61_000_000).contains(&longest), "{longest} us between two probes");
}

#[test]
fn the_first_probe_comes_within_a_second() {
    let (mut device, _gateway) = silent();
    assert!(device.next_timeout_us() <= 1_050_000, "{}", device.next_timeout_us());
    let mut now = 0;
    device.alone(&mut now, 1_050_000);
    assert_eq!(device.endpoint.totals().probes, 1);
}

/// A gateway gives up probing a silent device after five, and begins again when it is heard.
#[test]
fn a_gateway_stops_probing_a_silent_device() {
    let (mut gateway, mut device) = live();
    ack(&mut device, &mut gateway, 10_000);
    let mut now = 10_000;
    let name = Name::new("down").unwrap();
    gateway.endpoint.open(at(now), OutIx(0), PEER, name, EpochSource::FirstSession, 0, 0..1 << 16).unwrap();
    gateway.endpoint.push(at(now), OutIx(0), &record(0, 61)).unwrap();
    let sent = gateway.alone(&mut now, 86_400_000_000);
    assert!((2..10).contains(&sent.len()), "{} packets to a silent device", sent.len());
    assert_eq!(gateway.next_timeout_us(), u64::MAX);
    device.send(&mut gateway, now, &[Frame::Ping]).unwrap();
    let heard = device.receive(&mut gateway, now);
    let until = now + 2_000_000;
    let more = crate::support::raw::frames_until(&mut device, &mut gateway, &mut now, until);
    let chunks = heard.iter().chain(&more).flat_map(|p| frames_in(p)).filter(|f| matches!(f, Frame::Chunk(_))).count();
    assert!(chunks > 0, "the record goes out again");
}

/// What is lost is sent again under another number, sealed anew.
#[test]
fn no_packet_is_ever_sent_twice_with_the_same_bytes() {
    let mut pair = Pair::new(small_config(), 1 << 16);
    pair.capture = Some(vec![]);
    let mut numbers = Numbers(3);
    pair.lose = Box::new(move |_, _| numbers.below(4) == 0);
    let stream = pair.open(0, "s", 1 << 16);
    for i in 0..100 {
        pair.push(stream, &record(1, 100)).unwrap();
        pair.run(pair.now + 1_000 * (i % 7));
    }
    pair.run_until_stored(100, 60_000_000);
    let mut packets: Vec<_> = pair.capture.unwrap().into_iter().filter(|(_, b)| b[0] != 0 || b[1] == 3).collect();
    let all = packets.len();
    packets.sort();
    packets.dedup();
    assert_eq!(packets.len(), all);
}

/// Large windows, deep queues, much loss: the sum of what is in flight is asserted at each timer (F35).
#[test]
fn heavy_loss_and_reordering_both_ways_only_delay() {
    let mut pair = Pair::new(small_config(), 1 << 18);
    let (mut losses, mut delays) = (Numbers(11), Numbers(12));
    pair.lose = Box::new(move |_, _| losses.below(10) < 3);
    pair.jitter = Box::new(move || delays.below(30_000));
    let stream = pair.open(0, "s", 1 << 18);
    for i in 0..1500 {
        pair.push(stream, &record(i, i % 130)).unwrap();
    }
    pair.run_until_stored(1500, 600_000_000);
    let records = pair.gateway.inbox.stream("s").records();
    assert!(records.iter().enumerate().all(|(i, r)| *r == record(i, i % 130)));
}

/// Paths from a hundred thousandth of a second to a minute there and back.
#[test]
fn records_arrive_whatever_the_round_trip_time() {
    for rtt_us in [10, 100, 1_000, 100_000, 1_000_000, 10_000_000, 60_000_000] {
        let mut pair = Pair::new(Config { ack_window: 8192, in_flight: 1024, ..small_config() }, 1 << 18);
        pair.delay_us = rtt_us / 2;
        let stream = pair.open(0, "s", 1 << 18);
        for i in 0..200 {
            pair.push(stream, &record(i, 1000)).unwrap();
        }
        pair.run_until_stored(200, 100 * rtt_us + 1_000_000);
        let spent = pair.now;
        let measured = pair.device.endpoint.storage().peers[0].rtt().as_micros();
        assert!(measured >= rtt_us - 8 && measured <= rtt_us + rtt_us / 4 + 25_000, "{measured} of {rtt_us} us");
        // From now on the path is known: nothing is asked or sent twice.
        let before = *pair.device.endpoint.totals();
        for i in 200..400 {
            pair.push(stream, &record(i, 1000)).unwrap();
        }
        pair.run_until_stored(400, 100 * rtt_us + 1_000_000);
        let after = pair.device.endpoint.totals();
        assert_eq!(after.chunks_repeated, before.chunks_repeated, "{rtt_us} us");
        assert_eq!(after.probes, before.probes, "{rtt_us} us");
        println!("{rtt_us} us: {spent} us for the first 200 records, {} probes", before.probes);
    }
}

/// F35, with as much as the window allows: what overtakes what is learnt once.
#[test]
fn jitter_does_not_make_a_bulk_transfer_repeat_itself() {
    let config = Config { in_flight: 4096, held: 2048, ack_window: 8192, first_credit: 1 << 20, ..small_config() };
    let mut pair = Pair::new(config, 1 << 20);
    let mut numbers = Numbers(7);
    pair.delay_us = 15_000;
    pair.jitter = Box::new(move || numbers.below(10_001));
    let stream = pair.open(0, "s", 1 << 20);
    let mut pushed = 0;
    while pushed < 20_000 {
        while pair.push(stream, &record(pushed, 900)).is_ok() {
            pushed += 1;
        }
        pair.run(pair.now + 1_000);
    }
    pair.run_until_stored(pushed as u64, 5_000_000);
    let totals = pair.device.endpoint.totals();
    let share = totals.chunks_repeated as f64 / totals.packets_sent as f64;
    println!("{} of {} packets went twice, in {} us", totals.chunks_repeated, totals.packets_sent, pair.now);
    assert!(share < 0.01, "{share}");
}

/// An end that only acknowledges asks now and then what of it arrived (wire-format §8.1).
#[test]
fn an_end_that_only_confirms_asks_every_16384_packets() {
    let (mut gateway, mut device) = live();
    let (mut now, mut pings) = (0, 0);
    device.send(&mut gateway, now, &[Frame::Open(open(1)), Frame::Chunk(chunk(1, 0, &[0]))]).unwrap();
    device.receive(&mut gateway, now);
    ack(&mut device, &mut gateway, now);
    for _ in 0..40_000 {
        now += 100;
        device.send(&mut gateway, now, &[Frame::Ping]).unwrap();
        for packet in device.receive(&mut gateway, now) {
            if frames_in(&packet).iter().any(|f| matches!(f, Frame::Ping)) {
                pings += 1;
                // The newest alone: among the others are numbers that were skipped.
                ack_from(device.seen - 1, &mut device, &mut gateway, now).unwrap();
            }
        }
    }
    assert_eq!(pings, 2);
}

/// A receiver that acknowledges what it cannot have received, to be sent more than its path carries, is found out: it cannot
/// know which numbers were skipped.
#[test]
fn an_optimistic_receiver_loses_its_session() {
    let (mut gateway, mut device) = live();
    let mut now = 0;
    let name = Name::new("down").unwrap();
    gateway.endpoint.open(at(now), OutIx(0), PEER, name, EpochSource::FirstSession, 0, 0..1 << 17).unwrap();
    let mut ended = None;
    for i in 0..3000 {
        now += 1000;
        let _ = gateway.endpoint.push(at(now), OutIx(0), &record(i, 100));
        if device.receive(&mut gateway, now).is_empty() {
            continue;
        }
        if ack_from(0, &mut device, &mut gateway, now) == Err(Discard::EndedByFault) {
            ended = Some(device.seen);
            break;
        }
    }
    let ended = ended.expect("the session ends");
    println!("after {ended} packets");
    assert!(ended <= 32 + 1024 + 2, "{ended}");
    assert_eq!(gateway.faults(Fault::AckOfUnsent), 1);
}

/// RFC 9002 §7.7: a window leaves over a round trip, not at once.
#[test]
fn a_window_is_paced() {
    let config = Config { first_credit: 1 << 20, ..small_config() };
    let mut pair = Pair::new(config, 1 << 18);
    pair.delay_us = 50_000;
    let stream = pair.open(0, "s", 1 << 18);
    let mut most = 0;
    for _ in 0..2_000 {
        while pair.push(stream, &record(1, 1000)).is_ok() {}
        let before = pair.sent[0];
        pair.flush();
        most = most.max(pair.sent[0] - before);
        pair.run(pair.now + 1_000);
    }
    println!("at most {most} of {} packets at once", pair.sent[0]);
    assert!(pair.sent[0] > 1_000 && most <= 17, "{most} of {}", pair.sent[0]);
}

#[test]
fn a_sender_keeps_to_its_cap() {
    let config = |max_rate| Config { max_rate, first_credit: 1 << 20, ..small_config() };
    let mut pair = Pair::of(config(Some(50_000)), config(None), 1 << 18);
    let stream = pair.open(0, "s", 1 << 18);
    for _ in 0..10_000 {
        while pair.push(stream, &record(1, 1000)).is_ok() {}
        pair.run(pair.now + 1_000);
    }
    let bytes = pair.device.endpoint.totals().bytes_sent;
    assert!((450_000..=520_000).contains(&bytes), "{bytes} bytes in ten seconds");
}

/// Many datagrams may be handled before one leaves: with packets that overtake each other, an ACK is then full before.
#[test]
fn nothing_that_arrived_goes_unacknowledged_by_an_end_that_sends_when_an_ack_is_full() {
    let (mut gateway, mut device) = live();
    let first = device.next;
    let mut acknowledged = vec![];
    for i in 0..200 {
        // Every second one is still on its way.
        device.next += 1;
        device.send(&mut gateway, 1_000 + i, &[Frame::Ping]).unwrap();
        if gateway.endpoint.wants_to_send() || i == 199 {
            for packet in device.receive(&mut gateway, 1_000 + i) {
                for frame in frames_in(&packet) {
                    if let Frame::Ack { ranges, .. } = frame {
                        acknowledged.extend(ranges);
                    }
                }
            }
        }
    }
    for number in (first..device.next).skip(1).step_by(2) {
        assert!(acknowledged.iter().any(|r| (r.low..=r.high).contains(&number)), "{number}: {acknowledged:?}");
    }
}

/// A lost chunk leaves again together with SKIP; then it turns out that the first one had arrived. Whether SKIP did is unknown.
#[test]
fn a_skip_that_left_with_a_repeat_leaves_again_when_the_repeat_was_not_needed() {
    let (mut device, mut gateway) = silent();
    let mut now = 10_000;
    ack(&mut gateway, &mut device, now);
    gateway.send(&mut device, now, &[Frame::Opened { stream: 1, stored_below: 0 }]).unwrap();
    let mut numbers = vec![];
    for n in 1..7 {
        now += 1_000;
        device.endpoint.push(at(now), OutIx(0), &record(n, 61)).unwrap();
        assert_eq!(gateway.receive(&mut device, now).len(), 1, "a packet each");
        numbers.push(gateway.seen - 1);
    }
    let acks = |gateway: &mut Raw, device: &mut Node, now: u64, ranges: &[PacketRange]| {
        let mut buffer = [0; 64];
        let mut w = Writer::new(&mut buffer);
        write_ack(&mut w, 0, ranges).unwrap();
        gateway.send_bytes(device, now, w.into_written()).unwrap();
    };
    // Record 2 seems lost; records before it are given up, so it leaves again behind a SKIP. That packet is lost.
    device.endpoint.skip(at(now), OutIx(0), 2, 1);
    acks(&mut gateway, &mut device, now + 1_000, &[PacketRange { low: numbers[2], high: numbers[5] }]);
    now += 1_000;
    let says_skip = |packets: &[Vec<u8>]| {
        packets.iter().any(|p| frames_in(p).iter().any(|f| matches!(f, Frame::Skip { below: 2, .. })))
    };
    let mut skips = 0;
    for _ in 0..200 {
        now += 10_000;
        if device.next_timeout_us() <= now {
            device.endpoint.handle_timeout(at(now));
        }
        skips += u32::from(says_skip(&gateway.receive(&mut device, now)));
        if skips == 1 {
            // The first one arrived after all.
            acks(&mut gateway, &mut device, now, &[PacketRange { low: numbers[1], high: numbers[5] }]);
        }
    }
    assert!(skips >= 2, "the SKIP left {skips} times");
}
