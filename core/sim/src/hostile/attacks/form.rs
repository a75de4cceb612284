//! Frames that are not what wire-format §6 says.

use crate::hostile::spelled::{FRAMES, Field, spell, spell_with};
use crate::hostile::stage::Stage;

/// Gives one packet, in a session that lives.
pub(super) fn give(stage: &mut Stage, frames: &[u8]) -> &'static str {
    if !stage.lives() {
        stage.renew();
    }
    stage.give(frames)
}

/// Each frame, and all of them in one packet, cut at each length.
pub(super) fn cuts(stage: &mut Stage) {
    for frame in FRAMES.iter().map(|frame| spell(frame)) {
        for cut in 1..frame.len() {
            give(stage, &frame[..cut]);
        }
    }
}

/// Each varint of each frame in each length but the shortest.
pub(super) fn spellings(stage: &mut Stage) {
    for frame in FRAMES {
        for (at, field) in frame.iter().enumerate() {
            let Field::Number(value) = field else { continue };
            let shortest = tallylink_core::wire::varint::len(*value);
            for length in [1, 2, 4, 8].into_iter().filter(|length| *length > shortest) {
                give(stage, &spell_with(frame, at, length));
            }
        }
    }
}

/// First bytes that no frame has.
pub(super) fn types(stage: &mut Stage) {
    for first in 0x0e..=0xff_u8 {
        give(stage, &[first; 40]);
    }
}

pub(super) fn padding(stage: &mut Stage) {
    for at in 1..40 {
        let mut frames = [0; 40];
        frames[at] = 1;
        give(stage, &frames);
    }
}
