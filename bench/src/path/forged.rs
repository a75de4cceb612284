//! Forged messages ask for a smaller MTU.
use std::time::Duration;

use anyhow::Result;

use super::{
    figures::Found,
    transfer::{SIZE, Stage},
};
use crate::{
    lab::emulator::{Forgery, Script},
    marks::Bound,
    statistics::median,
};

const MTUS: [u16; 3] = [68, 600, 1_280];
const EVERY: Duration = Duration::from_millis(100);
/// Before it begins to count.
const WARM_UP: Duration = Duration::from_secs(2);
const WATCHED: Duration = Duration::from_secs(10);
const WATCHED_QUICK: Duration = Duration::from_secs(3);

const FORGED: &str = "with forged messages";
const ALONE: &str = "undisturbed";
const LEAST: f64 = 0.9;

/// What one run came to.
struct Outcome {
    goodput: f64,
    forged: f64,
    wrong: f64,
}

pub(super) fn play(stage: &Stage, found: &mut Found) -> Result<()> {
    let case = stage.case("forged");
    let (mut alone, mut forged) = (Vec::new(), Vec::new());
    for round in 0..u64::from(stage.rounds) {
        alone.push(run(stage, stage.seed + round, false)?);
        forged.push(run(stage, stage.seed + round, true)?);
    }
    let goodput = |outcomes: &[Outcome]| median(outcomes.iter().map(|outcome| outcome.goodput));
    let ratio = median(forged.iter().zip(&alone).map(|(forged, alone)| forged.goodput / alone.goodput));
    found.compare(&case, FORGED, "goodput", "Mbit/s", (goodput(&forged), ratio));
    found.compare(&case, ALONE, "goodput", "Mbit/s", (goodput(&alone), 1.0));
    for (side, outcomes) in [(FORGED, &forged), (ALONE, &alone)] {
        found.add(&case, side, "messages", "", median(outcomes.iter().map(|outcome| outcome.forged)));
        found.add(&case, side, "errors", "", outcomes.iter().map(|outcome| outcome.wrong).sum());
        found.mark(&case, side, "errors", Bound::AtMost(0.0));
    }
    found.mark(&case, FORGED, "goodput", Bound::RatioAtLeast(LEAST));
    Ok(())
}

fn run(stage: &Stage, seed: u64, forged: bool) -> Result<Outcome> {
    let forgery = forged.then(|| Forgery { mtus: MTUS.to_vec(), every: EVERY });
    let transfer = stage.start(seed, Script { forgery, ..Script::default() }, u64::MAX)?;
    transfer.until(WARM_UP, |_| {});
    let (before, begun) = (transfer.watch.received(), transfer.begun.elapsed());
    transfer.until(WARM_UP + if stage.quick { WATCHED_QUICK } else { WATCHED }, |_| {});
    let records = transfer.watch.received() - before;
    let goodput = records as f64 * SIZE as f64 * 8e-6 / (transfer.begun.elapsed() - begun).as_secs_f64();
    let (run, told) = transfer.end()?;
    Ok(Outcome { goodput, forged: told.counters.forged as f64, wrong: run.checked.wrong as f64 })
}
