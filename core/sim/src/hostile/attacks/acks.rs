//! ACKs that lie, and more of them than anybody needs (wire-format §6.7).

use super::form::give;
use super::streams::bytes_of;
use crate::hostile::channel::ack_of;
use crate::hostile::spelled::varint_in;
use crate::hostile::stage::Stage;
use tallylink_core::wire::{Frame, PacketRange, varint};

/// What fits into a datagram beside header and tag.
const ROOM: usize = 1400;

fn ack(low: u64, high: u64) -> Vec<u8> {
    ack_of(&[PacketRange { low, high }])
}

pub(super) fn of_unsent(stage: &mut Stage) {
    for beyond in [0, 1, 1000, 1 << 20, 1 << 40, varint::MAX - 10] {
        if !stage.lives() {
            stage.renew();
        }
        let first = stage.channel.seen + beyond;
        // The newest that was sent may have been lost on the way here: one more is surely not sent.
        stage.give(&ack(first + 1, first + 1));
        give(stage, &ack(0, varint::MAX));
    }
}

/// Lengths and gaps up to the largest varint, more ranges than there are bytes.
pub(super) fn huge_ranges(stage: &mut Stage) {
    let largest = varint_in(varint::MAX, 8);
    let number = |n: u64| varint_in(n, varint::len(n));
    for field in 0..4 {
        let fields: Vec<_> = (0..4).map(|at| if at == field { largest.clone() } else { number(0) }).collect();
        let [high, delay, count, first] = fields.as_slice() else { continue };
        give(stage, &[&[7], &high[..], delay, count, first].concat());
    }
    give(stage, &[&[7], &largest[..], &number(0), &number(0), &largest].concat());
    give(stage, &[&[7], &largest[..], &number(0), &number(1), &number(0), &largest, &largest].concat());
    let mut many = [&[7], &largest[..], &number(0), &number(600), &number(0)].concat();
    many.resize(many.len() + 1200, 0);
    give(stage, &many);
}

pub(super) fn unannounced(stage: &mut Stage) {
    give(stage, &[13, 0, 0, 0, 0, 0xff]);
}

/// Acknowledges whatever may have left by now, without looking what has.
pub(super) fn optimistic(stage: &mut Stage) {
    for _ in 0..10_000 {
        fill(stage);
        let sent = stage.channel.seen.saturating_sub(1);
        // STORED makes room for more to be sent.
        let stored = Frame::Stored { stream: 1, below: stage.begun() };
        let frames = [ack(0, sent), bytes_of([stored])].concat();
        if stage.give(&frames) != "accepted" {
            return;
        }
        stage.pass(1000);
    }
}

/// Makes the attacked end send, without acknowledging anything.
fn fill(stage: &mut Stage) {
    stage.push(4000, 200);
    stage.give(&bytes_of([Frame::Opened { stream: 1, stored_below: 0 }, Frame::Credit(1 << 30)]));
}

/// Receives honestly until the attacked end has as much under way as it may.
fn grow(stage: &mut Stage) {
    let mut stored = 0;
    for _ in 0..30 {
        fill(stage);
        stage.pass(1000);
        stage.give(&stage.channel.ack());
        let begun = stage.begun();
        while stored < begun {
            stored = begun.min(stored + 1000);
            stage.give(&bytes_of([Frame::Stored { stream: 1, below: stored }]));
        }
    }
    // Some are called lost, and turn out not to be: from then on only time tells what is lost.
    let sent = stage.channel.seen.saturating_sub(1);
    fill(stage);
    stage.pass(1000);
    let newest = stage.channel.seen.saturating_sub(1);
    stage.give(&ack(newest, newest));
    stage.give(&ack_of(&stage.channel.runs_from(sent)));
    for _ in 0..20 {
        fill(stage);
        stage.pass(100);
    }
}

/// One ACK after the other in a datagram, each of one packet, the newest first.
pub(super) fn storm(stage: &mut Stage) {
    grow(stage);
    while stage.lives() {
        let sent = stage.channel.seen.saturating_sub(1);
        let newest = (0..=sent).rev().filter(|number| stage.channel.got(*number));
        let mut frames = vec![];
        for number in newest.take(ROOM / 8) {
            frames.extend(ack(number, number));
        }
        stage.give(&frames);
    }
}

/// Acknowledges every second of the newest packets, and the others when they have been called lost.
pub(super) fn late(stage: &mut Stage) {
    grow(stage);
    for round in 0..40 {
        let sent = stage.channel.seen.saturating_sub(1);
        let every_second = (0..=sent).rev().filter(|number| number % 2 == round % 2 && stage.channel.got(*number));
        let runs: Vec<_> = every_second.take(300).map(|n| PacketRange { low: n, high: n }).collect();
        stage.give(&ack_of(&runs));
        fill(stage);
        stage.pass(2000);
    }
}

pub(super) fn marks(stage: &mut Stage) {
    for count in [varint::MAX, 0, 1 << 40, 1, varint::MAX] {
        stage.push(10, 1000);
        let newest = stage.channel.newest().unwrap_or(0);
        let mut frames = ack(newest, newest);
        frames[0] = 13;
        (0..3).for_each(|_| frames.extend(varint_in(count, varint::len(count))));
        stage.give(&frames);
        stage.pass(100_000);
    }
}
