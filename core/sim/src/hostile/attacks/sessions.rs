//! Sessions that begin, end and repeat themselves (wire-format §4, §5).

use super::form::give;
use super::streams::{bytes_of, chunk, open};
use crate::hostile::stage::Stage;
use tallylink_core::wire::{Frame, number};

/// Each session is asked for, used, and left for the next.
pub(super) fn resets(stage: &mut Stage) {
    for _ in 0..500 {
        let old = stage.channel.seal(stage.channel.next, &[1]);
        stage.renew();
        stage.give(&bytes_of([open(1, "n"), chunk(1, 7, &[0])]));
        stage.give_packet(old);
        // One that is asked for and not taken.
        let hello = stage.hello();
        stage.give_packet(hello);
    }
}

pub(super) fn ended_by_gateway(stage: &mut Stage) {
    for _ in 0..200 {
        stage.push(1, 1000);
        give(stage, &[0xff]);
    }
}

pub(super) fn hellos(stage: &mut Stage) {
    for _ in 0..5_000 {
        let hello = stage.hello();
        stage.give_packet(hello);
    }
}

pub(super) fn repeats(stage: &mut Stage) {
    let first = stage.channel.seal(stage.channel.next, &bytes_of([Frame::Ping]));
    for _ in 0..10 {
        stage.give_packet(first.clone());
    }
    stage.channel.next += 200_000;
    stage.give(&[1]);
    for _ in 0..10 {
        stage.give_packet(first.clone());
    }
}

/// Jumps as far as a header can say, back and forth, up to the last number.
pub(super) fn numbers(stage: &mut Stage) {
    for _ in 0..100 {
        stage.channel.next += (1 << 31) - 2;
        stage.give(&bytes_of([Frame::Ping]));
        let back = stage.channel.next - 2;
        let packet = stage.channel.seal(back - 100_000, &[1]);
        stage.give_packet(packet);
    }
    for number in [number::LARGEST - 1, number::LARGEST] {
        stage.begin_at(number);
        let packet = stage.channel.seal(number, &[1]);
        stage.give_packet(packet.clone());
        stage.give_packet(packet);
    }
}

pub(super) fn welcomes(stage: &mut Stage) {
    for _ in 0..100 {
        let welcome = stage.welcome();
        stage.give_packet(welcome);
    }
}

pub(super) fn wrong_hellos(stage: &mut Stage) {
    for _ in 0..100 {
        let hello = stage.hello();
        stage.give_packet(hello);
    }
}
