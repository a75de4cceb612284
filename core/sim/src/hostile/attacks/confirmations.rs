//! A receiver that confirms what it cannot have, or takes back what it said (wire-format §6.8 to §6.12, §7.3, §7.4).

use super::form::give;
use super::streams::bytes_of;
use crate::hostile::stage::Stage;
use tallylink_core::wire::Frame;
use tallylink_core::{LARGEST_NUMBER, Label};

const OPENED: Frame<'_> = Frame::Opened { stream: 1, stored_below: 0 };

pub(super) fn stored_unsent(stage: &mut Stage) {
    for frame in [
        Frame::Stored { stream: 9, below: 1 },
        Frame::Stored { stream: (1 << 30) - 1, below: LARGEST_NUMBER },
        Frame::Opened { stream: 9, stored_below: 0 },
    ] {
        give(stage, &bytes_of([frame]));
    }
}

pub(super) fn opened_ahead(stage: &mut Stage) {
    for stored_below in [5_000, 1 << 32, LARGEST_NUMBER - 1, LARGEST_NUMBER] {
        stage.push(3, 100);
        stage.give(&bytes_of([Frame::Opened { stream: 1, stored_below }]));
        stage.pass(100_000);
    }
}

/// Nothing, then everything, in each datagram and over time.
pub(super) fn credit(stage: &mut Stage) {
    stage.give(&bytes_of([OPENED]));
    for round in 0..300 {
        stage.push(100, 1000);
        let windows = [0, (1 << 40) - 1, 1, 64 << 10, 0];
        stage.give(&bytes_of((0..300).map(|i| Frame::Credit(windows[i % 5]))));
        stage.give(&bytes_of([Frame::Credit(if round % 2 == 0 { 0 } else { 20_000 })]));
        stage.pass(20_000);
    }
}

pub(super) fn busy(stage: &mut Stage) {
    stage.give(&bytes_of([OPENED, Frame::Credit(1 << 20)]));
    for _ in 0..300 {
        stage.push(100, 1000);
        stage.give(&bytes_of((0..1300).map(|_| Frame::Busy)));
        stage.pass(20_000);
    }
}

pub(super) fn refused(stage: &mut Stage) {
    stage.give(&bytes_of([OPENED, Frame::Credit(1 << 20)]));
    for round in 0..300 {
        stage.push(100, 1000);
        stage.give(&bytes_of((0..300).map(|i| {
            if i % 2 == 0 {
                Frame::Refused { stream: 1, reason: 2 }
            } else {
                Frame::Opened { stream: 1, stored_below: round / 10 }
            }
        })));
        stage.pass(20_000);
    }
}

pub(super) fn labels(stage: &mut Stage) {
    for round in 0..100 {
        stage.push(10, 1000);
        stage.give(&bytes_of((0..250).map(|i| Frame::Label(Label(round * 1000 + i)))));
        stage.pass(1000);
    }
}
