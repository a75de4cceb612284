//! Images that are not followed, sleeps that are refused, and what a device receives (wire-format §9).

use crate::sleep::{fall_asleep, pair, sleepy, wake_up};
use crate::support::{KEY, Numbers, PEER, Pair, at, peer_id, record, small_config};
use tallylink_core::crypto::{Label, Psk, Suite, derive, mac};
use tallylink_core::*;

const S: OutIx = OutIx(0);

/// The device goes on with HELLO and a new epoch.
fn assert_starts_anew(pair: &mut Pair) {
    let before = pair.gateway.inbox.stream("s").records().len();
    assert_eq!(pair.push(S, &record(7, 61)), Ok(0));
    pair.run_until_stored(1, 5_000_000);
    assert_eq!(pair.gateway.inbox.stream("s").records().len(), before + 1);
}

/// Gives an image the tag that its maker would give it.
fn tag(image: &mut [u8], key: u8, peer: PeerId) {
    let mut image_key = [0; 16];
    derive(&Psk::from_bytes(KEY), Label::Image, &[&[1, key], &peer.0], &mut image_key);
    let end = image.len() - 16;
    let tag = mac(&image_key, &[&image[..end]]);
    image[end..].copy_from_slice(tag.as_bytes());
}

fn image_of(pair: &mut Pair) -> Vec<u8> {
    let mut image = fall_asleep(pair);
    image.truncate(image.len() - 7);
    image
}

#[test]
fn memory_without_an_image_is_told_from_a_damaged_one() {
    let mut pair = pair();
    let image = image_of(&mut pair);
    for (bytes, why) in [
        (vec![], ResumeError::NoImage),
        (vec![0; 500], ResumeError::NoImage),
        (vec![0xff; 3], ResumeError::NoImage),
        (image[..image.len() - 1].to_vec(), ResumeError::Damaged),
        (image[..30].to_vec(), ResumeError::Damaged),
    ] {
        assert_eq!(wake_up(&mut pair, &mut bytes.clone()), Err(why));
        assert_starts_anew(&mut pair);
    }
}

#[test]
fn an_image_of_another_form_is_named() {
    let mut pair = pair();
    let mut image = image_of(&mut pair);
    image[4] = 0;
    tag(&mut image, 1, peer_id(0));
    assert_eq!(wake_up(&mut pair, &mut image), Err(ResumeError::Version(0)));
    assert_starts_anew(&mut pair);
}

#[test]
fn an_image_of_another_device_or_key_is_foreign() {
    for (place, value) in [(5, 2), (13, 1)] {
        let mut pair = pair();
        let mut image = image_of(&mut pair);
        image[place] = value;
        tag(&mut image, 1, peer_id(0));
        assert_eq!(wake_up(&mut pair, &mut image), Err(ResumeError::Foreign));
        assert_starts_anew(&mut pair);
    }
}

#[test]
fn no_bit_of_an_image_may_change() {
    let mut pair = pair();
    pair.push(S, &record(1, 61)).unwrap();
    let image = image_of(&mut pair);
    for bit in 0..image.len() * 8 {
        let mut changed = image.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(wake_up(&mut pair, &mut changed).is_err(), "bit {bit}");
        assert!(!pair.device.endpoint.storage().peers[0].has_session());
        assert_eq!(pair.device.outbound(0).next(), 0);
    }
    assert_eq!(wake_up(&mut pair, &mut image.clone()), Ok(()));
}

#[test]
fn other_limits_need_a_new_session() {
    let mut pair = pair();
    let mut image = image_of(&mut pair);
    pair.device.set_config(Config { max_record: 5000, ..sleepy() });
    assert_eq!(wake_up(&mut pair, &mut image), Err(ResumeError::Limits));
    assert_starts_anew(&mut pair);
}

