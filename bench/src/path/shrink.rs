//! The MTU falls without a word, and rises again.
use std::time::Duration;

use anyhow::Result;

use super::{
    figures::Found,
    transfer::{LOOK, Stage},
};
use crate::{clock, lab::emulator::Script, marks::Bound};

const SIDE: &str = "tallylink-gcm";
const NARROW: u16 = 1_280;
const WIDE: u16 = 1_500;
/// How long the path is as wide as it gets, at first.
const WIDE_FOR: Duration = Duration::from_secs(8);
/// How long it is narrow.
const NARROW_FOR: Duration = Duration::from_secs(20);
/// The last part of a phase, in which sizes are looked at.
const AT_THE_END: Duration = Duration::from_secs(2);

/// A packet of this size shows that the wide path is used.
const USES_THE_PATH: f64 = 1_400.0;
const SILENCE_MOST: f64 = 10.0;

/// Plays it once: it is about seconds, not about chance.
pub(super) fn play(stage: &Stage, grow_seconds: u64, found: &mut Found) -> Result<()> {
    let case = stage.case("shrink");
    let (narrow, wide) = (WIDE_FOR, WIDE_FOR + NARROW_FOR);
    let script = Script { mtu: vec![(narrow, NARROW), (wide, WIDE)], ..Script::default() };
    let transfer = stage.start(stage.seed, script, u64::MAX)?;

    let mut before = 0;
    transfer.until(narrow, |transfer| {
        let largest = transfer.router.view().take_largest();
        if transfer.begun.elapsed() + AT_THE_END > narrow {
            before = before.max(largest);
        }
    });
    let (mut seen, mut since) = (transfer.watch.received(), clock::wall());
    let (mut silence, mut within) = (Duration::ZERO, 0);
    transfer.until(wide, |transfer| {
        silence = silence.max(since.elapsed().saturating_sub(LOOK));
        if transfer.watch.received() != seen {
            (seen, since) = (transfer.watch.received(), clock::wall());
        }
        let largest = transfer.router.view().take_largest();
        if transfer.begun.elapsed() + AT_THE_END > wide {
            within = within.max(largest);
        }
    });
    let mut after = 0;
    let begun = clock::wall();
    while after < before && begun.elapsed() < Duration::from_secs(grow_seconds) {
        transfer.until(transfer.begun.elapsed() + LOOK, |transfer| {
            after = after.max(transfer.router.view().take_largest())
        });
    }
    let took = begun.elapsed();
    let (run, told) = transfer.end()?;

    let mut add = |metric, unit, value| found.add(&case, SIDE, metric, unit, value);
    add("packet_before", "B", before as f64);
    add("silence_after_shrinking", "s", silence.as_secs_f64());
    add("packet_while_narrow", "B", within as f64);
    add("packet_after_widening", "B", after as f64);
    add("seconds_to_grow_back", "s", took.as_secs_f64());
    add("packets_too_big", "", told.counters.too_big_silently as f64);
    add("errors", "", run.checked.wrong as f64);
    found.mark(&case, SIDE, "packet_before", Bound::AtLeast(USES_THE_PATH));
    found.mark(&case, SIDE, "silence_after_shrinking", Bound::AtMost(SILENCE_MOST));
    found.mark(&case, SIDE, "packet_after_widening", Bound::AtLeast(USES_THE_PATH));
    found.mark(&case, SIDE, "errors", Bound::AtMost(0.0));
    Ok(())
}
