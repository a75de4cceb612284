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
    // A gateway that does not want marks would end the session; one that does takes nonsense counts as none.
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

/// One ACK after the other in each datagram, each of a packet that has left.
pub(super) fn storm(stage: &mut Stage) {
    for _ in 0..40 {
        fill(stage);
        let sent = stage.channel.seen.saturating_sub(1);
        let oldest = sent.saturating_sub(250);
        let mut frames = vec![];
        for number in oldest..=sent {
            if stage.channel.got(number) && frames.len() < ROOM {
                frames.extend(ack(number, number));
            }
        }
        stage.give(&frames);
        stage.pass(1000);
    }
}

/// Acknowledges the newest packet, and the older ones when they have been declared lost.
pub(super) fn late(stage: &mut Stage) {
    for _ in 0..40 {
        fill(stage);
        let sent = stage.channel.seen.saturating_sub(1);
        let from = sent.saturating_sub(400);
        stage.give(&ack(sent, sent));
        stage.pass(2000);
        let mut frames = vec![];
        for number in (from..sent).rev() {
            if stage.channel.got(number) && frames.len() < ROOM {
                frames.extend(ack(number, number));
            }
        }
        stage.give(&frames);
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