#[test]
fn a_stream_of_the_image_must_be_open_and_have_room() {
    let mut pair = pair();
    pair.cut(true);
    for i in 1..9 {
        pair.push(S, &record(i, 61)).unwrap();
    }
    let image = image_of(&mut pair);
    pair.cut(false);
    for (name, ring) in [("t", 1 << 14), ("s", 62 * 8 - 1)] {
        pair.device.restart();
        pair.open(0, name, ring);
        let (now, to) = (at(pair.now), Path::to(pair.gateway.address));
        let device = &mut pair.device;
        let resumed = device.endpoint.resume(now, PEER, to, &mut image.clone(), &mut device.inbox);
        assert_eq!(resumed, Err(ResumeError::Stream));
        assert_eq!(pair.device.outbound(0).next(), 0);
    }
    // A ring that is just large enough takes them, and a stream that is new begins an epoch of its own.
    pair.device.restart();
    pair.open(0, "s", 62 * 8);
    pair.open(1, "new", 62 * 8);
    let (now, to) = (at(pair.now), Path::to(pair.gateway.address));
    let device = &mut pair.device;
    assert_eq!(device.endpoint.resume(now, PEER, to, &mut image.clone(), &mut device.inbox), Ok(()));
    assert_eq!(pair.push(OutIx(1), &record(0, 61)), Ok(0));
    assert_ne!(pair.device.outbound(1).epoch(), pair.device.outbound(0).epoch());
    pair.run_until_stored(9, 20_000_000);
    pair.run(pair.now + 1_000_000);
    assert_eq!(pair.device.outbound(1).stored_below(), 1);
}

#[test]
fn an_image_comes_too_late_after_a_push() {
    let mut pair = pair();
    let mut image = image_of(&mut pair);
    pair.device.restart();
    pair.open(0, "s", 1 << 14);
    pair.push(S, &record(0, 61)).unwrap();
    let (now, to) = (at(pair.now), Path::to(pair.gateway.address));
    let device = &mut pair.device;
    assert_eq!(device.endpoint.resume(now, PEER, to, &mut image, &mut device.inbox), Err(ResumeError::Begun));
    assert!(image.iter().all(|b| *b == 0));
    pair.run_until_stored(1, 5_000_000);
}

#[test]
fn a_suite_that_a_repeated_number_breaks_is_not_kept() {
    let mut pair = Pair::new(small_config(), 1 << 14);
    pair.open(0, "s", 1 << 14);
    pair.push(S, &record(0, 61)).unwrap();
    pair.run_until_stored(1, 5_000_000);
    let mut image = [0x55; 4096];
    let refused = pair.device.endpoint.suspend(at(pair.now), PEER, &mut image);
    assert_eq!(refused, Err(SuspendError::Suite(Suite::Aes128Gcm)));
    assert!(image.iter().all(|b| *b == 0x55));
    pair.push(S, &record(1, 61)).unwrap();
    pair.run_until_stored(2, 5_000_000);
}

#[test]
fn memory_that_is_too_small_changes_nothing() {
    let mut pair = pair();
    pair.push(S, &record(1, 61)).unwrap();
    let len = pair.device.endpoint.image_len(PEER);
    let mut image = vec![0x55; len - 1];
    let refused = pair.device.endpoint.suspend(at(pair.now), PEER, &mut image);
    assert_eq!(refused, Err(SuspendError::TooSmall(len)));
    assert!(image.iter().all(|b| *b == 0x55));
    pair.run_until_stored(2, 5_000_000);
    let refused = pair.gateway.endpoint.suspend(at(pair.now), PEER, &mut image);
    assert_eq!(refused, Err(SuspendError::NotDevice));
}

fn open_down(pair: &mut Pair) {
    let name = Name::new("down").unwrap();
    let now = at(pair.now);
    pair.gateway.endpoint.open(now, S, PEER, name, EpochSource::FirstSession, 0, 0..1 << 14).unwrap();
}

fn push_down(pair: &mut Pair, number: usize, size: usize) {
    pair.gateway.endpoint.push(at(pair.now), S, &record(number, size)).unwrap();
}

/// The gateway's records reach a device that sleeps between them, in one session, each once; STORED of some is lost.
#[test]
fn a_device_that_receives_goes_on_after_the_sleep() {
    let mut pair = pair();
    open_down(&mut pair);
    for i in 0..30 {
        push_down(&mut pair, i, 61);
        if i % 3 == 0 {
            // The device hears it, and its answer is lost.
            pair.lose = Box::new(|up, _| up);
        }
        pair.run(pair.now + 11_000);
        pair.cut(true);
        let mut image = fall_asleep(&mut pair);
        pair.run(pair.now + 100_000);
        pair.cut(false);
        wake_up(&mut pair, &mut image).unwrap();
        pair.device.endpoint.poll(at(pair.now), PEER);
        pair.run(pair.now + 5_000_000);
        assert_eq!(pair.gateway.outbound(0).stored_below(), i as u64 + 1);
    }
    let records = pair.device.inbox.stream("down").records();
    assert_eq!(records, (0..30).map(|i| record(i, 61)).collect::<Vec<_>>());
    assert_eq!(pair.gateway.endpoint.totals().sessions, 1);
}

#[test]
fn a_device_does_not_sleep_while_it_owes_something_of_what_arrived() {
    let mut image = [0; 4096];
    // Not STORED.
    let mut pair = pair();
    open_down(&mut pair);
    pair.device.storing = false;
    push_down(&mut pair, 0, 61);
    pair.run(pair.now + 1_000_000);
    let suspend = |pair: &mut Pair, image: &mut [u8]| pair.device.endpoint.suspend(at(pair.now), PEER, image);
    assert_eq!(suspend(&mut pair, &mut image), Err(SuspendError::Receiving));
    pair.device.storing = true;
    pair.device.store(pair.now);
    // Half there: of many packets one is lost, and others are held.
    push_down(&mut pair, 1, 9000);
    let mut packets = 0;
    pair.lose = Box::new(move |up, _| {
        packets += usize::from(!up);
        !up && packets == 2
    });
    pair.run(pair.now + 12_000);
    assert_eq!(suspend(&mut pair, &mut image), Err(SuspendError::Receiving));
    pair.cut(false);
    pair.run(pair.now + 5_000_000);
    assert_eq!(pair.device.inbox.stream("down").records(), [record(0, 61), record(1, 9000)]);
    assert!(suspend(&mut pair, &mut image).is_ok());
}

/// Whatever is in retained memory, even under the right tag, is followed or named, and what follows is no worse than a peer
/// that misbehaves.
#[test]
fn arbitrary_images_are_followed_or_named() {
    let mut pair = pair();
    pair.cut(true);
    open_down(&mut pair);
    for i in 1..5 {
        pair.push(S, &record(i, 61 + i * 40)).unwrap();
    }
    let image = image_of(&mut pair);
    pair.cut(false);
    let mut numbers = Numbers(0x51ee9);
    println!("seed {:#x}", numbers.0);
    let (mut followed, mut named) = (0, 0);
    for round in 0..3000 {
        let mut changed = image.clone();
        for _ in 0..=numbers.below(3) {
            let place = numbers.below(changed.len() as u64) as usize;
            match numbers.below(4) {
                0 => changed[place] = numbers.below(256) as u8,
                1 => changed[place] ^= 1 << numbers.below(8),
                2 => changed[place] = [0, 0xff][numbers.below(2) as usize],
                _ => changed.truncate(place.max(16)),
            }
        }
        if round % 4 > 0 {
            // Its length and mark are right as well.
            let len = (changed.len() as u32).to_be_bytes();
            changed.iter_mut().skip(14).zip(len).for_each(|(to, from)| *to = from);
            changed.iter_mut().zip(*b"tlim\x01\x01").for_each(|(to, from)| *to = from);
            if changed.len() > 60 {
                tag(&mut changed, 1, peer_id(0));
            }
        }
        match wake_up(&mut pair, &mut changed) {
            Ok(()) => followed += 1,
            Err(_) => named += 1,
        }
        let mut now = pair.now;
        let _ = pair.push(S, &record(9, 61));
        pair.device.alone(&mut now, pair.now + 3_000_000);
    }
    println!("{followed} followed, {named} named");
    assert!(followed > 100 && named > 100);
}
